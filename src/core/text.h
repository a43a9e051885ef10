// A graph as text, both ways.
//
//   graph    := "fn(" [input {"," input}] ") {" {constant} {node} return "}"
//   input    := name ":" type
//   constant := "const" name ":" type ["=" (numbers | "#" hash)]
//   numbers  := "[" [number {"," number}] "]"                 column by column
//   node     := "%" n "=" op "(" value {"," value} ")" ["{" name "=" number {"," ...} "}"] ":" type
//   control  := "%" n "=" op "(" values ")" [attributes] ":" "(" [type {"," type}] ")" "["
//               {graph} "]"                    with its regions, each a graph, on lines of their
//               own
//   return   := "return" value {"," value}
//   value    := name | "%" n
//   type     := "f64[" rows "," cols "]"
//
// One statement a line; "#" at the start of a line opens a comment. Nodes are numbered from 0 in
// the order of the text. Constants of more than kInlineLimit values print as a hash, and read back
// only through a resolver; a constant with neither values nor hash is one whose values do not
// matter.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/graph.h"

namespace moriejit {

constexpr int64_t kInlineLimit = 4;

std::string to_text(const Graph& graph);

// The shortest text of 15 to 17 digits that reads back as the same number.
std::string number_text(double value);

std::string type_text(Shape shape);
// Of a constant: " = [...]" or " = #hash" or nothing; of a node: " {name=value, ...}" or nothing.
std::string values_text(const Node& node);
std::string attrs_text(const Node& node);
// Inputs and constants by name (numbered where several share one), ops by number.
std::vector<std::string> value_names(const Graph& graph);
// Of the bytes of the values (FNV-1a).
std::string hash_text(const double* data, int64_t count);

// Gives the values of a constant that the text has not; may give none (null data).
using Resolver = std::function<Buffer(const std::string& name, Shape shape)>;

// Types are checked against the shape rules, and the graph is verified. Errors are of kind kFormat
// and name the line. Callbacks can't be read from a text.
Graph parse_text(const std::string& text, const Resolver& resolver = {});

}  // namespace moriejit

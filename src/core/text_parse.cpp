// The reader of graph texts: one line at a time, by recursive descent within a line. The lines of a
// region go to a reader of their own.
#include <algorithm>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "core/error.h"
#include "core/op.h"
#include "core/text.h"
#include "core/text_scan.h"
#include "core/verify.h"

namespace moriejit {
namespace {

class Parser {
 public:
  explicit Parser(const Resolver& resolver) : resolver_(resolver) {}

  void line(const std::string& text, int number) {
    Scanner s(text, number);
    if (s.at_end() || s.accept("#")) return;
    if (control_ != nullptr) {
      region(s, text, number);
      return;
    }
    if (done_) format_error(number, "The text must end after \"}\".", s.rest());
    if (!open_) {
      header(s);
    } else if (returned_ && s.accept("}")) {
      done_ = true;
    } else if (returned_) {
      format_error(number, "After \"return\" the text must have \"}\".", s.rest());
    } else if (s.accept("const ")) {
      constant(s);
    } else if (s.accept("return ") || s.accept_rest("return")) {
      outputs(s);
    } else {
      node(s);
    }
    if (!s.at_end()) format_error(number, "The line must end here.", s.rest());
  }

  Graph finish(int lines) {
    if (!done_) format_error(lines, "The text must end with \"}\".", "nothing more");
    Graph graph = builder_.take();
    verify(graph);
    return graph;
  }

 private:
  // The names of inputs and constants; "%0" is for nodes.
  std::string new_name(Scanner& s) {
    const std::string name = s.name();
    const bool letter = std::isalpha(static_cast<unsigned char>(name[0])) != 0;
    if (!letter || name == "return" || name == "const") {
      format_error(s.number(), "The name of an input or constant must begin with a letter.",
                   "`" + name + "`");
    }
    return name;
  }

  void define(const Scanner& s, const std::string& name, ValueId id) {
    if (!values_.emplace(name, id).second) {
      format_error(s.number(), "Each value must have a name of its own.", "`" + name + "` again");
    }
  }

  Shape type(Scanner& s) {
    s.expect(":");
    return bare_type(s);
  }

  Shape bare_type(Scanner& s) {
    s.expect("f64[");
    Shape shape;
    shape.rows = s.dimension();
    s.expect(",");
    shape.cols = s.dimension();
    s.expect("]");
    return shape;
  }

  ValueId value(Scanner& s) {
    const std::string name = s.name();
    const auto at = values_.find(name);
    if (at == values_.end()) {
      format_error(s.number(), "A value must be defined before it is used.", "`" + name + "`");
    }
    return at->second;
  }

  bool is_control(ValueId id) const {
    const Node& node = builder_.graph().node(id);
    return node.kind == NodeKind::kOp && node.op->runs_regions;
  }

  ValueId matrix(Scanner& s) {
    const ValueId id = value(s);
    if (is_control(id)) {
      format_error(s.number(), "The values of control flow must be read with `result`.", "a tuple");
    }
    return id;
  }

  // What `result` reads.
  ValueId control(Scanner& s) {
    const ValueId id = value(s);
    if (!is_control(id)) {
      format_error(s.number(), "`result` must read a node of control flow.", "another");
    }
    return id;
  }

  void header(Scanner& s) {
    s.expect("fn(");
    while (!s.accept(")")) {
      const std::string name = new_name(s);
      const Shape shape = type(s);
      define(s, name, builder_.input(name, shape));
      separate(s, ")");
    }
    s.expect("{");
    open_ = true;
  }

  // A comma, unless the list ends here.
  static void separate(Scanner& s, const std::string& end) {
    if (!s.sees(end)) s.expect(",");
  }

  void constant(Scanner& s) {
    const std::string name = new_name(s);
    Buffer value{type(s), nullptr};
    std::string hash;
    if (s.accept("= [")) {
      value.data = numbers(s, value.shape);
    } else {
      if (s.accept("= #")) hash = s.name();
      if (resolver_) value.data = resolved(name, value.shape);
      if (!hash.empty() &&
          (value.data == nullptr || hash != hash_text(value.data.get(), value.shape.size()))) {
        format_error(s.number(), "The values of a constant must be at hand and have its hash.",
                     "`" + name + "` with hash " + hash);
      }
    }
    define(s, name, builder_.constant(name, value));
  }

  // What the resolver has of another shape is not the constant.
  std::shared_ptr<const double> resolved(const std::string& name, Shape shape) const {
    const Buffer known = resolver_(name, shape);
    return known.shape == shape ? known.data : nullptr;
  }

  std::shared_ptr<const double> numbers(Scanner& s, Shape shape) {
    std::vector<double> values;
    while (!s.accept("]")) {
      values.push_back(s.number_value());
      separate(s, "]");
    }
    if (static_cast<int64_t>(values.size()) != shape.size()) {
      format_error(s.number(), "A constant must have as many values as its type says.",
                   std::to_string(values.size()) + " for " + to_string(shape));
    }
    Tensor tensor(shape);
    std::copy(values.begin(), values.end(), tensor.data());
    return tensor.buffer().data;
  }

  void outputs(Scanner& s) {
    if (!s.at_end()) {
      do {
        builder_.output(matrix(s));
      } while (s.accept(","));
    }
    returned_ = true;
  }

  void node(Scanner& s) {
    const std::string name = s.name();
    if (name != "%" + std::to_string(count_)) {
      format_error(s.number(), "Nodes must be numbered in order: %" + std::to_string(count_) + ".",
                   "`" + name + "`");
    }
    s.expect("=");
    const std::string op_name = s.name();
    const Op* op = find_op(op_name);
    if (op == nullptr || op->calls_host) {
      format_error(s.number(), "The op must be one that a text can name.", "`" + op_name + "`");
    }
    s.expect("(");
    std::vector<ValueId> args;
    while (!s.accept(")")) {
      args.push_back(op->projects ? control(s) : matrix(s));
      separate(s, ")");
    }
    if (!op->takes(args.size())) {
      format_error(s.number(),
                   "`" + op_name + "` must have " + std::to_string(op->arity) +
                       (op->arity == 1 ? " operand." : " operands."),
                   std::to_string(args.size()));
    }
    const std::vector<double> attrs = attributes(s, *op);
    if (!op->runs_regions) {
      add(s, name, *op, args, attrs);
      return;
    }
    s.expect(":");
    s.expect("(");
    std::vector<Shape> shapes;
    while (!s.accept(")")) {
      shapes.push_back(bare_type(s));
      separate(s, ")");
    }
    s.expect("[");
    control_ = std::make_unique<Control>(Control{name, op, args, attrs, shapes, {}, nullptr});
  }

  // A node of control flow whose regions are being read.
  struct Control {
    std::string name;
    const Op* op;
    std::vector<ValueId> args;
    std::vector<double> attrs;
    std::vector<Shape> shapes;
    std::vector<std::shared_ptr<const Graph>> regions;
    std::unique_ptr<Parser> inner;
  };

  void close(Scanner& s, const Control& control) {
    const ValueId id = builder_.control(*control.op, control.args, control.regions, control.attrs);
    const std::string wrong = wrong_regions(builder_.graph(), builder_.graph().node(id));
    if (!wrong.empty()) {
      format_error(s.number(), "The regions must fit their node.", "regions: " + wrong);
    }
    if (output_shapes(*control.regions.back()) != control.shapes) {
      format_error(s.number(), "The types must be what the regions give.", "others");
    }
    define(s, control.name, id);
    ++count_;
  }

  // A line of a region, or the end of the last one.
  void region(Scanner& s, const std::string& text, int number) {
    Control& control = *control_;
    if (control.inner == nullptr && s.accept("]")) {
      close(s, control);
      control_.reset();
      return;
    }
    if (control.inner == nullptr) control.inner = std::make_unique<Parser>(resolver_);
    control.inner->line(text, number);
    if (!control.inner->done_) return;
    control.regions.push_back(std::make_shared<const Graph>(control.inner->builder_.take()));
    control.inner.reset();
  }

  void add(Scanner& s, const std::string& name, const Op& op, const std::vector<ValueId>& args,
           const std::vector<double>& attrs) {
    ValueId id = kNoValue;
    try {
      id = builder_.op(op, args, attrs);
    } catch (const Error& error) {
      std::string found = error.found();
      if (!found.empty() && found.back() == '.') found.pop_back();
      format_error(s.number(), error.rule(), "`" + name + "`: " + found);
    }
    const Shape shape = type(s);
    if (shape != builder_.shape(id)) {
      format_error(s.number(),
                   "The type must be what the op gives, " + type_text(builder_.shape(id)) + ".",
                   type_text(shape));
    }
    define(s, name, id);
    ++count_;
  }

  std::vector<double> attributes(Scanner& s, const Op& op) {
    std::vector<double> attrs;
    for (const Attr& attr : op.attrs) attrs.push_back(attr.default_value);
    if (!s.accept("{")) return attrs;
    std::set<std::string> seen;
    do {
      const std::string name = s.name();
      if (!seen.insert(name).second) {
        format_error(s.number(), "An attribute must be given once.", "`" + name + "` again");
      }
      const int index = attr_index(op, name);
      if (index < 0) {
        format_error(s.number(), "The attribute must be one of `" + op.name + "`.",
                     "`" + name + "`");
      }
      s.expect("=");
      const double given = s.number_value();
      if (!op.attrs[static_cast<size_t>(index)].allows(given)) {
        format_error(s.number(), "The attribute must be in its range.",
                     "`" + name + "` = " + number_text(given));
      }
      attrs[static_cast<size_t>(index)] = given;
    } while (s.accept(","));
    s.expect("}");
    return attrs;
  }

  const Resolver& resolver_;
  std::unique_ptr<Control> control_;
  Builder builder_;
  std::unordered_map<std::string, ValueId> values_;
  int count_ = 0;
  bool open_ = false, returned_ = false, done_ = false;
};

}  // namespace

Graph parse_text(const std::string& text, const Resolver& resolver) {
  Parser parser(resolver);
  int number = 0;
  for (size_t start = 0; start <= text.size();) {
    size_t end = text.find('\n', start);
    if (end == std::string::npos) end = text.size();
    std::string line = text.substr(start, end - start);
    if (!line.empty() && line.back() == '\r') line.pop_back();
    parser.line(line, ++number);
    start = end + 1;
  }
  return parser.finish(number);
}

}  // namespace moriejit

#include "r_trace.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/op.h"

namespace moriejit {
namespace {

int new_trace_id() {
  static int id = 0;
  return ++id;
}

SEXP tracer_class() {
  static const SEXP name = [] {
    const SEXP made = Rf_mkString("jit_tracer");
    R_PreserveObject(made);
    return made;
  }();
  return name;
}

// Inputs in the order of `order`, whatever order they were asked for in.
Graph with_inputs(const Graph& graph, const std::vector<Place>& own,
                  const std::vector<Place>& order, const std::vector<Shape>& shapes) {
  Builder builder;
  std::vector<ValueId> renamed(graph.nodes.size(), kNoValue);
  for (size_t i = 0; i < order.size(); ++i) {
    const auto at = std::find(own.begin(), own.end(), order[i]);
    const ValueId id = builder.input("v" + std::to_string(i), shapes[i]);
    if (at != own.end()) {
      renamed[static_cast<size_t>(graph.inputs[static_cast<size_t>(at - own.begin())])] = id;
    }
  }
  for (ValueId id = 0; id < graph.size(); ++id) {
    Node node = graph.node(id);
    if (node.kind == NodeKind::kInput) continue;
    for (ValueId& arg : node.args) arg = renamed[static_cast<size_t>(arg)];
    renamed[static_cast<size_t>(id)] = builder.copy(std::move(node));
  }
  for (ValueId id : graph.outputs) builder.output(renamed[static_cast<size_t>(id)]);
  return builder.take();
}

}  // namespace

RType r_type(SEXP x) {
  switch (TYPEOF(x)) {
    case REALSXP:
      return RType::kDouble;
    case INTSXP:
      return RType::kInteger;
    case LGLSXP:
      return RType::kLogical;
    default:
      throw Error(ErrorKind::kUnsupported, "A traced operation takes numbers and logicals.",
                  "It was given a value of type " + std::string(Rf_type2char(TYPEOF(x))) + ".");
  }
}

RType r_type(const std::string& name) {
  if (name == "double") return RType::kDouble;
  return name == "integer" ? RType::kInteger : RType::kLogical;
}

const char* r_type_name(RType type) {
  if (type == RType::kDouble) return "double";
  return type == RType::kInteger ? "integer" : "logical";
}

Shape Meta::core_shape() const {
  if (dim.empty()) return {length, 1};
  Shape shape{dim[0], 1};
  for (size_t i = 1; i < dim.size(); ++i) shape.cols *= dim[i];
  return shape;
}

Meta meta_of(SEXP value) {
  Meta meta;
  meta.type = r_type(value);
  meta.length = Rf_xlength(value);
  const SEXP dim = Rf_getAttrib(value, R_DimSymbol);
  if (dim != R_NilValue) {
    meta.dim.assign(INTEGER(dim), INTEGER(dim) + Rf_length(dim));
    meta.names = Rf_getAttrib(value, R_DimNamesSymbol);
  } else if (ATTRIB(value) != R_NilValue) {
    meta.names = Rf_getAttrib(value, R_NamesSymbol);
  }
  return meta;
}

int Tracing::next_serial_ = 0;

Tracing::Tracing() : id_(new_trace_id()) {
  open_region();
}

SEXP Tracing::tracer(Place place, Meta meta) {
  values_.push_back({place, std::move(meta)});
  const auto code = (static_cast<uintptr_t>(id_) << 32) | static_cast<uintptr_t>(values_.size());
  const SEXP pointer =
      PROTECT(R_MakeExternalPtr(reinterpret_cast<void*>(code), R_NilValue, R_NilValue));
  Rf_setAttrib(pointer, R_ClassSymbol, tracer_class());
  UNPROTECT(1);
  return pointer;
}

bool Tracing::is_tracer(SEXP x) {
  return TYPEOF(x) == EXTPTRSXP && Rf_getAttrib(x, R_ClassSymbol) == tracer_class();
}

const Traced& Tracing::traced(SEXP tracer) const {
  const auto code = reinterpret_cast<uintptr_t>(R_ExternalPtrAddr(tracer));
  if (static_cast<int>(code >> 32) != id_) {
    throw Error(ErrorKind::kUnsupported,
                "A traced value can only be used while its function is being traced.",
                "It was kept from another trace.");
  }
  return values_[(code & 0xffffffffU) - 1];
}

const Region& Tracing::region(int serial) const {
  for (const Region& region : stack_) {
    if (region.serial == serial) return region;
  }
  throw Error(ErrorKind::kUnsupported,
              "A value made in one branch of `if`, or in a loop, can't be used outside it.", "");
}

ValueId Tracing::import(Place place) {
  if (place.first == serial()) return place.second;
  size_t level = 0;
  while (level < stack_.size() && stack_[level].serial != place.first) ++level;
  if (level == stack_.size()) region(place.first);
  Place at = place;
  for (++level; level < stack_.size(); ++level) {
    Region& inner = stack_[level];
    const auto known = inner.known.find(place);
    if (known == inner.known.end()) {
      const Shape shape = stack_[level - 1].builder.shape(at.second);
      const ValueId id = inner.builder.input("v" + std::to_string(inner.inputs.size()), shape);
      // What comes in is named by its place one level up.
      inner.inputs.push_back(at);
      inner.known[place] = id;
      at = {inner.serial, id};
    } else {
      at = {inner.serial, known->second};
    }
  }
  return at.second;
}

ValueId Tracing::lift(SEXP x) {
  if (is_tracer(x)) return import(traced(x).place);
  const Meta meta = meta_of(x);
  const Buffer buffer = as_buffer(Rcpp::RObject(x));
  return builder().constant("c" + std::to_string(builder().graph().size()),
                            {meta.core_shape(), buffer.data});
}

SEXP Tracing::emit(const Op& op, const std::vector<ValueId>& args, std::vector<double> attrs,
                   Meta meta) {
  const ValueId id = builder().op(op, args, std::move(attrs));
  const Shape shape = builder().shape(id), wanted = meta.core_shape();
  if (shape.size() != wanted.size()) {
    throw Error(ErrorKind::kInternal, "A rule of tracing gave a value of the wrong size.",
                "`" + op.name + "` gives " + to_string(shape) + ", the rule says " +
                    to_string(wanted) + ".");
  }
  if (shape == wanted) return here(id, std::move(meta));
  return here(builder().op("reshape", {id},
                           {static_cast<double>(wanted.rows), static_cast<double>(wanted.cols)}),
              std::move(meta));
}

SEXP Tracing::input(const std::string& name, SEXP value) {
  const Meta meta = meta_of(value);
  return here(stack_[0].builder.input(name, meta.core_shape()), meta);
}

SEXP Tracing::captured(const std::string& name, SEXP value) {
  // Captured values belong to the whole program, wherever the trace first met them.
  const Meta meta = meta_of(value);
  const ValueId id =
      stack_[0].builder.constant(name, {meta.core_shape(), as_buffer(Rcpp::RObject(value)).data});
  return tracer({stack_[0].serial, id}, meta);
}

void Tracing::open_region() {
  stack_.emplace_back();
  stack_.back().serial = ++next_serial_;
}

SEXP Tracing::region_state(const std::string& name, Meta meta) {
  Region& top = stack_.back();
  const ValueId id = top.builder.input(name, meta.core_shape());
  top.inputs.push_back({-1, static_cast<ValueId>(top.inputs.size())});
  return here(id, std::move(meta));
}

int Tracing::park_region() {
  parked_.push_back(std::move(stack_.back()));
  stack_.pop_back();
  closed_.emplace_back();
  return static_cast<int>(parked_.size()) - 1;
}

void Tracing::close_region(int handle, const std::vector<SEXP>& outputs) {
  stack_.push_back(std::move(parked_[static_cast<size_t>(handle)]));
  for (const SEXP output : outputs) builder().output(lift(output));
  Region& done = stack_.back();
  closed_[static_cast<size_t>(handle)] = {done.builder.take(), done.inputs};
  stack_.pop_back();
}

void Tracing::drop_to(size_t depth) {
  while (stack_.size() > depth) stack_.pop_back();
}

ValueId Tracing::control(const char* op, const std::vector<SEXP>& first,
                         const std::vector<int>& handles) {
  const bool loop = std::strcmp(op, "while") == 0;
  std::vector<Place> order;
  std::vector<ValueId> args;
  for (size_t i = 0; i < first.size(); ++i) {
    args.push_back(lift(first[i]));
    if (loop) order.push_back({-1, static_cast<ValueId>(i)});
  }
  for (int handle : handles) {
    for (const Place& place : closed_[static_cast<size_t>(handle)].second) {
      if (std::find(order.begin(), order.end(), place) != order.end()) continue;
      order.push_back(place);
      args.push_back(import(place));
    }
  }
  std::vector<Shape> shapes;
  for (size_t i = loop ? 0 : 1; i < args.size(); ++i) shapes.push_back(builder().shape(args[i]));
  std::vector<std::shared_ptr<const Graph>> regions;
  for (int handle : handles) {
    const auto& closed = closed_[static_cast<size_t>(handle)];
    regions.push_back(
        std::make_shared<const Graph>(with_inputs(closed.first, closed.second, order, shapes)));
  }
  std::vector<double> attrs;
  if (loop) attrs.push_back(static_cast<double>(first.size()));
  return builder().control(op_named(op), args, std::move(regions), std::move(attrs));
}

Tracing::Origins Tracing::origins(SEXP tracer) const {
  Origins found;
  std::map<int, std::vector<ValueId>> todo;  // by serial; inner regions have greater ones
  const Place start = traced(tracer).place;
  todo[start.first].push_back(start.second);
  while (!todo.empty()) {
    const auto last = std::prev(todo.end());
    const Region& from = region(last->first);
    const Graph& graph = from.builder.graph();
    std::vector<bool> wanted(graph.nodes.size(), false);
    for (ValueId id : last->second) wanted[static_cast<size_t>(id)] = true;
    todo.erase(last);
    const bool root = from.serial == stack_[0].serial;
    for (ValueId id = graph.size() - 1; id >= 0; --id) {
      if (!wanted[static_cast<size_t>(id)]) continue;
      const Node& node = graph.node(id);
      if (node.kind == NodeKind::kOp) {
        if (has_effects(node)) found.opaque = true;
        for (ValueId arg : node.args) wanted[static_cast<size_t>(arg)] = true;
      } else if (root) {
        found.ids.push_back(id);
      } else if (node.kind == NodeKind::kInput) {
        const auto at = std::find(graph.inputs.begin(), graph.inputs.end(), id);
        const Place place = from.inputs[static_cast<size_t>(at - graph.inputs.begin())];
        if (place.first < 0) {
          found.opaque = true;
        } else {
          todo[place.first].push_back(place.second);
        }
      }
    }
  }
  return found;
}

std::pair<int, int> Tracing::counts() const {
  std::pair<int, int> found{0, 0};
  const auto add = [&found](const Graph& graph) {
    for (const Node& node : graph.nodes) {
      if (node.kind != NodeKind::kOp) continue;
      ++found.first;
      // Positions that are known were looked at when they were traced.
      const bool known = node.args.size() > 1 && !node.op->runs_regions &&
                         graph.node(node.args[1]).kind == NodeKind::kConstant &&
                         (node.op->name == "gather" || node.op->name == "assign");
      if (!node.op->pure() || (node.op->may_fail && !known)) ++found.second;
    }
  };
  for (const Region& region : stack_) add(region.builder.graph());
  for (const Region& region : parked_) add(region.builder.graph());
  for (const auto& closed : closed_) add(closed.first);
  return found;
}

Graph Tracing::finish(const std::vector<SEXP>& outputs) {
  MORIEJIT_CHECK(stack_.size() == 1);
  for (const SEXP output : outputs) builder().output(lift(output));
  return builder().take();
}

void Tracing::at(std::vector<int> origin) {
  builder().set_origin(std::move(origin));
}

}  // namespace moriejit

#include "r_convert.h"

#include <R_ext/Random.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "core/op.h"

namespace moriejit {
namespace {

// A function of the package's R side.
Rcpp::Function r_function(const char* name) {
  return Rcpp::Environment::namespace_env("moriejit")[name];
}

// As an argument of a call, code must be quoted or it would run.
Rcpp::RObject quoted(SEXP x) {
  const bool is_code = TYPEOF(x) == LANGSXP || TYPEOF(x) == SYMSXP || TYPEOF(x) == PROMSXP;
  return is_code ? Rf_lang2(R_QuoteSymbol, x) : x;
}

bool is_plain_matrix(SEXP x) {
  return TYPEOF(x) == REALSXP && !Rf_isObject(x) && Rf_isMatrix(x);
}

Shape shape_of(SEXP x) {
  if (Rf_isMatrix(x)) return {Rf_nrows(x), Rf_ncols(x)};
  return {static_cast<int64_t>(Rf_xlength(x)), 1};
}

std::string describe(SEXP x) {
  return Rcpp::as<std::string>(r_function("describe")(quoted(x)));
}

class RCallable : public Callable {
 public:
  RCallable(const Rcpp::RObject& function, const Rcpp::RObject& gradient, OpPlace place,
            std::shared_ptr<Names> names, ColumnNames columns)
      : function_(function),
        gradient_(gradient),
        place_(std::move(place)),
        names_(std::move(names)),
        columns_(std::move(columns)) {}

  Buffer call(const std::vector<View>& args) override {
    Rcpp::List matrices(args.size());
    for (size_t i = 0; i < args.size(); ++i) {
      const Rcpp::RObject matrix = copy_matrix(args[i]);
      if (names_ && i == 0) set_names(matrix, columns_.apply(*names_));
      matrices[static_cast<R_xlen_t>(i)] = matrix;
    }
    const Rcpp::RObject value =
        r_function("call_callable")(function_, matrices, place_.index, place_.total);
    if (names_) *names_ = names_of(value);
    return as_buffer(value);
  }

  std::shared_ptr<Callable> gradient() override {
    if (!Rf_isFunction(gradient_)) {
      Error error(ErrorKind::kUnsupported,
                  "A callable needs `grad` beside it to be differentiated.", "This one has none.",
                  "Give it as list(kind = \"callable\", param = f, grad = function(x, dy) ...).");
      error.locate(place_);
      throw error;
    }
    return std::make_shared<RCallable>(gradient_, R_NilValue, place_, nullptr, ColumnNames{});
  }

 private:
  Rcpp::RObject function_, gradient_;
  OpPlace place_;
  std::shared_ptr<Names> names_;  // null: names do not flow through
  ColumnNames columns_;
};

SEXP field_of(SEXP list, const char* name) {
  const SEXP names = Rf_getAttrib(list, R_NamesSymbol);
  for (R_xlen_t i = 0; i < Rf_xlength(names); ++i) {
    if (std::strcmp(CHAR(STRING_ELT(names, i)), name) == 0) return VECTOR_ELT(list, i);
  }
  return R_NilValue;
}

std::string kind_of(SEXP op) {
  const SEXP kind = TYPEOF(op) == VECSXP ? field_of(op, "kind") : R_NilValue;
  if (TYPEOF(kind) == STRSXP && Rf_xlength(kind) == 1 && STRING_ELT(kind, 0) != NA_STRING) {
    return CHAR(STRING_ELT(kind, 0));
  }
  throw Error(ErrorKind::kParam, "An op must be a list with a `kind` of one string, or a function.",
              TYPEOF(op) == VECSXP ? "Its `kind` is " + describe(kind) + "."
                                   : "It is " + describe(op) + ".");
}

Buffer operand_from(const std::string& name, SEXP value) {
  // Classed values may be dates or numbers in disguise: R says.
  const bool numeric = Rf_isObject(value)
                           ? Rcpp::as<bool>(r_function("is_number_like")(quoted(value)))
                           : Rf_isNumeric(value);
  if (!numeric || (TYPEOF(value) != REALSXP && TYPEOF(value) != INTSXP) ||
      Rf_length(Rf_getAttrib(value, R_DimSymbol)) > 2) {
    throw Error(ErrorKind::kParam, "`" + name + "` must be a numeric matrix or vector.",
                "It is " + describe(value) + ".");
  }
  return as_buffer(value);
}

double number_from(const std::string& name, SEXP value) {
  const bool scalar = Rf_xlength(value) == 1 && !Rf_isFactor(value) &&
                      (Rf_isNumeric(value) || TYPEOF(value) == LGLSXP);
  const double number = scalar ? Rf_asReal(value) : NA_REAL;
  if (ISNAN(number)) {
    throw Error(ErrorKind::kParam, "`" + name + "` must be one number, or TRUE or FALSE.",
                "It is " + describe(value) + ".");
  }
  return number;
}

std::string fields_text(const Op& record) {
  std::string text;
  for (const Field& field : record.fields) text += (text.empty() ? "`" : ", `") + field.name + "`";
  for (const Attr& attr : record.attrs) {
    if (attr.in_lists) text += (text.empty() ? "`" : ", `") + attr.name + "`";
  }
  return text.empty() ? "It takes no fields but `kind`." : "Its fields are " + text + ".";
}

bool is_list_attr(const Op& record, const std::string& name) {
  const int index = attr_index(record, name);
  return index >= 0 && record.attrs[static_cast<size_t>(index)].in_lists;
}

// One field of an op list's op. NULL counts as absent; a field that the kind does not know is more
// likely a slip of the pen than something to pass over.
void parse_field(const Op& record, const std::string& name, SEXP value, ListOp* op) {
  if (name == "kind" || value == R_NilValue) return;
  const auto is_named = [&name](const Field& field) { return field.name == name; };
  if (std::any_of(record.fields.begin(), record.fields.end(), is_named)) {
    op->operands[name] = operand_from(name, value);
  } else if (is_list_attr(record, name)) {
    op->numbers[name] = number_from(name, value);
  } else {
    throw Error(ErrorKind::kParam, "An op must have the fields of its kind only.",
                name.empty() ? "It has a field without a name." : "It has `" + name + "`.",
                fields_text(record));
  }
}

class ModelParser {
 public:
  explicit ModelParser(int total) : total_(total) {}

  void add(SEXP given, int index) {
    ListOp op;
    try {
      parse(given, index, &op);
    } catch (Error& error) {
      error.locate({index, total_, op.kind});
      throw;
    }
    model_.ops.push_back(std::move(op));
    model_.given.emplace_back(given);
  }

  ParsedModel take() { return std::move(model_); }

 private:
  void parse(SEXP given, int index, ListOp* op) {
    if (Rf_isFunction(given)) {
      op->kind = "callable";
      set_callable(given, Rf_getAttrib(given, Rf_install("grad")), index, op);
      return;
    }
    op->kind = kind_of(given);
    const Op* record = find_kind(op->kind);
    if (record == nullptr) return;  // capture says so
    refuse_duplicates(given);
    if (record->calls_host) {
      parse_callable(given, index, op);
      return;
    }
    const SEXP names = Rf_getAttrib(given, R_NamesSymbol);
    for (R_xlen_t i = 0; i < Rf_xlength(given); ++i) {
      parse_field(*record, CHAR(STRING_ELT(names, i)), VECTOR_ELT(given, i), op);
    }
    for (const Field& field : record->fields) {
      if (field.role != Field::Role::kMatrix) continue;
      const Names matrix = names_of(field_of(given, field.name.c_str()));
      model_.columns = {true, matrix.cols, matrix.col_label};
    }
  }

  // `$` sees the first of two fields of one name, a loop the last.
  static void refuse_duplicates(SEXP given) {
    std::set<std::string> seen;
    const SEXP names = Rf_getAttrib(given, R_NamesSymbol);
    for (R_xlen_t i = 0; i < Rf_xlength(names); ++i) {
      const std::string name = CHAR(STRING_ELT(names, i));
      if (!seen.insert(name).second) {
        throw Error(ErrorKind::kParam, "An op must have each field once.",
                    "It has `" + name + "` twice.");
      }
    }
  }

  void parse_callable(SEXP given, int index, ListOp* op) {
    const SEXP names = Rf_getAttrib(given, R_NamesSymbol);
    for (R_xlen_t i = 0; i < Rf_xlength(given); ++i) {
      const std::string name = CHAR(STRING_ELT(names, i));
      const SEXP value = VECTOR_ELT(given, i);
      if (name == "kind" || (name == "grad" && value == R_NilValue)) continue;
      if (name != "param" && name != "grad") {
        throw Error(ErrorKind::kParam, "An op must have the fields of its kind only.",
                    "It has `" + name + "`.", "Its fields are `param`, `grad`.");
      }
      if (!Rf_isFunction(value)) {
        throw Error(ErrorKind::kParam, "`" + name + "` of a callable must be a function.",
                    "It is " + describe(value) + ".");
      }
    }
    const SEXP function = field_of(given, "param");
    if (function == R_NilValue) {
      throw Error(ErrorKind::kParam, "A callable needs `param`, its function.", "It has none.");
    }
    set_callable(function, field_of(given, "grad"), index, op);
  }

  void set_callable(SEXP function, SEXP gradient, int index, ListOp* op) {
    op->callable = std::make_shared<RCallable>(function, gradient, OpPlace{index, total_, op->kind},
                                               model_.names, model_.columns);
    model_.columns = {};
  }

  int total_;
  ParsedModel model_;
};

}  // namespace

void raise(const Error& error) {
  const OpPlace& place = error.place();
  r_function("raise_core_error")(error_kind_name(error.kind()), error.rule(), error.found(),
                                 error.hint(), place.index, place.total, place.kind);
  Rcpp::stop("an error was not raised");  // not reached: the R function never returns
}

Buffer as_buffer(const Rcpp::RObject& x) {
  const Rcpp::RObject doubles = TYPEOF(x) == REALSXP ? x : Rcpp::RObject(Rcpp::unwindProtect([&x] {
    return Rf_coerceVector(x, REALSXP);
  }));
  const auto owner = std::make_shared<Rcpp::RObject>(doubles);
  return {shape_of(x), std::shared_ptr<const double>(owner, REAL_RO(doubles))};
}

Rcpp::RObject as_input(SEXP x, const char* argument) {
  if (is_plain_matrix(x)) return x;
  return r_function("as_input_matrix")(quoted(x), argument);
}

View view_of(SEXP matrix) {
  return {REAL_RO(matrix), shape_of(matrix)};
}

Rcpp::RObject make_matrix(Shape shape) {
  // R's own error would not be of the package's class. Asking first takes a moment, so only a
  // matrix that may not fit is tried.
  constexpr int64_t kLarge = 1 << 24;
  const auto allocate = [](void* data) {
    const Shape s = *static_cast<Shape*>(data);
    return Rf_allocMatrix(REALSXP, static_cast<int>(s.rows), static_cast<int>(s.cols));
  };
  if (shape.size() <= kLarge) return Rcpp::unwindProtect([&] { return allocate(&shape); });
  const auto failed = [](SEXP, void*) { return R_NilValue; };
  const Rcpp::RObject matrix = R_tryCatchError(allocate, &shape, failed, nullptr);
  if (matrix.isNULL()) throw std::bad_alloc();
  return matrix;
}

Rcpp::RObject copy_matrix(const View& view) {
  const Rcpp::RObject matrix = make_matrix(view.shape);
  std::copy(view.data, view.data + view.shape.size(), REAL(matrix));
  return matrix;
}

Names names_of(SEXP matrix) {
  return names_in(Rf_getAttrib(matrix, R_DimNamesSymbol));
}

Names names_in(SEXP dimnames) {
  if (TYPEOF(dimnames) != VECSXP || Rf_length(dimnames) != 2) return {};
  Names names{VECTOR_ELT(dimnames, 0), VECTOR_ELT(dimnames, 1), R_NilValue, R_NilValue};
  const SEXP labels = Rf_getAttrib(dimnames, R_NamesSymbol);
  if (TYPEOF(labels) == STRSXP) {
    names.row_label = Rf_ScalarString(STRING_ELT(labels, 0));
    names.col_label = Rf_ScalarString(STRING_ELT(labels, 1));
  }
  return names;
}

void set_names(SEXP matrix, const Names& names) {
  const Rcpp::RObject dimnames = dimnames_of({Rf_nrows(matrix), Rf_ncols(matrix)}, names);
  if (!dimnames.isNULL()) Rf_setAttrib(matrix, R_DimNamesSymbol, dimnames);
}

Rcpp::RObject dimnames_of(Shape shape, const Names& names) {
  // A matrix of another size (a callable changed it) has no use for the old names.
  const auto fits = [](const Rcpp::RObject& given, int64_t length) {
    return !given.isNULL() && Rf_length(given) == length;
  };
  const bool rows = fits(names.rows, shape.rows), cols = fits(names.cols, shape.cols);
  if (!rows && !cols) return R_NilValue;
  const Rcpp::RObject none = R_NilValue;
  Rcpp::List dimnames = Rcpp::List::create(rows ? names.rows : none, cols ? names.cols : none);
  if (!names.row_label.isNULL() || !names.col_label.isNULL()) {
    const auto text = [](const Rcpp::RObject& label) {
      return label.isNULL() ? Rcpp::String("") : Rcpp::String(STRING_ELT(label, 0));
    };
    dimnames.names() = Rcpp::CharacterVector::create(text(names.row_label), text(names.col_label));
  }
  return dimnames;
}

bool ParsedModel::has_effects() const {
  return std::any_of(ops.begin(), ops.end(), [](const ListOp& op) {
    const Op* record = find_kind(op.kind);
    return record != nullptr && (record->calls_host || record->lower);
  });
}

Results::operator MakeResult() {
  return [this](size_t k, Shape shape) {
    if (values.size() <= k) values.resize(k + 1);
    values[k] = make_matrix(shape);
    return REAL(values[k]);
  };
}

ParsedModel parse_model(SEXP model, int first, int total) {
  if (TYPEOF(model) != VECSXP || Rf_isObject(model)) {
    throw Error(ErrorKind::kParam, "`model` must be a list of ops.",
                "It is " + describe(model) + ".", "as_op_list() makes one from a fitted model.");
  }
  if (field_of(model, "kind") != R_NilValue) {
    throw Error(ErrorKind::kParam, "`model` must be a list of ops.", "It is a single op.",
                "Wrap it in list().");
  }
  const int size = static_cast<int>(Rf_xlength(model));
  ModelParser parser(total < 0 ? size : total);
  for (int i = 0; i < size; ++i) parser.add(VECTOR_ELT(model, i), first + i);
  return parser.take();
}

Hooks r_hooks() {
  Hooks hooks;
  // Not Rcpp's own check, which turns a time limit into an interrupt.
  hooks.poll = [] {
    Rcpp::unwindProtect([] {
      R_CheckUserInterrupt();
      return R_NilValue;
    });
  };
  hooks.uniform = [](double* out, int64_t count) {
    const Rcpp::RNGScope scope;
    for (int64_t i = 0; i < count; ++i) out[i] = unif_rand();
  };
  return hooks;
}

KeptStream::KeptStream(bool needed) : needed_(needed) {
  if (!needed_) return;
  const Rcpp::Environment global = Rcpp::Environment::global_env();
  existed_ = global.exists(".Random.seed");
  if (!existed_) {  // a first draw makes one
    const Rcpp::RNGScope scope;
    unif_rand();
  }
  seed_ = global[".Random.seed"];
}

KeptStream::~KeptStream() {
  if (!needed_) return;
  try {
    rewind();
    if (!existed_) Rcpp::Environment::global_env().remove(".Random.seed");
  } catch (...) {  // a destructor must not throw; the stream goes on from where it is
  }
}

void KeptStream::rewind() {
  if (needed_) Rcpp::Environment::global_env().assign(".Random.seed", seed_);
}

}  // namespace moriejit

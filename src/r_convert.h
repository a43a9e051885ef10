// R values and the core's: the one place where SEXP and the core's types meet. The exported
// functions of r_*.cpp convert with it, call the core, and convert back.
#pragma once

#include <Rcpp.h>

#include <memory>
#include <new>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/exec.h"
#include "core/hooks.h"
#include "core/oplist.h"
#include "core/tensor.h"

namespace moriejit {

// Raises a core error as a condition of the package, from the user's function.
[[noreturn]] void raise(const Error& error);

// Runs `f`; every exported function does its work in it.
template <class F>
SEXP guarded(F f) {
  Rcpp::RObject result;  // holds it while what `f` had is given back
  try {
    result = f();
    return result;
  } catch (const Error& error) {
    raise(error);
  } catch (const std::bad_alloc&) {
    raise(Error(ErrorKind::kMemory,
                "There must be enough memory for the result and the values "
                "in between.",
                "There is not."));
  }
}

// The numbers of an R matrix or vector (one column), kept alive as long as the buffer; doubles are
// not copied.
Buffer as_buffer(const Rcpp::RObject& x);

// Anything that the package takes as an input matrix, as an R matrix of doubles.
Rcpp::RObject as_input(SEXP x, const char* argument);

View view_of(SEXP matrix);
Rcpp::RObject make_matrix(Shape shape);
// A copy for R of what the core made.
Rcpp::RObject copy_matrix(const View& view);

// Row and column names, and what the dimensions themselves are called; NULL where there are none.
struct Names {
  Rcpp::RObject rows, cols, row_label, col_label;
};
Names names_of(SEXP matrix);
Names names_in(SEXP dimnames);
// The dimnames of a matrix of this shape; NULL where none fit.
Rcpp::RObject dimnames_of(Shape shape, const Names& names);
void set_names(SEXP matrix, const Names& names);

// What ops do to names, as in plain R: a linear op gives its matrix's column names, a callable
// names of its own, everything else keeps them.
struct ColumnNames {
  bool replaced = false;
  Rcpp::RObject cols, label;

  Names apply(Names names) const {
    if (replaced) names = {names.rows, cols, names.row_label, label};
    return names;
  }
};

// An op list as the core takes it.
struct ParsedModel {
  std::vector<ListOp> ops;
  std::vector<Rcpp::RObject> given;  // the ops as the user gave them
  // During a run: the input's names, then those of the last callable's result.
  std::shared_ptr<Names> names = std::make_shared<Names>();
  ColumnNames columns;  // of the linear ops after the last callable

  Names output_names() const { return columns.apply(*names); }
  // Draws or calls R: what it gives depends on more than its input.
  bool has_effects() const;
};

// `model` may be a part of an op list: the ops from `first` (from 0) of `total`, for errors.
ParsedModel parse_model(SEXP model, int first = 0, int total = -1);

// R matrices for the outputs of a run.
struct Results {
  std::vector<Rcpp::RObject> values;
  operator MakeResult();  // NOLINT(google-explicit-constructor): it is given where one is asked for
};

Hooks r_hooks();

// Keeps R's random stream: what is drawn while this lives is drawn again after `rewind`, and in the
// end the stream is as it was.
class KeptStream {
 public:
  explicit KeptStream(bool needed);
  ~KeptStream();
  void rewind();

 private:
  bool needed_, existed_ = false;
  Rcpp::RObject seed_;
};

}  // namespace moriejit

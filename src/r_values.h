// R vectors from numbers of the core and what R knows of them.
#pragma once

#include "r_trace.h"

namespace moriejit {

// A new R vector of the type, dimensions and names; its numbers are not set.
Rcpp::RObject empty_value(const Meta& meta);
// Doubles of the core as elements of an R vector (doubles where they already lie there: nothing).
void fill_value(SEXP value, const double* data);
Rcpp::RObject r_value(const Meta& meta, const double* data);

// A function of R with the arguments it is called with; traced ones are filled in at each call.
class HostCall : public Callable {
 public:
  HostCall(SEXP fun, SEXP args, std::vector<R_xlen_t> slots, std::vector<Meta> metas, Meta out)
      : fun_(fun),
        args_(args),
        slots_(std::move(slots)),
        metas_(std::move(metas)),
        out_(std::move(out)) {}
  Buffer call(const std::vector<View>& args) override;
  std::shared_ptr<Callable> gradient() override;
  void set_gradient(SEXP gradient) { gradient_ = gradient; }
  const Meta& result() const { return out_; }

 private:
  Rcpp::RObject fun_, args_;
  std::vector<R_xlen_t> slots_;
  std::vector<Meta> metas_;
  Meta out_;
  Rcpp::RObject gradient_;
};

}  // namespace moriejit

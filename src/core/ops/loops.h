// Inner loops of elementwise ops, made of the function of one element: what an evaluation runs
// column by column, and a fused group block by block. Only for ops/.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <type_traits>
#include <vector>

#include "core/error.h"
#include "core/op.h"

namespace moriejit {

// Calls f with the elements, and with the attributes where it takes them.
template <class F, class... X>
double call_element(const F& f, const double* attrs, X... x) {
  if constexpr (std::is_invocable_v<const F&, X..., const double*>) {
    return f(x..., attrs);
  } else {
    (void)attrs;
    return f(x...);
  }
}

// Where `out` is an operand, element i is read before it is written and never again.
#if defined(__clang__)
#define MORIEJIT_NO_OVERLAP _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define MORIEJIT_NO_OVERLAP _Pragma("GCC ivdep")
#else
#define MORIEJIT_NO_OVERLAP
#endif

// out[i] = f(i), where f reads of `out` no other element than i. By a fixed number of elements at a
// time, which is what compilers ask for before they use vector instructions at -O2.
template <class F>
void fill_by(double* out, int64_t n, F f) {
  constexpr int64_t kStep = 32;
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    MORIEJIT_NO_OVERLAP
    for (int64_t k = 0; k < kStep; ++k) out[i + k] = f(i + k);
  }
  for (; i < n; ++i) out[i] = f(i);
}

// A loop is a plain function, so f must be a lambda without captures.
template <class F>
Loop unary_loop(F f) {
  static_assert(std::is_empty_v<F>, "what the function needs must come in its attributes");
  static const F element = f;
  return
      [](const double* const* in, const int* steps, double* out, int64_t n, const double* attrs) {
        const double* x = in[0];
        if (steps[0] == 0) {
          std::fill(out, out + n, call_element(element, attrs, x[0]));
        } else {
          fill_by(out, n, [&](int64_t i) { return call_element(element, attrs, x[i]); });
        }
      };
}

template <class F>
Loop binary_loop(F f) {
  static_assert(std::is_empty_v<F>, "what the function needs must come in its attributes");
  static const F element = f;
  return
      [](const double* const* in, const int* steps, double* out, int64_t n, const double* attrs) {
        const double *x = in[0], *y = in[1];
        // Cases of their own, so that the compiler turns them into vector loops.
        if (steps[0] == 1 && steps[1] == 1) {
          fill_by(out, n, [&](int64_t i) { return call_element(element, attrs, x[i], y[i]); });
        } else if (steps[0] == 1) {
          const double value = y[0];
          fill_by(out, n, [&](int64_t i) { return call_element(element, attrs, x[i], value); });
        } else if (steps[1] == 1) {
          const double value = x[0];
          fill_by(out, n, [&](int64_t i) { return call_element(element, attrs, value, y[i]); });
        } else {
          std::fill(out, out + n, call_element(element, attrs, x[0], y[0]));
        }
      };
}

template <class F>
Loop ternary_loop(F f) {
  static_assert(std::is_empty_v<F>, "what the function needs must come in its attributes");
  static const F element = f;
  return
      [](const double* const* in, const int* steps, double* out, int64_t n, const double* attrs) {
        const double *x = in[0], *y = in[1], *z = in[2];
        const int64_t dx = steps[0], dy = steps[1], dz = steps[2];
        fill_by(out, n, [&](int64_t i) {
          return call_element(element, attrs, x[i * dx], y[i * dy], z[i * dz]);
        });
      };
}

// The evaluation that a loop gives: operands of one row or one column are repeated.
template <size_t kOperands>
Op::Eval eval_by(Loop loop) {
  return [loop](const EvalArgs& a) {
    if (a.shape.size() == 0) return;
    std::array<const double*, kOperands> in;
    std::array<int, kOperands> steps;
    bool whole = true;  // every operand is as large as the result, or one element
    for (size_t k = 0; k < kOperands; ++k) {
      const Shape shape = a.in[k].shape;
      in[k] = a.in[k].data;
      whole = whole && (shape == a.shape || shape.size() == 1);
      steps[k] = shape == a.shape ? 1 : 0;
    }
    if (whole) {
      loop(in.data(), steps.data(), a.out, a.shape.size(), a.attrs);
      return;
    }
    for (size_t k = 0; k < kOperands; ++k) steps[k] = a.in[k].shape.rows == 1 ? 0 : 1;
    for (int64_t j = 0; j < a.shape.cols; ++j) {
      for (size_t k = 0; k < kOperands; ++k) {
        const Shape shape = a.in[k].shape;
        in[k] = a.in[k].data + (shape.cols == 1 ? 0 : j * shape.rows);
      }
      loop(in.data(), steps.data(), a.out + j * a.shape.rows, a.shape.rows, a.attrs);
    }
  };
}

// `f` maps (x, attributes) to a number; `work` is its cost against that of one addition.
template <class F>
Op& unary(Registry& r, const char* name, double work, F f) {
  Op& op = r.add(name);
  op.shape = [](const std::vector<Shape>& in, const double*) { return in[0]; };
  op.loop = unary_loop(f);
  op.eval = eval_by<1>(op.loop);
  op.cost = [work](const std::vector<Shape>&, Shape out) {
    return work * static_cast<double>(out.size());
  };
  op.elementwise = op.in_place = op.shape_of_first = true;
  return op;
}

inline int64_t common_size(int64_t a, int64_t b, const char* what, Shape first, Shape second) {
  if (a == b || b == 1) return a;
  if (a == 1) return b;
  throw Error(ErrorKind::kShape,
              std::string("Elementwise operands must agree in their number of ") + what +
                  ", or one of them must have one.",
              "The operands are " + to_string(first) + " and " + to_string(second) + ".");
}

inline Shape broadcast(Shape a, Shape b) {
  return {common_size(a.rows, b.rows, "rows", a, b), common_size(a.cols, b.cols, "columns", a, b)};
}

inline Shape broadcast_all(const std::vector<Shape>& in, const double*) {
  Shape shape = in[0];
  for (size_t i = 1; i < in.size(); ++i) shape = broadcast(shape, in[i]);
  return shape;
}

inline double per_element(const std::vector<Shape>&, Shape out) {
  return static_cast<double>(out.size());
}

template <class F>
Op& binary(Registry& r, const char* name, F f) {
  Op& op = r.add(name);
  op.arity = 2;
  op.shape = broadcast_all;
  op.loop = binary_loop(f);
  op.eval = eval_by<2>(op.loop);
  op.cost = per_element;
  op.elementwise = op.in_place = true;
  return op;
}

}  // namespace moriejit

// Shapes and column-major matrices of doubles. No arithmetic lives here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace moriejit {

struct Shape {
  int64_t rows = 0;
  int64_t cols = 0;

  int64_t size() const { return rows * cols; }
  bool operator==(const Shape& other) const { return rows == other.rows && cols == other.cols; }
  bool operator!=(const Shape& other) const { return !(*this == other); }
};

inline std::string to_string(const Shape& shape) {
  return std::to_string(shape.rows) + " x " + std::to_string(shape.cols);
}

// A matrix that somebody else owns.
struct View {
  const double* data = nullptr;
  Shape shape;
};

// A read-only matrix with its owner: a parameter in the host's memory (never copied), or a value
// made by the compiler.
struct Buffer {
  Shape shape;
  std::shared_ptr<const double> data;

  View view() const { return {data.get(), shape}; }
};

// An owned matrix, not initialised: whoever asks for one writes every element.
class Tensor {
 public:
  explicit Tensor(Shape shape)
      : shape_(shape),
        data_(new double[static_cast<size_t>(shape.size() > 0 ? shape.size() : 1)],
              std::default_delete<double[]>()) {}

  Shape shape() const { return shape_; }
  double* data() { return data_.get(); }
  const double* data() const { return data_.get(); }
  View view() const { return {data_.get(), shape_}; }
  Buffer buffer() const { return {shape_, data_}; }

 private:
  Shape shape_;
  std::shared_ptr<double> data_;
};

}  // namespace moriejit

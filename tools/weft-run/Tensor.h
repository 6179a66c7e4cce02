// Tensors in host memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dense row-major tensor in the memory layout of the runtime (sub-byte types packed), and the conversion of single
// elements.
#ifndef WEFT_RUN_TENSOR_H
#define WEFT_RUN_TENSOR_H

#include "weft/Bundle/DType.h"
#include "weft/Bundle/Error.h"

#include <string>
#include <vector>

namespace weft::run {

using bundle::DType;
using bundle::Error;
using bundle::ErrorCode;

struct Tensor {
  DType dtype = DType::F32;
  std::vector<int64_t> dims;
  std::vector<uint8_t> bytes;

  /// Zeros; an error if a dimension is negative or the size leaves 2^40 bytes.
  static Error create(DType dtype, std::vector<int64_t> dims, Tensor &tensor);

  int64_t getCount() const;
  /// Element `index` as a double; exact for all types but 64-bit integers beyond 2^53.
  double get(int64_t index) const;
  /// Stores `value`, rounded to nearest even; integers wrap, types without infinity saturate.
  void set(int64_t index, double value);
  /// Element `index` of an integer type.
  int64_t getInteger(int64_t index) const;
  void setInteger(int64_t index, int64_t value);
  /// Distance in units of the last place between element `index` of two tensors of one floating type; 0 for the same
  /// value.
  double getUlps(const Tensor &other, int64_t index) const;
  /// "2x3xf32".
  std::string describe() const;

private:
  uint64_t getBitsOf(int64_t index) const;
  void setBitsOf(int64_t index, uint64_t bits);
};

/// Product of `dims` if it is sane; -1 otherwise.
int64_t countElements(const std::vector<int64_t> &dims);

} // namespace weft::run

#endif // WEFT_RUN_TENSOR_H

// What kernels do on the fake GPU.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_FAKEKERNELS_H
#define WEFT_TEST_FAKEKERNELS_H

#include "Cuda/CudaOrder.h"
#include "FakeCuda.h"

#include <cstring>

namespace weft::test {

/// The kernel of makeAddPtx.
inline void add(const FakeLaunch &launch) {
  auto read = [&](size_t i, auto &value) { std::memcpy(&value, launch.parameters[i].data(), sizeof value); };
  const float *a, *b;
  float *y;
  int64_t n;
  read(0, a), read(1, b), read(2, y), read(3, n);
  for (int64_t i = 0; i < n; ++i)
    y[i] = a[i] + b[i];
}

/// Kernel orderN of Cuda/CudaOrder.h.
inline void order(const FakeLaunch &launch) {
  cuda::OrderedUnits units;
  units.bytes = unsigned(launch.function.back() - '0');
  const uint8_t *from;
  uint8_t *to;
  std::memcpy(&from, launch.parameters[0].data(), sizeof from);
  std::memcpy(&to, launch.parameters[1].data(), sizeof to);
  std::memcpy(&units.count, launch.parameters[2].data(), sizeof units.count);
  std::memcpy(units.dims, launch.parameters[3].data(), sizeof units.dims);
  for (uint64_t i = 0; i < units.count; ++i) {
    uint64_t rest = i, index = 0;
    for (const cuda::OrderedUnits::Dim &dim : units.dims) {
      index += rest % dim.extent * dim.stride;
      rest /= dim.extent;
    }
    std::memcpy(to + i * units.bytes, from + index * units.bytes, units.bytes);
  }
}

} // namespace weft::test

#endif // WEFT_TEST_FAKEKERNELS_H

// Weights in another order, made on a GPU.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What Memory/WeightOrder.h does on the host, by a kernel of the runtime's own: gigabytes take as long as their memory
// traffic, and weights that lie on the GPU do not leave it.
#ifndef WEFT_CUDA_CUDAORDER_H
#define WEFT_CUDA_CUDAORDER_H

#include "Driver.h"

namespace weft::bundle {
struct WeightOrderRecord;
}

namespace weft::cuda {

/// Of memory as kernels see it, innermost first: unit number i lies at the sum of index * stride as stored.
struct OrderedUnits {
  static constexpr unsigned kMostDims = 9; ///< A weight's, and the bytes of an element.
  struct Dim {
    uint64_t extent, stride;
  };
  unsigned bytes = 1; ///< Of a unit: 1, 2, 4 or 8.
  uint64_t count = 0; ///< Of units.
  Dim dims[kMostDims];
};

/// Units as large as order and address allow, in as few dimensions.
OrderedUnits findUnits(const bundle::WeightOrderRecord &record, Address stored);

/// PTX of the kernels, one for each size of units: order1, order2, order4 and order8 (from, to, count, dims).
std::string makeOrderPtx();

/// The kernels on the GPU of the current context.
class CudaOrder {
public:
  explicit CudaOrder(const Driver &driver) : driver(driver) {}
  ~CudaOrder();
  CudaOrder(const CudaOrder &) = delete;
  CudaOrder &operator=(const CudaOrder &) = delete;

  /// Starts writing to `seen`, aligned to 8 bytes, what lies at `stored`.
  bundle::Error start(const bundle::WeightOrderRecord &record, Address stored, Address seen, Handle stream);

private:
  const Driver &driver;
  Handle module = nullptr; ///< Loaded when it is first needed.
};

} // namespace weft::cuda

#endif // WEFT_CUDA_CUDAORDER_H

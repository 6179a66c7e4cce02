// Recorded launches.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A captured stream as an executable graph: one call of the driver starts all its kernels and copies.
#ifndef WEFT_CUDA_CUDAGRAPH_H
#define WEFT_CUDA_CUDAGRAPH_H

#include "../Device.h"
#include "Driver.h"

namespace weft::cuda {

/// Every call but the destructor goes within a Context::Scope.
class CudaGraph : public Recording {
public:
  explicit CudaGraph(std::shared_ptr<Context> context) : context(std::move(context)) {}
  ~CudaGraph() override;

  /// From now on `stream` collects what is put on it. Other threads may use the driver as they like.
  static bundle::Error beginCapture(const Driver &driver, Handle stream);
  /// Ends the capture of `stream`, and makes this graph what it collected: by changing the nodes' parameters where the
  /// nodes are the same as before, else anew.
  bundle::Error endCapture(Handle stream);
  bundle::Error launch(Handle stream) const;

private:
  bundle::Error take(Handle graph);

  std::shared_ptr<Context> context;
  Handle executable = nullptr;
};

} // namespace weft::cuda

#endif // WEFT_CUDA_CUDAGRAPH_H

// Weights on a GPU.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The weights and constants of a bundle in the memory of one GPU: copied there when the first session needs them, and
// there until the bundle is closed. Shared by all sessions of the bundle on that GPU.
#ifndef WEFT_CUDA_CUDADATA_H
#define WEFT_CUDA_CUDADATA_H

#include "../Device.h"
#include "../Memory/LoadedBundle.h"
#include "CudaOrder.h"

#include <map>
#include <mutex>

namespace weft::cuda {

class CudaData : public SharedResource {
public:
  explicit CudaData(std::shared_ptr<Context> context) : context(std::move(context)) {}
  ~CudaData() override;

  /// Sets the addresses of `items`; those that are not there yet are copied over `stream`, into one allocation. Returns
  /// when they are there. Those of the caller's that lie on the GPU as kernels see them stay where they are. From any
  /// thread.
  bundle::Error place(std::vector<ReadOnlyData> &items, Handle stream);

private:
  bundle::Error copy(const std::vector<ReadOnlyData *> &missing, uint64_t bytes, Handle stream);
  class Staging;
  bundle::Error copyPart(const ReadOnlyData &item, Address target, Handle stream) const;
  bundle::Error upload(const ReadOnlyData &item, Address block, Address staging, CudaOrder &order, Handle stream) const;
  bundle::Error upload(const std::vector<ReadOnlyData *> &items, Address block, Handle stream) const;

  std::shared_ptr<Context> context;
  std::mutex mutex;
  std::map<uint32_t, Address> addresses; ///< By the data's id.
  std::vector<Address> blocks;
};

} // namespace weft::cuda

#endif // WEFT_CUDA_CUDADATA_H

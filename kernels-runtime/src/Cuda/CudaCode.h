// A module on a GPU.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The PTX of a bundle, compiled for one GPU by the driver or found in the cache of compiled code, with the handles of
// its kernels. Shared by all sessions of a bundle on that GPU.
#ifndef WEFT_CUDA_CUDACODE_H
#define WEFT_CUDA_CUDACODE_H

#include "../Gpu/GpuCode.h"
#include "CubinCache.h"
#include "Driver.h"
#include "EarlyStart.h"

namespace weft::cuda {

class CudaCode : public SharedResource {
public:
  ~CudaCode() override;
  /// Loads `code`, with every kernel of `tables` that it holds ready to start. `cubinFolder`: of the cache; empty:
  /// none.
  static bundle::Error load(std::shared_ptr<Context> context, const GpuCode &code, const bundle::Tables &tables,
                            const std::string &cubinFolder, std::shared_ptr<SharedResource> &result);

  struct Function {
    Handle handle = nullptr;
    int parameters = -1;        ///< Their number in the PTX; -1 where the text does not tell.
    bool waitsForGrids = false; ///< It may be started before the kernels in front of it have ended.
    unsigned registers = 0;     ///< Of a thread; of code with kernels that wait.
  };
  /// The function of kernel number `kernel`, which the code holds.
  const Function &getFunction(uint32_t kernel) const { return functions[kernel]; }
  /// Of code with kernels that wait for the grids in front.
  const SmLimits &getLimits() const { return limits; }

private:
  explicit CudaCode(std::shared_ptr<Context> context) : context(std::move(context)) {}
  bundle::Error loadModule(std::string_view ptx, const std::string &cubinFolder);
  bundle::Error loadImage(const void *image);
  bundle::Error link(std::string_view ptx, const CubinCache &cache, const bundle::Hash128 &key);
  bundle::Error findFunctions(const GpuCode &code, const bundle::Tables &tables);
  bundle::Error prepareFunction(const bundle::GpuKernelRecord &kernel);
  bundle::Error checkResident(const bundle::GpuKernelRecord &kernel) const;

  std::shared_ptr<Context> context;
  Handle module = nullptr;
  bundle::Error findNeeds();
  std::vector<Function> functions; ///< By kernel number.
  SmLimits limits;
};

} // namespace weft::cuda

#endif // WEFT_CUDA_CUDACODE_H

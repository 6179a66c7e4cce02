// GPU code of a bundle, the same for every GPU device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which PTX module of a bundle a GPU runs, and how a dispatch becomes the parameters of a kernel
// (weft/bundle_format.h: GpuModuleRecord, GpuKernelRecord, TensorMapRecord). Knows neither CUDA nor the emulator.
#ifndef WEFT_GPU_GPUCODE_H
#define WEFT_GPU_GPUCODE_H

#include "../Device.h"
#include "../Memory/LoadedBundle.h"
#include "../TensorMap/TensorMapSpec.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// "sm_90a": version 90 with the features of that architecture alone; "sm_80": 80 without.
struct GpuArchitecture {
  uint32_t version = 0;
  bool isSpecific = false;

  /// False if `text` does not name an architecture.
  static bool parse(std::string_view text, GpuArchitecture &result);
  /// True if code for `code` runs here: of the same or a lower version, and if it is specific, of the same.
  bool runs(GpuArchitecture code) const;
  /// Among code that a GPU runs, the one of the highest rank is the best.
  uint32_t getRank() const { return version + (isSpecific ? 1000000 : 0); }
};

/// The element type of tensor maps over `dtype`; false for types they cannot move (less than a byte).
bool getTensorMapType(bundle::DType dtype, TensorMapType &type);

/// Encodes a tensor map as the device's kernels read it: 128 bytes.
using TensorMapEncoder = std::function<bundle::Error(const TensorMapSpec &, uint8_t *bytes)>;

/// The module of a bundle that a GPU runs.
class GpuCode {
public:
  /// Chooses the module for `target`, or, if that is empty, the best one for `card`. Device if there is none that runs.
  static bundle::Error choose(const LoadedBundle &bundle, std::string_view card, std::string_view target,
                              GpuCode &code);

  /// "sm_90a".
  std::string_view getTarget() const { return target; }
  /// NUL-terminated behind its end.
  std::string_view getPtx() const { return ptx; }
  /// How this module starts kernel number `kernel`; null if it does not hold it.
  const bundle::GpuKernelRecord *getKernel(uint32_t kernel) const;

  /// The parameter buffer of one launch: addresses, scalars, tensor maps. `launch.grid` has
  /// been checked against the cluster size when this succeeds.
  bundle::Error packParameters(const Launch &launch, const TensorMapEncoder &encode, std::vector<uint8_t> &bytes) const;

private:
  bundle::Error packTensorMap(const bundle::TensorMapRecord &map, const Launch &launch, const TensorMapEncoder &encode,
                              std::vector<uint8_t> &bytes) const;

  const bundle::Tables *tables = nullptr;
  std::string_view target, ptx;
  std::vector<const bundle::GpuKernelRecord *> kernels; ///< By kernel number; null where absent.
};

} // namespace weft

#endif // WEFT_GPU_GPUCODE_H

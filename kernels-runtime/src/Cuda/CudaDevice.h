// NVIDIA GPUs as devices of the runtime.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_CUDA_CUDADEVICE_H
#define WEFT_CUDA_CUDADEVICE_H

#include "../Device.h"

#include <string_view>

namespace weft {

/// The device named "cuda" (the first GPU) or "cuda:N", in the driver's count of the GPUs it shows.
/// `options.cudaDriver` and `options.cubinFolder` are used. Usage: not such a name; Device: no driver, or no such GPU.
bundle::Error createCudaDevice(std::string_view name, const DeviceOptions &options, std::unique_ptr<Device> &device);

} // namespace weft

#endif // WEFT_CUDA_CUDADEVICE_H

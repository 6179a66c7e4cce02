// Tensors of other libraries.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DLPack's published structs (ABI of dlpack.h, both forms: before 1.0 and "versioned"), and tensors in and out of them.
// Names and order of the members are ours to choose, layout and numbers are not.
#ifndef WEFT_SESSION_DLPACK_H
#define WEFT_SESSION_DLPACK_H

#include "SessionMemory.h"
#include "weft/runtime.h"

namespace weft::dlpack {

enum DeviceType : int32_t { Cpu = 1, Cuda = 2, CudaHost = 3, CudaManaged = 13 };

struct Tensor { ///< DLTensor.
  void *data;
  int32_t deviceType, deviceId;
  int32_t rank;
  uint8_t typeCode, typeBits;
  uint16_t typeLanes;
  int64_t *shape;
  int64_t *strides; ///< In elements; null: dense row-major (versioned forms since 1.2 always have them).
  uint64_t byteOffset;
};
static_assert(sizeof(Tensor) == 48, "as DLPack has it");

struct Managed { ///< DLManagedTensor.
  Tensor tensor;
  void *context;
  void (*deleter)(Managed *);
};
static_assert(sizeof(Managed) == 64, "as DLPack has it");

inline constexpr uint32_t kMajor = 1, kMinor = 0;
struct ManagedVersioned { ///< DLManagedTensorVersioned.
  uint32_t major, minor;
  void *context;
  void (*deleter)(ManagedVersioned *);
  uint64_t flags;
  Tensor tensor;
};
static_assert(sizeof(ManagedVersioned) == 80, "as DLPack has it");

/// See weft_tensor_from_dlpack.
bundle::Error import(const void *managed, bool isVersioned, weft_tensor &tensor);
/// A managed tensor over `tensor`, whose memory `owner` keeps.
bundle::Error exportOutput(std::shared_ptr<TakenOutput> owner, const weft_tensor &tensor, bool isVersioned,
                           void *&managed);
/// See weft_dlpack_share.
bundle::Error share(const void *managed, bool isVersioned, bool isResultVersioned, void *&result);
/// See weft_dlpack_release.
void release(void *managed, bool isVersioned);

} // namespace weft::dlpack

#endif // WEFT_SESSION_DLPACK_H

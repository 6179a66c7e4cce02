// Tensors of other libraries.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DlPack.h"

#include "weft/Bundle/DType.h"

#include <cinttypes>

using namespace weft;
using namespace weft::bundle;
using namespace weft::dlpack;

//===--------------------------------------------------------------------------------------------------------------===//
// Element types
//===--------------------------------------------------------------------------------------------------------------===//

/// DLDataTypeCode.
enum TypeCode : uint8_t {
  Int = 0,
  UInt = 1,
  Float = 2,
  BFloat = 4,
  Bool = 6,
  F8E4M3FN = 10,
  F8E4M3FNUZ = 11,
  F8E5M2 = 12,
  F8E5M2FNUZ = 13,
  F8E8M0FNU = 14,
  F4E2M1FN = 17,
};

static const struct {
  DType dtype;
  uint8_t code, bits;
} kTypes[] = {
    {DType::F64, Float, 64},
    {DType::F32, Float, 32},
    {DType::F16, Float, 16},
    {DType::BF16, BFloat, 16},
    {DType::F8E4M3FN, F8E4M3FN, 8},
    {DType::F8E4M3FNUZ, F8E4M3FNUZ, 8},
    {DType::F8E5M2, F8E5M2, 8},
    {DType::F8E5M2FNUZ, F8E5M2FNUZ, 8},
    {DType::F8E8M0FNU, F8E8M0FNU, 8},
    {DType::F4E2M1FN, F4E2M1FN, 4},
    {DType::I64, Int, 64},
    {DType::I32, Int, 32},
    {DType::I16, Int, 16},
    {DType::I8, Int, 8},
    {DType::I4, Int, 4},
    {DType::I2, Int, 2},
    {DType::UI64, UInt, 64},
    {DType::UI32, UInt, 32},
    {DType::UI16, UInt, 16},
    {DType::UI8, UInt, 8},
    {DType::UI4, UInt, 4},
    {DType::UI2, UInt, 2},
    {DType::I1, Bool, 8},
};

//===--------------------------------------------------------------------------------------------------------------===//
// In
//===--------------------------------------------------------------------------------------------------------------===//

static Error readPlace(const Tensor &tensor, weft_tensor &result) {
  switch (tensor.deviceType) {
  case Cpu:
  case CudaHost: // Page-locked.
    result.memory = WEFT_MEMORY_HOST;
    return {};
  case Cuda:
  case CudaManaged:
    result.memory = WEFT_MEMORY_CUDA;
    result.card = tensor.deviceId;
    return {};
  default:
    return makeError(ErrorCode::Unsupported, "a DLPack tensor on a device of kind %d; expected the CPU or CUDA",
                     tensor.deviceType);
  }
}

static Error readType(const Tensor &tensor, weft_tensor &result) {
  for (const auto &type : kTypes)
    if (type.code == tensor.typeCode && type.bits == tensor.typeBits && tensor.typeLanes == 1) {
      result.dtype = int32_t(type.dtype);
      return {};
    }
  return makeError(ErrorCode::Unsupported, "a DLPack tensor of type code %u with %u bits in %u lanes", tensor.typeCode,
                   tensor.typeBits, tensor.typeLanes);
}

/// Number of elements; an error if the tensor is not dense row-major.
static Error countElements(const Tensor &tensor, int64_t &elements) {
  elements = 1;
  bool isDense = true;
  for (int32_t i = tensor.rank; i-- > 0;) {
    // A dimension of one element has any stride.
    isDense = isDense && (!tensor.strides || tensor.shape[i] == 1 || tensor.strides[i] == elements);
    if (tensor.shape[i] < 0 || __builtin_mul_overflow(elements, tensor.shape[i], &elements))
      return makeError(ErrorCode::Input, "a DLPack tensor whose dimension %d is %" PRId64, i, tensor.shape[i]);
  }
  if (!isDense && elements > 0)
    return Error(ErrorCode::Input, "expected a dense row-major tensor, got one with strides; copy it first "
                                   "(torch: .contiguous())");
  return {};
}

Error dlpack::import(const void *managed, bool isVersioned, weft_tensor &result) {
  if (!managed)
    return Error(ErrorCode::Usage, "the DLPack tensor is null");
  const auto *versioned = static_cast<const ManagedVersioned *>(managed);
  if (isVersioned && versioned->major != kMajor)
    return makeError(ErrorCode::Unsupported, "a tensor of DLPack %u.%u; expected 1.x", versioned->major,
                     versioned->minor);
  const Tensor &tensor = isVersioned ? versioned->tensor : static_cast<const Managed *>(managed)->tensor;
  if (tensor.rank < 0 || (tensor.rank > 0 && !tensor.shape))
    return makeError(ErrorCode::Input, "a DLPack tensor of rank %d without a shape", tensor.rank);
  result = {};
  Error error = readPlace(tensor, result);
  if (!error)
    error = readType(tensor, result);
  int64_t elements = 0, bytes = 0;
  if (!error)
    error = countElements(tensor, elements);
  if (!error && !getByteSize(DType(result.dtype), elements, bytes))
    error = Error(ErrorCode::Input, "a DLPack tensor that is too large");
  if (error)
    return error;
  result.rank = tensor.rank;
  result.dims = tensor.shape;
  result.data = static_cast<uint8_t *>(tensor.data) + tensor.byteOffset;
  result.bytes = uint64_t(bytes);
  return {};
}

//===--------------------------------------------------------------------------------------------------------------===//
// Out
//===--------------------------------------------------------------------------------------------------------------===//

namespace {
/// A managed tensor of ours, in the form that was asked for.
struct Exported {
  std::shared_ptr<TakenOutput> owner;
  std::vector<int64_t> shape, strides;
  Managed plain = {};
  ManagedVersioned versioned = {};
};
} // namespace

static void deletePlain(Managed *managed) { delete static_cast<Exported *>(managed->context); }
static void deleteVersioned(ManagedVersioned *managed) { delete static_cast<Exported *>(managed->context); }

static void *publish(std::unique_ptr<Exported> exported, Tensor tensor, bool isVersioned) {
  Exported *kept = exported.release(); // Until its deleter is called.
  tensor.shape = kept->shape.data();
  tensor.strides = kept->strides.data();
  if (!isVersioned) {
    kept->plain = {tensor, kept, deletePlain};
    return &kept->plain;
  }
  kept->versioned = {kMajor, kMinor, kept, deleteVersioned, 0, tensor};
  return &kept->versioned;
}

Error dlpack::exportOutput(std::shared_ptr<TakenOutput> owner, const weft_tensor &output, bool isVersioned,
                           void *&managed) {
  Tensor tensor = {};
  for (const auto &type : kTypes)
    if (int32_t(type.dtype) == output.dtype) {
      tensor.typeCode = type.code;
      tensor.typeBits = type.bits;
    }
  tensor.typeLanes = 1;
  tensor.data = output.data;
  tensor.rank = output.rank;
  bool isOnCard = output.memory == WEFT_MEMORY_CUDA;
  tensor.deviceType = isOnCard ? Cuda : Cpu;
  tensor.deviceId = isOnCard ? output.card : 0;
  auto exported = std::make_unique<Exported>();
  exported->owner = std::move(owner);
  exported->shape.assign(output.dims, output.dims + output.rank);
  exported->strides.resize(size_t(output.rank));
  int64_t stride = 1;
  for (size_t i = exported->shape.size(); i-- > 0;) {
    exported->strides[i] = stride;
    stride *= exported->shape[i] ? exported->shape[i] : 1;
  }
  managed = publish(std::move(exported), tensor, isVersioned);
  return {};
}

Error dlpack::share(const void *managed, bool isVersioned, bool isResultVersioned, void *&result) {
  const auto *plain = static_cast<const Managed *>(managed);
  const auto *versioned = static_cast<const ManagedVersioned *>(managed);
  if (!managed || (isVersioned ? versioned->deleter != deleteVersioned : plain->deleter != deletePlain))
    return Error(ErrorCode::Usage, "expected a managed tensor that weft_session_take_output made");
  const auto *exported = static_cast<const Exported *>(isVersioned ? versioned->context : plain->context);
  auto copy = std::make_unique<Exported>();
  copy->owner = exported->owner;
  copy->shape = exported->shape;
  copy->strides = exported->strides;
  result = publish(std::move(copy), isVersioned ? versioned->tensor : plain->tensor, isResultVersioned);
  return {};
}

void dlpack::release(void *managed, bool isVersioned) {
  auto *plain = static_cast<Managed *>(managed);
  auto *versioned = static_cast<ManagedVersioned *>(managed);
  if (managed && !isVersioned && plain->deleter)
    plain->deleter(plain);
  if (managed && isVersioned && versioned->deleter)
    versioned->deleter(versioned);
}

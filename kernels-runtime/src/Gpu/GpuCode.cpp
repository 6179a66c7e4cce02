// GPU code of a bundle, the same for every GPU device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GpuCode.h"

#include "EntryChoice.h"

#include "weft/Bundle/DType.h"

#include <cinttypes>
#include <cstring>

using namespace weft;
using namespace weft::bundle;

bool GpuArchitecture::parse(std::string_view text, GpuArchitecture &result) {
  if (text.substr(0, 3) != "sm_")
    return false;
  text.remove_prefix(3);
  result = {};
  size_t digits = 0;
  while (digits < text.size() && digits < 4 && text[digits] >= '0' && text[digits] <= '9')
    result.version = result.version * 10 + uint32_t(text[digits++] - '0');
  result.isSpecific = text.size() == digits + 1 && text[digits] == 'a';
  return digits >= 2 && (digits == text.size() || result.isSpecific);
}

bool GpuArchitecture::runs(GpuArchitecture code) const {
  return code.isSpecific ? isSpecific && code.version == version : code.version <= version;
}

Error GpuCode::choose(const LoadedBundle &bundle, std::string_view card, std::string_view target, GpuCode &code) {
  const Tables &tables = bundle.getTables();
  GpuArchitecture own, best, other;
  if (!GpuArchitecture::parse(card, own))
    return Error(ErrorCode::Internal, "not an architecture: " + quote(card));
  const GpuModuleRecord *chosen = nullptr;
  for (const GpuModuleRecord &module : tables.gpuModules) {
    std::string_view name = tables.getString(module.target);
    if ((!target.empty() && name != target) || !GpuArchitecture::parse(name, other) || !own.runs(other))
      continue;
    if (!chosen || other.getRank() > best.getRank()) {
      chosen = &module;
      best = other;
    }
  }
  if (!chosen)
    return makeNoCodeError(tables, card);
  code = {};
  code.tables = &tables;
  code.target = tables.getString(chosen->target);
  Blob text = bundle.getReader().getSection(chosen->section);
  if (text.size == 0 || text.data[text.size - 1] != 0)
    return Error(ErrorCode::Input, "GPU code for " + quote(code.target) + " does not end with NUL");
  code.ptx = {reinterpret_cast<const char *>(text.data), size_t(text.size - 1)};
  code.kernels.resize(tables.kernels.size);
  for (const GpuKernelRecord &kernel : tables.gpuKernels.slice(chosen->firstKernel, chosen->kernelCount))
    code.kernels[kernel.kernel] = &kernel;
  return {};
}

const GpuKernelRecord *GpuCode::getKernel(uint32_t kernel) const {
  return kernel < kernels.size() ? kernels[kernel] : nullptr;
}

bool weft::getTensorMapType(DType dtype, TensorMapType &type) {
  switch (dtype) {
  case DType::F64:
    type = TensorMapType::Float64;
    return true;
  case DType::F32:
    type = TensorMapType::Float32;
    return true;
  case DType::F16:
    type = TensorMapType::Float16;
    return true;
  case DType::BF16:
    type = TensorMapType::BFloat16;
    return true;
  case DType::I32:
    type = TensorMapType::Int32;
    return true;
  case DType::UI32:
    type = TensorMapType::UInt32;
    return true;
  case DType::I64:
    type = TensorMapType::Int64;
    return true;
  case DType::UI64:
    type = TensorMapType::UInt64;
    return true;
  default: // moved as bits: f8, i8, ui8, i1 as bytes, 16-bit integers as pairs of them
    type = getBits(dtype) == 16 ? TensorMapType::UInt16 : TensorMapType::UInt8;
    return getBits(dtype) == 8 || getBits(dtype) == 16;
  }
}

Error GpuCode::packTensorMap(const TensorMapRecord &map, const Launch &launch, const TensorMapEncoder &encode,
                             std::vector<uint8_t> &bytes) const {
  if (map.argument >= launch.bufferCount)
    return makeError(ErrorCode::Input, "buffer %u does not exist (%u buffers)", map.argument, launch.bufferCount);
  TensorMapSpec spec;
  if (!getTensorMapType(DType(map.dtype), spec.type))
    return Error(ErrorCode::Unsupported, std::string("element type ") + getName(DType(map.dtype)));
  auto scalar = [&](uint32_t index, uint64_t &value) {
    if (index >= launch.scalarCount)
      return makeError(ErrorCode::Input, "scalar %u does not exist (%u scalars)", index, launch.scalarCount);
    if (launch.scalars[index] < 0)
      return makeError(ErrorCode::Input, "scalar %u is negative: %" PRId64, index, launch.scalars[index]);
    value = uint64_t(launch.scalars[index]);
    return Error();
  };
  spec.swizzle = TensorMapSwizzle(map.swizzle);
  spec.fill = map.isNanFill ? TensorMapFill::Nan : TensorMapFill::Zero;
  spec.l2Promotion = TensorMapL2Promotion::Bytes128;
  spec.rank = map.rank;
  spec.globalAddress = reinterpret_cast<uint64_t>(launch.buffers[map.argument]);
  for (uint32_t i = 0; i < map.rank; ++i) {
    spec.elementStrides[i] = map.box[i].skipped + 1u;
    spec.boxDim[i] = (map.box[i].elements - 1u) * spec.elementStrides[i] + 1;
    if (Error error = scalar(map.extents[i], spec.globalDim[i]))
      return error;
    if (i + 1 < map.rank)
      if (Error error = scalar(map.strides[i], spec.globalStrides[i]))
        return error;
  }
  constexpr size_t mapBytes = 128, mapAlignment = 64;
  bytes.resize((bytes.size() + mapAlignment - 1) / mapAlignment * mapAlignment + mapBytes);
  return encode(spec, bytes.data() + bytes.size() - mapBytes);
}

Error GpuCode::packParameters(const Launch &launch, const TensorMapEncoder &encode, std::vector<uint8_t> &bytes) const {
  const GpuKernelRecord *kernel = getKernel(launch.kernel);
  if (!kernel)
    return Error(ErrorCode::Device, "no code for " + std::string(target));
  if (launch.scratchBytes)
    return makeError(ErrorCode::Input, "GPU kernels have no scratch, got %" PRId64 " bytes", launch.scratchBytes);
  if (launch.grid % kernel->clusterSize)
    return makeError(ErrorCode::Input, "expected a grid that is a multiple of the cluster of %u, got %" PRId64,
                     kernel->clusterSize, launch.grid);
  auto append = [&](const void *data, size_t size) {
    const auto *begin = static_cast<const uint8_t *>(data);
    bytes.insert(bytes.end(), begin, begin + size);
  };
  bytes.clear();
  append(static_cast<const void *>(launch.buffers), launch.bufferCount * sizeof(void *));
  append(launch.scalars, launch.scalarCount * sizeof(int64_t));
  for (uint32_t i = 0; i < kernel->tensorMapCount; ++i)
    if (Error error = packTensorMap(tables->tensorMaps[kernel->firstTensorMap + i], launch, encode, bytes))
      return std::move(error).within("tensor map " + std::to_string(i));
  return {};
}

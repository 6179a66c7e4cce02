// Checks of the bundle's GPU code.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules, kernels and tensor maps. What depends on a dispatch (how many buffers and scalars it has) is checked by the
// device when it starts the kernel; the PTX itself is parsed by who runs it.
#include "Validate.h"
#include "weft/Bundle/DType.h"

#include <cinttypes>
#include <vector>

using namespace weft::bundle;

static constexpr uint32_t kMaxThreads = 1024, kMaxCluster = 16, kMaxShared = 1u << 20, kMaxRegisters = 255,
                          kMaxTensorRank = 5, kMaxBox = 256, kMaxSkipped = 7;

static Error validateBox(const TensorMapRecord &map, uint32_t i) {
  const TensorMapBox &box = map.box[i];
  bool isUsed = i < map.rank;
  if (isUsed ? box.elements < 1 || box.elements > kMaxBox : box.elements != 0)
    return invalid("box extent %u: expected %s, got %u", i, isUsed ? "1 to 256" : "0", box.elements);
  uint32_t most = isUsed && i > 0 ? kMaxSkipped : 0;
  if (box.skipped > most)
    return invalid("box step %u: expected 1 to %u, got %u", i, most + 1, box.skipped + 1);
  if (isUsed && (box.elements - 1) * (box.skipped + 1) >= kMaxBox)
    return invalid("box %u: expected at most %u elements from the first to the last, got %u by steps of %u", i, kMaxBox,
                   box.elements, box.skipped + 1);
  return {};
}

static Error validateTensorMap(const TensorMapRecord &map) {
  if (map.argument >= kMaxArguments)
    return invalid("argument %u is above the limit of %u", map.argument, kMaxArguments);
  uint32_t bits = getBits(DType(map.dtype));
  if (bits < 8)
    return invalid("expected an element type of whole bytes, got dtype %u", map.dtype);
  if (map.rank < 1 || map.rank > kMaxTensorRank)
    return invalid("expected a rank of 1 to %u, got %u", kMaxTensorRank, map.rank);
  if (map.swizzle > 3 || map.isNanFill > 1)
    return invalid("unknown swizzle %u or fill %u", map.swizzle, map.isNanFill);
  for (uint32_t i = 0; i < kMaxTensorRank; ++i) {
    bool isUsed = i < map.rank;
    if (Error error = validateBox(map, i))
      return error;
    if (isUsed ? map.extents[i] >= kMaxScalars : map.extents[i] != kNone)
      return invalid("extent %u: expected %s, got %u", i, isUsed ? "a scalar" : "none", map.extents[i]);
    if (i + 1 < kMaxTensorRank && (i + 1 < map.rank ? map.strides[i] >= kMaxScalars : map.strides[i] != kNone))
      return invalid("stride %u: expected %s, got %u", i + 1, i + 1 < map.rank ? "a scalar" : "none", map.strides[i]);
  }
  return {};
}

static Error validateGpuKernel(const Tables &tables, const GpuKernelRecord &kernel, uint32_t &nextMap) {
  if (kernel.kernel >= tables.kernels.size)
    return invalid("kernel %u does not exist (%u kernels)", kernel.kernel, tables.kernels.size);
  if (kernel.threads < 1 || kernel.threads > kMaxThreads)
    return invalid("expected 1 to %u threads, got %u", kMaxThreads, kernel.threads);
  if (kernel.clusterSize < 1 || kernel.clusterSize > kMaxCluster)
    return invalid("expected a cluster of 1 to %u, got %u", kMaxCluster, kernel.clusterSize);
  if (kernel.sharedBytes > kMaxShared)
    return invalid("expected at most %u bytes of shared memory, got %u", kMaxShared, kernel.sharedBytes);
  if (kernel.registers > kMaxRegisters)
    return invalid("expected at most %u registers, got %u", kMaxRegisters, kernel.registers);
  if (kernel.residentCtas > kMaxGrid)
    return invalid("expected at most %lld CTAs that wait for each other, got %u", (long long)kMaxGrid,
                   kernel.residentCtas);
  if (kernel.tensorMapCount > kMaxTensorMaps)
    return invalid("expected at most %u tensor maps, got %u", kMaxTensorMaps, kernel.tensorMapCount);
  if (Error error =
          checkRange("TensorMaps", kernel.firstTensorMap, kernel.tensorMapCount, tables.tensorMaps.size, nextMap))
    return error;
  for (uint32_t i = 0; i < kernel.tensorMapCount; ++i)
    if (Error error = validateTensorMap(tables.tensorMaps[kernel.firstTensorMap + i]))
      return std::move(error).within("tensor map " + std::to_string(i));
  return {};
}

static Error validateModule(const Tables &tables, const GpuModuleRecord &module, std::vector<bool> &used,
                            uint32_t &nextKernel, uint32_t &nextMap) {
  if (Error error = checkString(tables, "target", module.target))
    return error;
  if (Error error =
          checkRange("GpuKernels", module.firstKernel, module.kernelCount, tables.gpuKernels.size, nextKernel))
    return error;
  if (module.section >= tables.sections.size || tables.sections[module.section].kind != uint32_t(SectionKind::Ptx))
    return invalid("section %u is not a Ptx section", module.section);
  if (used[module.section])
    return invalid("section %u belongs to another module", module.section);
  used[module.section] = true;
  for (uint32_t i = 0; i < module.kernelCount; ++i) {
    const GpuKernelRecord &kernel = tables.gpuKernels[module.firstKernel + i];
    std::string where = "kernel " + std::to_string(i);
    if (Error error = validateGpuKernel(tables, kernel, nextMap))
      return std::move(error).within(where);
    if (i && tables.gpuKernels[module.firstKernel + i - 1].kernel >= kernel.kernel)
      return invalid("%s: expected kernels in increasing order, got %u", where.c_str(), kernel.kernel);
  }
  return {};
}

Error weft::bundle::validateGpuCode(const Tables &tables) {
  std::vector<bool> used(tables.sections.size);
  uint32_t nextKernel = 0, nextMap = 0;
  for (uint32_t i = 0; i < tables.gpuModules.size; ++i)
    if (Error error = validateModule(tables, tables.gpuModules[i], used, nextKernel, nextMap))
      return std::move(error).within("GPU module " + std::to_string(i));
  if (nextKernel != tables.gpuKernels.size)
    return invalid("GpuKernels: %u records belong to no module", tables.gpuKernels.size - nextKernel);
  if (nextMap != tables.tensorMaps.size)
    return invalid("TensorMaps: %u records belong to no kernel", tables.tensorMaps.size - nextMap);
  return {};
}

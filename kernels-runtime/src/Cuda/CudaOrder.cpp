// Weights in another order, made on a GPU.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread moves one unit. Stores are whole lines; of the lines that a warp's loads touch the other units are those of
// CTAs that run at the same time, so they come out of the L2.
#include "CudaOrder.h"

#include "weft/bundle_format.h"

#include <algorithm>

using namespace weft;
using namespace weft::cuda;
using namespace weft::bundle;

static constexpr unsigned kThreads = 256, kMostUnitBytes = 8;

OrderedUnits cuda::findUnits(const WeightOrderRecord &record, Address stored) {
  uint64_t strides[8], stride = record.elementBytes;
  for (unsigned d = record.rank; d-- > 0; stride *= record.extents[d])
    strides[d] = stride;
  OrderedUnits units;
  units.count = stride;
  unsigned rank = 0;
  auto add = [&](uint64_t extent, uint64_t step) { // In bytes; one dimension with the one before where they follow.
    if (rank && units.dims[rank - 1].extent * units.dims[rank - 1].stride == step)
      units.dims[rank - 1].extent *= extent;
    else if (extent != 1)
      units.dims[rank++] = {extent, step};
  };
  add(record.elementBytes, 1);
  for (unsigned d = record.rank; d-- > 0;)
    add(record.extents[record.order[d]], strides[record.order[d]]);
  if (rank && units.dims[0].stride == 1) {
    uint64_t common = units.dims[0].extent | stored | kMostUnitBytes;
    for (unsigned d = 1; d < rank; ++d)
      common |= units.dims[d].stride;
    units.bytes = unsigned(common & -common);
    units.count /= units.bytes;
    units.dims[0].extent /= units.bytes;
    for (unsigned d = 1; d < rank; ++d)
      units.dims[d].stride /= units.bytes;
    if (units.dims[0].extent == 1)
      std::copy(units.dims + 1, units.dims + rank--, units.dims);
  }
  std::fill(units.dims + rank, units.dims + OrderedUnits::kMostDims, OrderedUnits::Dim{1, 0});
  return units;
}

static std::string makeKernel(unsigned bytes) {
  const std::string size = std::to_string(bytes), type = ".b" + std::to_string(bytes * 8);
  std::string text = ".visible .entry order" + size +
                     "(.param .u64 from, .param .u64 to, .param .u64 count, .param .align 8 .b8 dims[" +
                     std::to_string(sizeof(OrderedUnits::dims)) +
                     "])\n{\n"
                     "  .reg .pred %p;\n  .reg .b32 %cta, %threads, %thread;\n"
                     "  .reg .b64 %unit, %count, %rest, %index, %extent, %stride, %next, %place, %from, %to;\n  .reg ";
  text += (bytes == 1 ? ".b16" : type) +
          " %value;\n"
          "  mov.u32 %cta, %ctaid.x;\n  mov.u32 %threads, %ntid.x;\n  mov.u32 %thread, %tid.x;\n"
          "  cvt.u64.u32 %unit, %thread;\n  mad.wide.u32 %unit, %cta, %threads, %unit;\n"
          "  ld.param.u64 %count, [count];\n  setp.ge.u64 %p, %unit, %count;\n  @%p bra END;\n"
          "  mov.u64 %rest, %unit;\n  mov.u64 %index, 0;\n";
  for (unsigned d = 0; d < OrderedUnits::kMostDims; ++d) {
    const std::string offset = std::to_string(d * sizeof(OrderedUnits::Dim));
    text += "  ld.param.u64 %extent, [dims+" + offset + "];\n  ld.param.u64 %stride, [dims+" + offset +
            "+8];\n  div.u64 %next, %rest, %extent;\n  mul.lo.u64 %place, %next, %extent;\n"
            "  sub.u64 %place, %rest, %place;\n  mad.lo.u64 %index, %place, %stride, %index;\n"
            "  mov.u64 %rest, %next;\n  setp.eq.u64 %p, %rest, 0;\n  @%p bra MOVE;\n";
  }
  text += "MOVE:\n  ld.param.u64 %from, [from];\n  ld.param.u64 %to, [to];\n"
          "  mad.lo.u64 %from, %index, " +
          size + ", %from;\n  mad.lo.u64 %to, %unit, " + size + ", %to;\n  ld.global" + type +
          " %value, [%from];\n  st.global" + type + " [%to], %value;\nEND:\n  ret;\n}\n";
  return text;
}

std::string cuda::makeOrderPtx() {
  std::string text = ".version 7.0\n.target sm_80\n.address_size 64\n";
  for (unsigned bytes = 1; bytes <= kMostUnitBytes; bytes *= 2)
    text += makeKernel(bytes);
  return text;
}

CudaOrder::~CudaOrder() {
  if (module)
    (void)driver.moduleUnload(module);
}

Error CudaOrder::start(const WeightOrderRecord &record, Address stored, Address seen, Handle stream) {
  OrderedUnits units = findUnits(record, stored);
  if (units.count == 0)
    return {};
  if (!module)
    if (Error error = driver.check(driver.moduleLoadDataEx(&module, makeOrderPtx().c_str(), 0, nullptr, nullptr),
                                   "cuModuleLoadDataEx"))
      return error;
  Handle function = nullptr;
  const std::string name = "order" + std::to_string(units.bytes);
  if (Error error = driver.check(driver.moduleGetFunction(&function, module, name.c_str()), "cuModuleGetFunction"))
    return error;
  LaunchConfig config = {};
  config.grid[0] = unsigned((units.count + kThreads - 1) / kThreads);
  config.grid[1] = config.grid[2] = config.block[1] = config.block[2] = 1;
  config.block[0] = kThreads;
  config.stream = stream;
  void *parameters[] = {&stored, &seen, &units.count, units.dims};
  return driver.check(driver.launchKernelEx(&config, function, parameters, nullptr), "cuLaunchKernelEx");
}

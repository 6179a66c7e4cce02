// tensormap.replace and cp_fenceproxy.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Edits of tensor maps in memory. A field is written unchecked, as between two edits a map need not make sense; the
// copy that uses the map checks it.
#include "Emulator/Async/AddressOperand.h"
#include "Emulator/Async/TensorMapMemory.h"

using namespace weft;
using namespace weft::emu;

namespace {

enum class Field : uint8_t {
  GlobalAddress,
  Rank,
  BoxDim,
  GlobalDim,
  GlobalStride,
  ElementStride,
  ElementType,
  Interleave,
  Swizzle,
  Fill,
};

struct ReplacePayload {
  AddressOperand map;
  Field field = Field::Rank;
  uint8_t index = 0; ///< Of the dimension.
  uint8_t value = 0; ///< Slot, or the constant itself for the last four fields.
  bool isWide = false;
};

/// The elemtype numbers of PTX, which are not the driver's.
constexpr TensorMapType kElementTypes[] = {
    TensorMapType::UInt8,       TensorMapType::UInt16,  TensorMapType::UInt32,   TensorMapType::Int32,
    TensorMapType::UInt64,      TensorMapType::Int64,   TensorMapType::Float16,  TensorMapType::Float32,
    TensorMapType::Float32Ftz,  TensorMapType::Float64, TensorMapType::BFloat16, TensorMapType::TFloat32,
    TensorMapType::TFloat32Ftz,
};

void replace(const ReplacePayload &payload, TensorMapSpec &map, uint64_t value) {
  switch (payload.field) {
  case Field::GlobalAddress:
    map.globalAddress = value;
    break;
  case Field::Rank: // Counted from zero.
    map.rank = uint32_t(value < kMaxTensorMapRank ? value + 1 : 0);
    break;
  case Field::BoxDim:
    map.boxDim[payload.index] = uint32_t(value <= 0xffff ? value : 0);
    break;
  case Field::GlobalDim:
    map.globalDim[payload.index] = value ? value : uint64_t(1) << 32;
    break;
  case Field::GlobalStride:
    map.globalStrides[payload.index] = value;
    break;
  case Field::ElementStride:
    map.elementStrides[payload.index] = uint32_t(value <= 0xff ? value : 0);
    break;
  case Field::ElementType:
    map.type = kElementTypes[payload.value];
    break;
  case Field::Interleave:
    map.interleave = TensorMapInterleave(payload.value);
    break;
  case Field::Swizzle:
    map.swizzle = TensorMapSwizzle(payload.value);
    break;
  case Field::Fill:
    map.fill = TensorMapFill(payload.value);
    break;
  }
}

Outcome runReplace(Warp &warp, const Step &step, LaneMask mask) {
  const auto &payload = *static_cast<const ReplacePayload *>(step.payload);
  for (; mask; mask &= mask - 1) {
    unsigned lane = unsigned(__builtin_ctz(mask));
    uint64_t address = payload.map.at(warp, step, lane), value = 0;
    if (payload.field < Field::ElementType)
      value = payload.isWide ? warp.lanes<uint64_t>(step.slots[payload.value])[lane]
                             : warp.lanes<uint32_t>(step.slots[payload.value])[lane];
    uint8_t bytes[kTensorMapBytes];
    if (!readMapBytes(warp, step, lane, payload.map.space, address, 16, bytes))
      return Outcome::Fault;
    TensorMapSpec map;
    if (Error error = unpackTensorMap(bytes, map))
      return warp.machine->fault(warp, step, lane, "%s", error.getMessage().c_str());
    replace(payload, map, value);
    packTensorMap(map, bytes);
    if (!writeMapBytes(warp, step, lane, payload.map.space, address, 16, bytes))
      return Outcome::Fault;
  }
  return Outcome::Next;
}

struct CopyPayload {
  AddressOperand target, source;
};

Outcome runCopyFence(Warp &warp, const Step &step, LaneMask mask) {
  Outcome outcome = Outcome::Next;
  if (!warp.converged(step, kAllLanes, outcome))
    return outcome;
  const auto &payload = *static_cast<const CopyPayload *>(step.payload);
  unsigned lane = unsigned(__builtin_ctz(mask));
  uint8_t bytes[kTensorMapBytes];
  if (!readMapBytes(warp, step, lane, MemorySpace::Shared, payload.source.at(warp, step, lane), 16, bytes) ||
      !writeMapBytes(warp, step, lane, MemorySpace::Global, payload.target.at(warp, step, lane), 16, bytes))
    return Outcome::Fault;
  FenceEvent event = {&warp, &step, mask, FenceKind::ProxyTensorMap, Order::Release, Scope::Gpu};
  warp.machine->observe([&](Observer &observer) { observer.fenced(event); });
  return Outcome::Next;
}

void bindReplace(Binder &b) {
  ReplacePayload &payload = *b.payload<ReplacePayload>();
  b.expect("tile");
  b.requireSm(90, true);
  payload.field =
      Field(b.expectOneOf({"global_address", "rank", "box_dim", "global_dim", "global_stride", "element_stride",
                           "elemtype", "interleave_layout", "swizzle_mode", "fill_mode"}));
  MemorySpace space = MemorySpace::Generic;
  if (b.accept("global"))
    space = MemorySpace::Global;
  else if (b.accept("shared::cta"))
    space = MemorySpace::Shared;
  b.expect("b1024");
  payload.isWide = payload.field == Field::GlobalAddress || payload.field == Field::GlobalStride;
  b.expect(payload.isWide ? "b64" : "b32");
  bool hasIndex = payload.field >= Field::BoxDim && payload.field <= Field::ElementStride;
  b.operands(hasIndex ? 3 : 2);
  payload.map = bindAddress(b, b.operand(0), space);
  if (hasIndex)
    payload.index = uint8_t(b.constant(1, 0, payload.field == Field::GlobalStride ? 3 : 4));
  unsigned last = hasIndex ? 2 : 1;
  if (payload.field >= Field::ElementType) {
    static const uint8_t largest[] = {12, 2, 3, 1};
    payload.value = uint8_t(b.constant(last, 0, largest[unsigned(payload.field) - unsigned(Field::ElementType)]));
  } else {
    payload.value = uint8_t(b.use(last, payload.isWide ? Type::B64 : Type::B32));
  }
  b.run(runReplace);
}

/// tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned [to], [from], 128;
void bindCopyFence(Binder &b) {
  CopyPayload &payload = *b.payload<CopyPayload>();
  b.expect("global");
  b.expect("shared::cta");
  b.expect("tensormap::generic");
  b.expect("release");
  b.expectOneOf({"cta", "cluster", "gpu", "sys"});
  b.expect("sync");
  b.expect("aligned");
  b.requireSm(90);
  b.operands(3);
  payload.target = bindAddress(b, b.operand(0), MemorySpace::Global);
  payload.source = bindAddress(b, b.operand(1), MemorySpace::Shared);
  b.constant(2, 128, 128);
  b.run(runCopyFence);
}

constexpr FamilyRow kRows[] = {
    {"tensormap.replace", {}, bindReplace},
    {"tensormap.cp_fenceproxy", {}, bindCopyFence},
};

} // namespace

namespace weft::emu {
extern const Family kTensorMapEditFamily;
const Family kTensorMapEditFamily = {"tensormap", kRows, sizeof(kRows) / sizeof(kRows[0])};
} // namespace weft::emu

// mov, cvta, isspacep, mapa, getctarank.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies between registers, packing and unpacking, and arithmetic on addresses.
#include "Emulator/Exec/Binder.h"
#include "Emulator/Exec/Machine.h"
#include "Emulator/Exec/SpecialRegister.h"

#include <cstring>

using namespace weft;
using namespace weft::emu;
using ptx::OperandKind;

namespace weft::emu {
extern const Family kMoveFamily;
}

namespace {
struct Wide {
  uint64_t low, high;
};
} // namespace

void emu::computeAddresses(Warp &warp, const Step &step, const AddressRef &ref, LaneMask mask,
                           uint64_t (&addresses)[32]) {
  uint64_t offset = uint64_t(ref.offset);
  if (ref.hasRegister && ref.width == 8) {
    const uint64_t *base = warp.lanes<uint64_t>(step.slots[ref.slot]);
    forLanes(mask, [&](unsigned lane) { addresses[lane] = base[lane] + offset; });
    return;
  }
  if (ref.hasRegister) {
    const uint32_t *base = warp.lanes<uint32_t>(step.slots[ref.slot]);
    forLanes(mask, [&](unsigned lane) { addresses[lane] = uint32_t(base[lane] + uint32_t(offset)); });
    return;
  }
  if (ref.space == ptx::Space::Shared)
    offset += uint64_t(warp.cta->rank) << kSharedRankShift;
  else if (ref.space == ptx::Space::Local)
    offset += warp.activation().localBase;
  forLanes(mask, [&](unsigned lane) { addresses[lane] = offset; });
}

//===--------------------------------------------------------------------------------------------------------------===//
// mov
//===--------------------------------------------------------------------------------------------------------------===//

template <typename T> static Outcome runMove(Warp &warp, const Step &step, LaneMask mask) {
  T *target = warp.lanes<T>(step.slots[0]);
  const T *source = warp.lanes<T>(step.slots[1]);
  forLanes(mask, [&](unsigned lane) { target[lane] = source[lane]; });
  return Outcome::Next;
}

static Outcome runMovePredicate(Warp &warp, const Step &step, LaneMask mask) {
  LaneMask value = warp.predicate(step.slots[1]);
  warp.setPredicate(step.slots[0], mask, step.immediate ? ~value : value);
  return Outcome::Next;
}

static RunFunction moveOf(unsigned bytes) {
  switch (bytes) {
  case 1:
    return runMove<uint8_t>;
  case 2:
    return runMove<uint16_t>;
  case 4:
    return runMove<uint32_t>;
  case 8:
    return runMove<uint64_t>;
  case 16:
    return runMove<Wide>;
  default:
    return nullptr;
  }
}

/// Slot 0 is the whole; the parts follow, of (immediate & 0xff) bytes each. Bit 8: unpack.
static Outcome runPack(Warp &warp, const Step &step, LaneMask mask) {
  unsigned part = unsigned(step.immediate & 0xff), parts = step.slotCount - 1u, whole = part * parts;
  bool isUnpack = step.immediate >> 8 & 1;
  // The whole may be one of the parts: read everything, then write.
  alignas(64) std::byte values[32 * 16];
  if (isUnpack) {
    std::memcpy(values, warp.lanes<std::byte>(step.slots[0]), size_t(whole) * 32);
  } else {
    for (unsigned i = 0; i < parts; ++i) {
      const std::byte *source = warp.lanes<std::byte>(step.slots[i + 1]);
      for (unsigned lane = 0; lane < 32; ++lane)
        std::memcpy(values + lane * whole + i * part, source + lane * part, part);
    }
    std::byte *target = warp.lanes<std::byte>(step.slots[0]);
    forLanes(mask, [&](unsigned lane) { std::memcpy(target + lane * whole, values + lane * whole, whole); });
    return Outcome::Next;
  }
  for (unsigned i = 0; i < parts; ++i) {
    if (step.slots[i + 1] == kNoSlot)
      continue;
    std::byte *target = warp.lanes<std::byte>(step.slots[i + 1]);
    forLanes(mask, [&](unsigned lane) { std::memcpy(target + lane * part, values + lane * whole + i * part, part); });
  }
  return Outcome::Next;
}

static void bindPack(Binder &b, Type type, bool isUnpack) {
  const ptx::Operand &vector = b.operand(isUnpack ? 0 : 1);
  ptx::Span<ptx::Operand> parts = b.children(vector);
  unsigned bytes = ptx::bitWidth(type) / 8, count = unsigned(parts.size());
  if (ptx::typeClass(type) != ptx::TypeClass::Bits || (count != 2 && count != 4) || bytes / count == 0)
    return b.fail("expected a type .b16 to .b128 and a vector of 2 or 4 elements, got %u elements", count);
  Type part = bytes / count == 1   ? Type::B8
              : bytes / count == 2 ? Type::B16
              : bytes / count == 4 ? Type::B32
                                   : Type::B64;
  isUnpack ? b.use(1, type) : b.def(0, type);
  for (const ptx::Operand &element : parts)
    isUnpack ? b.defOrSink(element, part) : b.use(element, part);
  b.immediate(ptx::bitWidth(part) / 8 | unsigned(isUnpack) << 8);
  b.flag(step_flag::Parts);
  b.run(runPack);
}

static void bindMov(Binder &b) {
  Type type =
      b.type({Type::Pred, Type::B16, Type::B32, Type::B64, Type::B128, Type::U16, Type::U32, Type::U64, Type::S16,
              Type::S32, Type::S64, Type::F16, Type::BF16, Type::F16x2, Type::BF16x2, Type::F32, Type::F64});
  b.operands(2);
  if (b.isVector(0) || b.isVector(1))
    return bindPack(b, type, b.isVector(0));
  b.def(0, type);
  if (type == Type::Pred) {
    bool isNegated = false;
    b.usePredicate(b.operand(1), isNegated);
    b.immediate(isNegated);
    return b.run(runMovePredicate);
  }
  if (b.operand(1).kind == OperandKind::Special) { // Directly, without a temporary.
    uint64_t immediate = 0;
    if (RunFunction reader = specialReader(b.operand(1), ptx::bitWidth(type) / 8, immediate)) {
      b.immediate(immediate);
      return b.run(reader);
    }
  }
  b.use(1, type);
  b.run(moveOf(ptx::bitWidth(type) / 8));
}

//===--------------------------------------------------------------------------------------------------------------===//
// Address spaces
//===--------------------------------------------------------------------------------------------------------------===//

static uint64_t windowOf(unsigned space) {
  static const uint64_t windows[] = {
      0, 0, kSharedWindow, kSharedWindow, kSharedWindow, kLocalWindow, kParamWindow, kParamWindow};
  return windows[space];
}

static unsigned expectSpace(Binder &b) {
  return b.expectOneOf(
      {"global", "const", "shared", "shared::cta", "shared::cluster", "local", "param", "param::entry"});
}

static Outcome runAdd(Warp &warp, const Step &step, LaneMask mask) {
  uint64_t *target = warp.lanes<uint64_t>(step.slots[0]);
  const uint64_t *source = warp.lanes<uint64_t>(step.slots[1]);
  forLanes(mask, [&](unsigned lane) { target[lane] = source[lane] + step.immediate; });
  return Outcome::Next;
}

static void bindCvta(Binder &b) {
  bool isTo = b.accept("to");
  uint64_t window = windowOf(expectSpace(b));
  Type type = b.type({Type::U64, Type::U32});
  if (type != Type::U64)
    return b.fail("expected .u64: addresses have 64 bits");
  b.operands(2);
  b.def(0, type);
  b.use(1, type);
  b.immediate(isTo ? 0 - window : window);
  b.run(runAdd);
}

static Outcome runIsSpace(Warp &warp, const Step &step, LaneMask mask) {
  const uint64_t *address = warp.lanes<uint64_t>(step.slots[1]);
  const GlobalMemory &global = warp.machine->global;
  LaneMask value = 0;
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    uint64_t window = windowOf(unsigned(step.immediate));
    bool isIn = window && address[lane] >= window && address[lane] < window + kWindowBytes;
    if (!window) {
      const Allocation *found = address[lane] >= kGlobalBase ? global.find(address[lane], 1) : nullptr;
      bool isConst = found && found->isConst;
      isIn = step.immediate == 1 ? isConst : address[lane] >= kGlobalBase && !isConst;
    } else if (step.immediate == 2 || step.immediate == 3) {
      isIn &= (address[lane] - window) >> kSharedRankShift == warp.cta->rank;
    }
    value |= LaneMask(isIn) << lane;
  }
  warp.setPredicate(step.slots[0], mask, value);
  return Outcome::Next;
}

static void bindIsspacep(Binder &b) {
  b.immediate(expectSpace(b));
  b.operands(2);
  b.def(0, Type::Pred);
  b.use(1, Type::U64);
  b.run(runIsSpace);
}

/// Immediate: the window that the address is in.
template <typename T> static Outcome runMapa(Warp &warp, const Step &step, LaneMask mask) {
  T *target = warp.lanes<T>(step.slots[0]);
  const T *source = warp.lanes<T>(step.slots[1]);
  const uint32_t *rank = warp.lanes<uint32_t>(step.slots[2]);
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    uint64_t address = uint64_t(source[lane]) - step.immediate;
    if (rank[lane] >= warp.cta->cluster->ctas.size())
      return warp.machine->fault(warp, step, lane, "the cluster has %zu ctas, none of rank %u",
                                 warp.cta->cluster->ctas.size(), rank[lane]);
    if (address >> 32)
      return warp.machine->fault(warp, step, lane, "0x%llx is no address in shared memory",
                                 (unsigned long long)source[lane]);
    target[lane] = T((address & kSharedOffsetMask) + (uint64_t(rank[lane]) << kSharedRankShift) + step.immediate);
  }
  return Outcome::Next;
}

static void bindMapa(Binder &b) {
  b.requireSm(90);
  bool isShared = b.accept("shared::cluster");
  Type type = b.type({Type::U32, Type::U64});
  if (!isShared && type != Type::U64)
    return b.fail("expected .u64 for a generic address");
  b.operands(3);
  b.def(0, type);
  b.use(1, type);
  b.use(2, Type::B32);
  b.immediate(isShared ? 0 : kSharedWindow);
  b.run(type == Type::U32 ? runMapa<uint32_t> : runMapa<uint64_t>);
}

template <typename T> static Outcome runGetCtaRank(Warp &warp, const Step &step, LaneMask mask) {
  uint32_t *target = warp.lanes<uint32_t>(step.slots[0]);
  const T *source = warp.lanes<T>(step.slots[1]);
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    uint64_t address = uint64_t(source[lane]) - step.immediate;
    if (address >> 32)
      return warp.machine->fault(warp, step, lane, "0x%llx is no address in shared memory",
                                 (unsigned long long)source[lane]);
    target[lane] = uint32_t(address >> kSharedRankShift);
  }
  return Outcome::Next;
}

static void bindGetctarank(Binder &b) {
  b.requireSm(90);
  bool isShared = b.accept("shared::cluster");
  Type type = b.type({Type::U32, Type::U64});
  if (!isShared && type != Type::U64)
    return b.fail("expected .u64 for a generic address");
  b.operands(2);
  b.def(0, Type::B32);
  b.use(1, type);
  b.immediate(isShared ? 0 : kSharedWindow);
  b.run(type == Type::U32 ? runGetCtaRank<uint32_t> : runGetCtaRank<uint64_t>);
}

static const FamilyRow kRows[] = {
    {"cvta", {}, bindCvta}, {"getctarank", {}, bindGetctarank}, {"isspacep", {}, bindIsspacep}, {"mapa", {}, bindMapa},
    {"mov", {}, bindMov},
};
const Family emu::kMoveFamily = {"move", kRows, sizeof kRows / sizeof *kRows};

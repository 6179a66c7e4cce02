// ld, ldu, st, prefetches and cache policies.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One access per instruction and state space: the lanes of a generic access are sorted by the window of their address.
#include "Emulator/Ops/MemoryAccess.h"
#include "Emulator/Ops/MemoryQualifiers.h"

#include <cstring>

using namespace weft;
using namespace weft::emu;

namespace weft::emu {
extern const Family kLoadStoreFamily;
}

namespace {
struct MemoryPayload {
  AddressRef address;
  MemorySpace space;
  Order order;
  Scope scope;
  CacheHints cache;
  uint8_t elements = 1;
  uint8_t elementBytes = 4;
  bool isSigned = false;
  uint8_t firstRegister = 0;     ///< Index in Step::slots of element 0.
  uint8_t registerBytes[8] = {}; ///< Per element.
};
} // namespace

//===--------------------------------------------------------------------------------------------------------------===//
// Modifiers
//===--------------------------------------------------------------------------------------------------------------===//

Scope emu::acceptScope(Binder &b) {
  static const Scope scopes[] = {Scope::Cta, Scope::Cluster, Scope::Gpu, Scope::Sys};
  int index = b.acceptOneOf({"cta", "cluster", "gpu", "sys"});
  if (index == 1)
    b.requireSm(90);
  return index < 0 ? Scope::None : scopes[index];
}

static bool acceptOrder(Binder &b, MemoryQualifiers &q) {
  static const Order orders[] = {Order::Weak,    Order::Volatile, Order::Relaxed,
                                 Order::Acquire, Order::Release,  Order::AcquireRelease};
  int index = b.acceptOneOf({"weak", "volatile", "relaxed", "acquire", "release", "acq_rel"});
  if (index >= 0) {
    if (q.order != Order::Mmio)
      q.order = orders[index];
    return true;
  }
  if (b.accept("mmio")) {
    q.order = Order::Mmio;
    return true;
  }
  Scope scope = acceptScope(b);
  if (scope != Scope::None)
    q.scope = scope;
  return scope != Scope::None;
}

static bool acceptCache(Binder &b, CacheHints &cache) {
  int index = b.acceptOneOf({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
  if (index >= 0) {
    cache.op = CacheHints::Operator(CacheHints::Ca + index);
    return true;
  }
  index = b.acceptOneOf(
      {"L1::evict_first", "L1::evict_last", "L1::evict_unchanged", "L1::no_allocate", "L1::evict_normal"});
  if (index >= 0) {
    cache.l1 = CacheHints::Eviction(CacheHints::First + index);
    return true;
  }
  index = b.acceptOneOf({"L2::evict_first", "L2::evict_last", "L2::evict_normal"});
  if (index >= 0) {
    cache.l2 = index == 2 ? CacheHints::Normal : CacheHints::Eviction(CacheHints::First + index);
    return true;
  }
  index = b.acceptOneOf({"L2::64B", "L2::128B", "L2::256B"});
  if (index >= 0) {
    cache.prefetchBytes = uint16_t(64u << index);
    return true;
  }
  if (b.accept("L2::cache_hint")) {
    cache.hasPolicy = true;
    return true;
  }
  if (b.accept("nc")) {
    cache.isNonCoherent = true;
    return true;
  }
  return false;
}

static bool acceptSpace(Binder &b, MemorySpace &space) {
  static const MemorySpace spaces[] = {MemorySpace::Global, MemorySpace::Const,         MemorySpace::Shared,
                                       MemorySpace::Shared, MemorySpace::SharedCluster, MemorySpace::Local,
                                       MemorySpace::Param,  MemorySpace::Param,         MemorySpace::Param};
  int index = b.acceptOneOf(
      {"global", "const", "shared", "shared::cta", "shared::cluster", "local", "param", "param::entry", "param::func"});
  if (index < 0)
    return false;
  if (index == 4)
    b.requireSm(90);
  if (space != MemorySpace::Generic)
    b.fail("a second state space");
  space = spaces[index];
  return true;
}

void emu::acceptQualifiers(Binder &b, MemoryQualifiers &q) {
  while (acceptOrder(b, q) || acceptSpace(b, q.space) || acceptCache(b, q.cache)) {
  }
}

MemoryQualifiers emu::parseQualifiers(Binder &b) {
  MemoryQualifiers q;
  acceptQualifiers(b, q);
  bool needsScope = q.order == Order::Relaxed || q.order == Order::Acquire || q.order == Order::Release ||
                    q.order == Order::AcquireRelease || q.order == Order::Mmio;
  if (needsScope && q.scope == Scope::None)
    b.fail("expected a scope (.cta, .cluster, .gpu or .sys)");
  if (!needsScope && q.scope != Scope::None)
    b.fail("a scope without .relaxed, .acquire or .release");
  return q;
}

AddressRef emu::bindSpaceAddress(Binder &b, unsigned operand, MemorySpace space) {
  AddressRef ref = b.address(operand);
  if (!ref.isSymbol)
    return ref;
  bool isShared = space == MemorySpace::Shared || space == MemorySpace::SharedCluster;
  bool fits = false;
  switch (ref.space) {
  case ptx::Space::Global:
    fits = space == MemorySpace::Global || space == MemorySpace::Generic;
    break;
  case ptx::Space::Const:
    fits = space == MemorySpace::Const || space == MemorySpace::Generic;
    break;
  case ptx::Space::Shared:
    fits = isShared;
    break;
  case ptx::Space::Local:
    fits = space == MemorySpace::Local;
    break;
  case ptx::Space::Param:
    fits = space == MemorySpace::Param;
    break;
  case ptx::Space::Reg:
    break;
  }
  if (!fits)
    b.fail("the variable in the brackets is in state space .%s", std::string(ptx::name(ref.space)).c_str());
  return ref;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Execution
//===--------------------------------------------------------------------------------------------------------------===//

template <typename From, typename To>
static void loadLanes(const Access &access, unsigned offset, std::byte *registers) {
  To *target = reinterpret_cast<To *>(registers);
  forLanes(access.mask, [&](unsigned lane) {
    From value;
    std::memcpy(&value, access.host[lane] + offset, sizeof value);
    target[lane] = To(value);
  });
}

static void loadBytes(const Access &access, unsigned offset, std::byte *registers, unsigned from, unsigned to,
                      bool isSigned) {
  forLanes(access.mask, [&](unsigned lane) {
    uint64_t value = 0;
    std::memcpy(&value, access.host[lane] + offset, from);
    if (isSigned)
      value = uint64_t(int64_t(value << (64 - 8 * from)) >> (64 - 8 * from));
    std::memcpy(registers + size_t(lane) * to, &value, to);
  });
}

static void loadElement(Warp &warp, const Step &step, const Access &access, const MemoryPayload &payload, unsigned i) {
  Slot slot = step.slots[payload.firstRegister + i];
  if (slot == kNoSlot)
    return;
  std::byte *registers = warp.lanes<std::byte>(slot);
  unsigned from = payload.elementBytes, to = payload.registerBytes[i], offset = i * from;
  if (from == 4 && to == 4)
    return loadLanes<uint32_t, uint32_t>(access, offset, registers);
  if (from == 8 && to == 8)
    return loadLanes<uint64_t, uint64_t>(access, offset, registers);
  if (from == 2 && to == 2)
    return loadLanes<uint16_t, uint16_t>(access, offset, registers);
  if (from == 16) {
    forLanes(access.mask,
             [&](unsigned lane) { std::memcpy(registers + size_t(lane) * 16, access.host[lane] + offset, 16); });
    return;
  }
  loadBytes(access, offset, registers, from, to, payload.isSigned);
}

static void storeElement(Warp &warp, const Step &step, const Access &access, const MemoryPayload &payload, unsigned i) {
  const std::byte *registers = warp.lanes<std::byte>(step.slots[payload.firstRegister + i]);
  unsigned bytes = payload.elementBytes, stride = payload.registerBytes[i], offset = i * bytes;
  if (bytes == 4) {
    forLanes(access.mask,
             [&](unsigned lane) { std::memcpy(access.host[lane] + offset, registers + size_t(lane) * stride, 4); });
    return;
  }
  forLanes(access.mask,
           [&](unsigned lane) { std::memcpy(access.host[lane] + offset, registers + size_t(lane) * stride, bytes); });
}

template <bool isStore> static Outcome runAccess(Warp &warp, const Step &step, LaneMask mask) {
  const MemoryPayload &payload = *static_cast<const MemoryPayload *>(step.payload);
  return accessMemory(isStore ? AccessKind::Store : AccessKind::Load, warp, step, mask, payload, [&](Access &access) {
    for (unsigned i = 0; i < payload.elements; ++i)
      isStore ? storeElement(warp, step, access, payload, i) : loadElement(warp, step, access, payload, i);
    if (isStore && (access.space == MemorySpace::Global || access.space == MemorySpace::Shared))
      warp.machine->progress();
  });
}

//===--------------------------------------------------------------------------------------------------------------===//
// Binding
//===--------------------------------------------------------------------------------------------------------------===//

static const TypeSet kTypes = {Type::B8,  Type::B16, Type::B32, Type::B64, Type::B128, Type::U8,  Type::U16, Type::U32,
                               Type::U64, Type::S8,  Type::S16, Type::S32, Type::S64,  Type::F32, Type::F64};

static void bindPolicy(Binder &b, const CacheHints &cache, unsigned operand) {
  b.operands(operand + unsigned(cache.hasPolicy));
  if (cache.hasPolicy)
    b.use(operand, Type::B64);
}

static void bindAccess(Binder &b, bool isStore) {
  MemoryQualifiers q = parseQualifiers(b);
  int vector = b.acceptOneOf({"v2", "v4", "v8"});
  Type type = b.type(kTypes);
  auto *payload = b.payload<MemoryPayload>();
  payload->space = q.space;
  payload->order = q.order;
  payload->scope = q.scope;
  payload->cache = q.cache;
  payload->elements = uint8_t(vector < 0 ? 1 : 2u << vector);
  payload->elementBytes = uint8_t(ptx::bitWidth(type) / 8);
  payload->isSigned = ptx::isSigned(type);
  unsigned bytes = unsigned(payload->elements) * payload->elementBytes;
  if (bytes > 32 || (payload->elements == 8 && payload->elementBytes != 4))
    return b.fail("a vector of %u bytes is too wide", bytes);
  if (bytes > 16)
    b.requireSm(100);
  bool isReadOnly = q.space == MemorySpace::Const || q.cache.isNonCoherent;
  if (isStore && isReadOnly)
    return b.fail("stores to read-only memory do not exist");
  if (isStore ? q.order == Order::Acquire : q.order == Order::Release)
    return b.fail("this order is for %s", isStore ? "loads" : "stores");
  if (q.cache.isNonCoherent && q.space != MemorySpace::Global)
    return b.fail(".nc is for .global");
  payload->address = bindSpaceAddress(b, isStore ? 0 : 1, q.space);
  bindPolicy(b, q.cache, 2);
  ptx::Span<ptx::Operand> elements = b.elements(isStore ? 1 : 0, payload->elements);
  for (unsigned i = 0; i < elements.size(); ++i) {
    unsigned width = 0;
    unsigned index = isStore ? b.useWide(elements[i], type, width) : b.defWide(elements[i], type, width);
    payload->registerBytes[i] = uint8_t(width);
    if (i == 0)
      payload->firstRegister = uint8_t(index);
  }
  b.run(isStore ? runAccess<true> : runAccess<false>);
}

static void bindLd(Binder &b) { bindAccess(b, false); }
static void bindSt(Binder &b) { bindAccess(b, true); }

//===--------------------------------------------------------------------------------------------------------------===//
// Hints: they are checked where the hardware would fault, and change nothing
//===--------------------------------------------------------------------------------------------------------------===//

static Outcome runHint(Warp &, const Step &, LaneMask) { return Outcome::Next; }

static void bindPrefetch(Binder &b) {
  MemorySpace space = MemorySpace::Generic;
  acceptSpace(b, space);
  if (!b.accept("tensormap"))
    b.expectOneOf({"L1", "L2", "L2::evict_last", "L2::evict_normal"});
  b.operands(1);
  bindSpaceAddress(b, 0, space);
  b.run(runHint);
}

static void bindPrefetchu(Binder &b) {
  b.expect("L1");
  b.operands(1);
  b.address(0);
  b.run(runHint);
}

/// discard.L2 and applypriority: 128 bytes that must exist.
static Outcome runLine(Warp &warp, const Step &step, LaneMask mask) {
  const MemoryPayload &payload = *static_cast<const MemoryPayload *>(step.payload);
  uint64_t addresses[32];
  computeAddresses(warp, step, payload.address, mask, addresses);
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    if (addresses[lane] % 128)
      return warp.machine->fault(warp, step, lane, "address 0x%llx is no multiple of 128",
                                 (unsigned long long)addresses[lane]);
    if (!warp.machine->global.find(addresses[lane], 128))
      return warp.machine->fault(warp, step, lane, "128 bytes at global address 0x%llx are out of bounds: %s",
                                 (unsigned long long)addresses[lane],
                                 warp.machine->global.describe(addresses[lane]).c_str());
  }
  return Outcome::Next;
}

static void bindLine(Binder &b, std::string_view level) {
  b.accept("global");
  b.expect(level);
  b.operands(2);
  b.payload<MemoryPayload>()->address = b.address(0);
  b.constant(1, 128, 128);
  b.run(runLine);
}

static void bindDiscard(Binder &b) { bindLine(b, "L2"); }
static void bindApplypriority(Binder &b) { bindLine(b, "L2::evict_normal"); }

/// Policies are opaque; the counters look at CacheHints::hasPolicy alone.
static Outcome runPolicy(Warp &warp, const Step &step, LaneMask mask) {
  uint64_t *target = warp.lanes<uint64_t>(step.slots[0]);
  forLanes(mask, [&](unsigned lane) { target[lane] = step.immediate; });
  return Outcome::Next;
}

static void bindCreatepolicy(Binder &b) {
  unsigned kind = b.expectOneOf({"fractional", "range", "cvt"});
  if (kind == 1)
    b.accept("global");
  unsigned priority = 0;
  if (kind == 2) {
    b.expect("L2");
  } else {
    priority = b.expectOneOf({"L2::evict_last", "L2::evict_normal", "L2::evict_first", "L2::evict_unchanged"});
    b.acceptOneOf({"L2::evict_first", "L2::evict_unchanged"});
  }
  b.expect("b64");
  b.operands(kind == 0 ? 1 : kind == 1 ? 4 : 2, kind == 0 ? 2 : kind == 1 ? 4 : 2);
  b.def(0, Type::B64);
  if (kind == 0 && b.operandCount() == 2)
    b.use(1, Type::F32);
  if (kind == 1) {
    b.address(1);
    b.use(2, Type::B32);
    b.use(3, Type::B32);
  }
  if (kind == 2)
    b.use(1, Type::B64);
  b.immediate(0x1000000000000000ull | uint64_t(priority) << 32 | kind);
  b.run(runPolicy);
}

static const FamilyRow kRows[] = {
    {"applypriority", {}, bindApplypriority},
    {"createpolicy", {}, bindCreatepolicy},
    {"discard", {}, bindDiscard},
    {"ld", {}, bindLd},
    {"ldu", {}, bindLd},
    {"prefetch", {}, bindPrefetch},
    {"prefetchu", {}, bindPrefetchu},
    {"st", {}, bindSt},
};
const Family emu::kLoadStoreFamily = {"load and store", kRows, sizeof kRows / sizeof *kRows};

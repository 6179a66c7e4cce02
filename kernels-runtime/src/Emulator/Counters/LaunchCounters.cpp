// Counters of a launch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Events into sums. The names are in CounterReport.cpp.

#include "Emulator/Counters/LaunchCounters.h"

#include <algorithm>

using namespace weft::emu;

/// CTAs of the launch that an SM holds at once.
static uint32_t residency(const Machine &machine) {
  const Card &card = machine.card;
  uint32_t threads = std::max<uint32_t>(uint32_t(machine.spec.block.count()), 1);
  uint32_t sharedBytes = machine.entry.staticSharedBytes + machine.spec.dynamicSharedBytes + card.sharedReservedPerCta;
  uint32_t registers = std::max<uint32_t>((threads + 31) / 32 * 32 * machine.entry.registersPerThread, 1);
  uint32_t byThreads = card.threadsPerSm / threads;
  uint32_t most = std::min({byThreads, card.ctasPerSm, card.sharedPerSm / std::max<uint32_t>(sharedBytes, 1),
                            card.registersPerSm / registers});
  return std::max<uint32_t>(most, 1);
}

/// What the smallest carve-out that holds the resident CTAs leaves to L1.
static uint64_t l1BytesOf(const Machine &machine) {
  const Card &card = machine.card;
  uint32_t perCta = machine.entry.staticSharedBytes + machine.spec.dynamicSharedBytes;
  uint64_t needed = perCta == 0 ? 0 : uint64_t(residency(machine)) * (perCta + card.sharedReservedPerCta);
  for (uint32_t kilobytes : {0u, 8u, 16u, 32u, 64u, 100u, 132u, 164u, 196u, 228u})
    if (uint64_t(kilobytes) << 10 >= needed || (kilobytes << 10) >= card.sharedPerSm)
      return card.l1Bytes - std::min<uint64_t>(uint64_t(kilobytes) << 10, card.l1Bytes);
  return 0;
}

void LaunchCounters::launchBegins(Machine &machine) {
  MemoryModelConfig config;
  config.sms = machine.card.sms;
  config.l1Bytes = l1BytesOf(machine);
  config.l2Bytes = machine.card.l2Bytes;
  config.l2Partitions = machine.card.smVersion == 80 || machine.card.smVersion == 90 ? 2 : 1;
  memory = std::make_unique<MemoryModel>(config);
  size_t count = machine.module.opcodes.size();
  classes.resize(count);
  for (size_t i = 0; i < count; ++i)
    classes[i] = classify(machine.module.opcodes[i]);
  warpCounts.assign(count, 0);
  threadCounts.assign(count, 0);
}

void LaunchCounters::stepBegins(Warp &warp, const Step &step, LaneMask mask, bool isRepeated) {
  if ((step.flags & step_flag::Synthetic) || isRepeated)
    return;
  ++warpCounts[step.opcode];
  unsigned on = unsigned(__builtin_popcount(mask));
  threadCounts[step.opcode] += on;
  predicatedOff += unsigned(__builtin_popcount(warp.active())) - on;
}

static EvictionClass evictionOf(CacheHints::Eviction hint) {
  switch (hint) {
  case CacheHints::First:
    return EvictionClass::First;
  case CacheHints::Last:
    return EvictionClass::Last;
  case CacheHints::NoAllocate:
    return EvictionClass::NoAllocate;
  case CacheHints::Default:
  case CacheHints::Unchanged:
  case CacheHints::Normal:
    break;
  }
  return EvictionClass::Normal;
}

/// Whether a load looks into L1: weak ones do, unless .cg or .cv says otherwise.
static bool usesL1(const Access &access) {
  return access.order == Order::Weak && access.cache.op != CacheHints::Cg && access.cache.op != CacheHints::Cv;
}

void LaunchCounters::global(const Access &access, const OpcodeClass &kind) {
  TouchedSectors touched = touchedSectors(access.addresses, access.mask, access.bytes);
  GlobalOp op = GlobalOp::Load;
  MemoryRow row = access.async ? Copy : Load;
  if (access.kind == AccessKind::Store) {
    op = GlobalOp::Store;
    row = Store;
  } else if (access.kind == AccessKind::Atomic) {
    bool isReduction = kind.kind == OpcodeClass::Reduction;
    op = isReduction ? GlobalOp::Reduction : GlobalOp::Atomic;
    row = isReduction ? Red : Atom;
  }
  ++rows[row].instructions;
  rows[row].sectors += access.kind == AccessKind::Atomic ? touched.passes : touched.count;
  rows[row].bytes += uint64_t(__builtin_popcount(access.mask)) * access.bytes;
  lines += touched.lines;
  EvictionClass l2 = access.cache.op == CacheHints::Cs ? EvictionClass::First : evictionOf(access.cache.l2);
  memory->access(op, access.warp->cta->sm, touched, usesL1(access), evictionOf(access.cache.l1), l2);
}

/// Bulk copies and the like: lanes that follow one another are one range.
void LaunchCounters::bulk(const Access &access) {
  bool isRead = access.kind == AccessKind::AsyncRead;
  bool isReduction = access.kind == AccessKind::Atomic;
  GlobalOp op = isRead ? GlobalOp::Load : isReduction ? GlobalOp::Reduction : GlobalOp::Store;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!(access.mask >> lane & 1))
      continue;
    uint64_t first = access.addresses[lane];
    uint64_t bytes = access.bytes;
    while (lane + 1 < 32 && (access.mask >> (lane + 1) & 1) && access.addresses[lane + 1] == first + bytes) {
      bytes += access.bytes;
      ++lane;
    }
    (isRead ? bulkRead : isReduction ? bulkReduced : bulkWritten) += bytes;
    memory->range(op, access.warp->cta->sm, first, bytes, evictionOf(access.cache.l2));
  }
}

void LaunchCounters::shared(const Access &access, const OpcodeClass &kind) {
  uint64_t bytes = uint64_t(__builtin_popcount(access.mask)) * access.bytes;
  if (access.async && access.async->kind != AsyncKind::CopyAsync) {
    wgmmaBytes += access.async->kind == AsyncKind::Wgmma ? bytes : 0;
    return;
  }
  if (kind.kind == OpcodeClass::Mbarrier)
    return;
  SharedAccess use = SharedAccess::Load;
  SharedRow row = SharedLoad;
  if (kind.kind == OpcodeClass::Ldmatrix || kind.kind == OpcodeClass::Stmatrix) {
    use = SharedAccess::Matrix;
    row = kind.kind == OpcodeClass::Ldmatrix ? SharedLdmatrix : SharedStmatrix;
  } else if (access.kind == AccessKind::Atomic) {
    use = SharedAccess::Atomic;
    row = SharedAtom;
  } else if (access.kind != AccessKind::Load) {
    use = SharedAccess::Store;
    row = access.async ? SharedCopy : SharedStore;
  }
  SharedCost cost = sharedCost(use, access.addresses, access.mask, access.bytes);
  ++sharedRows[row].instructions;
  sharedRows[row].wavefronts += cost.wavefronts;
  sharedRows[row].conflicts += cost.conflicts;
  sharedRows[row].bytes += bytes;
}

/// Local memory interleaves the threads of a warp by words: lanes at one offset are 128 consecutive bytes per word.
void LaunchCounters::local(const Access &access) {
  uint64_t addresses[32];
  unsigned words = access.bytes > 4 ? access.bytes / 4 : 1;
  Memory &row = rows[access.kind == AccessKind::Load ? LocalLoad : LocalStore];
  ++row.instructions;
  row.bytes += uint64_t(__builtin_popcount(access.mask)) * access.bytes;
  for (unsigned word = 0; word < words; ++word) {
    for (LaneMask rest = access.mask; rest; rest &= rest - 1) {
      unsigned lane = unsigned(__builtin_ctz(rest));
      uint64_t offset = access.addresses[lane] + word * 4;
      addresses[lane] = offset / 4 * 128 + lane * 4 + offset % 4;
    }
    row.sectors += touchedSectors(addresses, access.mask, std::min(access.bytes, 4u)).count;
  }
}

void LaunchCounters::accessed(const Access &access) {
  const OpcodeClass &kind = classes[access.step->opcode];
  switch (access.space) {
  case MemorySpace::Global:
    if (access.async && access.async->kind != AsyncKind::CopyAsync)
      return bulk(access);
    return global(access, kind);
  case MemorySpace::Shared:
    return shared(access, kind);
  case MemorySpace::Local:
    return local(access);
  case MemorySpace::Generic:
  case MemorySpace::Const:
  case MemorySpace::SharedCluster:
  case MemorySpace::Param:
    return;
  }
}

/// An acquire beyond the CTA makes L1 forget what others may have changed.
void LaunchCounters::fenced(const FenceEvent &event) {
  if (event.kind == FenceKind::Thread && (event.scope == Scope::Gpu || event.scope == Scope::Sys) &&
      event.order != Order::Release)
    memory->invalidateL1(event.warp->cta->sm);
}

void LaunchCounters::arrived(const BarrierEvent &event) { barriers += !event.isCluster; }

void LaunchCounters::launchEnds(Machine &machine) {
  if (!memory)
    return;
  emitInstructions(machine);
  emitMemory(machine);
  emitShared(machine);
}

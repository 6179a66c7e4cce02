// One memory access of a warp, or of an asynchronous operation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every access is first resolved and checked (Machine::resolve), then shown to the observers, then performed through
// `host`. A generic access whose lanes point into several spaces is several records.
#ifndef WEFT_EMULATOR_EXEC_ACCESS_H
#define WEFT_EMULATOR_EXEC_ACCESS_H

#include "Emulator/Exec/Program.h"

#include <cstddef>
#include <cstdint>

namespace weft::emu {

class Cta;
class AsyncOp;

/// Windows of the generic address space. Global allocations (and .const variables, whose addresses are generic in every
/// use) lie from kGlobalBase on. A shared address is 32 bits: the CTA's rank in its cluster in bits 24 and up, the
/// offset below, also for the CTA's own memory (so shared::cta and shared::cluster addresses agree).
constexpr uint64_t kSharedWindow = uint64_t(1) << 40;
constexpr uint64_t kLocalWindow = uint64_t(2) << 40;
constexpr uint64_t kParamWindow = uint64_t(3) << 40;
constexpr uint64_t kWindowBytes = uint64_t(1) << 32;
constexpr uint64_t kGlobalBase = uint64_t(0x7e) << 40;
constexpr unsigned kSharedRankShift = 24;
constexpr uint32_t kSharedOffsetMask = (1u << kSharedRankShift) - 1;
/// In an address in Param: the activation's parameter block, not the launch's parameter buffer. The address of a device
/// function's parameter, taken with mov, is one in Local with this bit: it stays good in functions that are called, so
/// it has the depth of its activation, plus one, above the offset in the block (none: the current activation).
constexpr uint32_t kParamBlockBit = 0x80000000u;
constexpr unsigned kParamDepthShift = 20;

enum class MemorySpace : uint8_t { Generic, Global, Const, Shared, SharedCluster, Local, Param };

enum class AccessKind : uint8_t { Load, Store, Atomic, AsyncRead, AsyncWrite };

enum class Order : uint8_t { Weak, Volatile, Mmio, Relaxed, Acquire, Release, AcquireRelease, SequentiallyConsistent };
enum class Scope : uint8_t { None, Cta, Cluster, Gpu, Sys };

struct CacheHints {
  enum Operator : uint8_t { None, Ca, Cg, Cs, Lu, Cv, Wb, Wt };
  enum Eviction : uint8_t { Default, First, Last, Unchanged, NoAllocate, Normal };
  Operator op = None;
  Eviction l1 = Default, l2 = Default;
  uint16_t prefetchBytes = 0; ///< L2::64B, L2::128B, L2::256B
  bool isNonCoherent = false; ///< .nc, ldu
  bool hasPolicy = false;     ///< .L2::cache_hint
};

struct Access {
  AccessKind kind = AccessKind::Load;
  /// As the instruction says until resolve(); then one of Global, Const, Shared, Local, Param.
  MemorySpace space = MemorySpace::Generic;
  Order order = Order::Weak;
  Scope scope = Scope::None;
  CacheHints cache;
  uint32_t bytes = 0;     ///< Per lane: all elements of a vector together.
  uint32_t alignment = 0; ///< That addresses must have; 0: `bytes`, which is then a power of two.
  LaneMask mask = 0;
  /// Per lane of `mask`, as the instruction has it (a generic address if generic) until resolve(); then the address in
  /// `space`: 64-bit for Global and Const, rank and offset for Shared, the thread's own offset for Local, the offset in
  /// the parameter buffer or block for Param.
  uint64_t addresses[32];
  std::byte *host[32];        ///< Set by resolve().
  Warp *warp = nullptr;       ///< Who executes, or issued, it; never null.
  const Step *step = nullptr; ///< Never null.
  AsyncOp *async = nullptr;   ///< AsyncRead and AsyncWrite only: the lanes are then up to 32 pieces of the operation.
};

} // namespace weft::emu

#endif // WEFT_EMULATOR_EXEC_ACCESS_H

// Checks of memory accesses and where their bytes are.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one path of every access. Out of bounds or misaligned is always the end of the launch.
#include "Emulator/Exec/Machine.h"

#include <cstdio>

using namespace weft;
using namespace weft::emu;

static const char *nameOf(MemorySpace space) {
  switch (space) {
  case MemorySpace::Generic:
    return "generic";
  case MemorySpace::Global:
    return "global";
  case MemorySpace::Const:
    return "const";
  case MemorySpace::Shared:
  case MemorySpace::SharedCluster:
    return "shared";
  case MemorySpace::Local:
    return "local";
  case MemorySpace::Param:
    return "param";
  }
  return "?";
}

static const char *nameOf(AccessKind kind) {
  switch (kind) {
  case AccessKind::Load:
    return "read";
  case AccessKind::Store:
    return "write";
  case AccessKind::Atomic:
    return "atomic access";
  case AccessKind::AsyncRead:
    return "asynchronous read";
  case AccessKind::AsyncWrite:
    return "asynchronous write";
  }
  return "access";
}

bool Machine::failAccess(const Access &access, unsigned lane, const std::string &what) {
  Warp &warp = *access.warp;
  bool isFreed = what.find("(freed)") != std::string::npos;
  const char *kind = what.compare(0, 10, "misaligned") == 0 ? "misaligned"
                     : isFreed                              ? "use-after-free"
                                                            : "out-of-bounds";
  find(kind, warp, *access.step, lane, access.addresses[lane], "%s of %u bytes at %s address 0x%llx is %s",
       nameOf(access.kind), access.bytes, nameOf(access.space), (unsigned long long)access.addresses[lane],
       what.c_str());
  fault(warp, *access.step, lane, "%s of %u bytes at %s address 0x%llx is %s", nameOf(access.kind), access.bytes,
        nameOf(access.space), (unsigned long long)access.addresses[lane], what.c_str());
  return false;
}

MemorySpace Machine::splitGeneric(const Access &access, LaneMask rest, LaneMask &members) const {
  auto windowOf = [](uint64_t address) {
    if (address >= kSharedWindow && address < kSharedWindow + kWindowBytes)
      return MemorySpace::SharedCluster;
    if (address >= kLocalWindow && address < kLocalWindow + kWindowBytes)
      return MemorySpace::Local;
    if (address >= kParamWindow && address < kParamWindow + kWindowBytes)
      return MemorySpace::Param;
    return MemorySpace::Global;
  };
  MemorySpace space = windowOf(access.addresses[__builtin_ctz(rest)]);
  members = 0;
  for (LaneMask left = rest; left; left &= left - 1) {
    unsigned lane = unsigned(__builtin_ctz(left));
    if (windowOf(access.addresses[lane]) == space)
      members |= 1u << lane;
  }
  return space;
}

bool Machine::fillGlobal(Access &access) {
  const Allocation *found = nullptr;
  bool isWrite =
      access.kind == AccessKind::Store || access.kind == AccessKind::Atomic || access.kind == AccessKind::AsyncWrite;
  for (LaneMask rest = access.mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    uint64_t address = access.addresses[lane];
    if (!found || address < found->address || address - found->address > found->size ||
        access.bytes > found->size - (address - found->address)) {
      found = global.find(address, access.bytes);
      if (!found)
        return failAccess(access, lane, "out of bounds: " + global.describe(address));
      if (found->isConst && isWrite)
        return failAccess(access, lane, "in the constant variable " + bundle::quote(found->name));
      if (access.space == MemorySpace::Const && !found->isConst)
        return failAccess(access, lane, "in no .const variable: " + global.describe(address));
    }
    access.host[lane] = found->bytes + (address - found->address);
  }
  return true;
}

Cta *Machine::sharedOwner(const Cta &cta, uint32_t sharedAddress) const {
  uint32_t rank = sharedAddress >> kSharedRankShift;
  if (rank >= cta.cluster->ctas.size() || cta.cluster->ctas[rank]->hasEnded)
    return nullptr;
  return cta.cluster->ctas[rank];
}

std::byte *Machine::sharedPointer(const Cta &cta, uint32_t sharedAddress, uint32_t bytes) const {
  Cta *owner = sharedOwner(cta, sharedAddress);
  uint32_t offset = sharedAddress & kSharedOffsetMask;
  if (!owner || offset > owner->sharedBytes || bytes > owner->sharedBytes - offset)
    return nullptr;
  return owner->shared + offset;
}

bool Machine::fillShared(Access &access) {
  const Cta &cta = *access.warp->cta;
  bool isOwnOnly = access.space == MemorySpace::Shared;
  access.space = MemorySpace::Shared;
  // The owner of an asynchronous operation may have been chosen by another CTA than the warp's.
  for (LaneMask rest = access.mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    uint64_t address = access.addresses[lane];
    std::byte *host = address >> 32 ? nullptr : sharedPointer(cta, uint32_t(address), access.bytes);
    if (host && !(isOwnOnly && (address >> kSharedRankShift) != cta.rank)) {
      access.host[lane] = host;
      continue;
    }
    char text[160];
    uint32_t rank = uint32_t(address >> kSharedRankShift);
    if (host)
      snprintf(text, sizeof text, "in the shared memory of the cta of rank %u: .shared::cluster is missing", rank);
    else if (address >> 32 || rank >= cta.cluster->ctas.size())
      snprintf(text, sizeof text, "out of bounds: the cluster has no cta of rank %llu",
               (unsigned long long)(address >> kSharedRankShift));
    else if (cta.cluster->ctas[rank]->hasEnded)
      snprintf(text, sizeof text, "in the shared memory of the cta of rank %u, which has ended", rank);
    else
      snprintf(text, sizeof text, "out of bounds: the cta has %u bytes of shared memory",
               cta.cluster->ctas[rank]->sharedBytes);
    return failAccess(access, lane, text);
  }
  return true;
}

bool Machine::fillLocal(Access &access) {
  for (LaneMask rest = access.mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    std::byte *host = access.warp->localPointer(lane, access.addresses[lane], access.bytes);
    if (!host)
      return failAccess(access, lane, "out of bounds of the thread's local variables");
    access.host[lane] = host;
  }
  // Addresses of parameters are no business of those who watch local memory.
  forLanes(access.mask, [&](unsigned lane) {
    if (access.addresses[lane] & kParamBlockBit)
      access.space = MemorySpace::Param;
  });
  // Memory may have moved while lanes were looked up.
  for (LaneMask rest = access.mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    access.host[lane] = access.warp->localPointer(lane, access.addresses[lane], access.bytes);
  }
  return true;
}

bool Machine::fillParam(Access &access) {
  for (LaneMask rest = access.mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    uint64_t address = access.addresses[lane];
    if (address & kParamBlockBit) {
      access.host[lane] = access.warp->localPointer(lane, address, access.bytes);
      if (!access.host[lane])
        return failAccess(access, lane, "out of bounds of the function's parameters");
      continue;
    }
    if (access.kind != AccessKind::Load && access.kind != AccessKind::AsyncRead)
      return failAccess(access, lane, "in the kernel's parameters, which are constant");
    if (address > parameters.size() || access.bytes > parameters.size() - address)
      return failAccess(access, lane, "out of bounds of the kernel's parameters");
    access.host[lane] = parameters.data() + address;
  }
  return true;
}

bool Machine::resolve(Access &access) {
  if (access.space == MemorySpace::Generic) {
    LaneMask members;
    MemorySpace space = splitGeneric(access, access.mask, members);
    uint64_t window = space == MemorySpace::SharedCluster ? kSharedWindow
                      : space == MemorySpace::Local       ? kLocalWindow
                      : space == MemorySpace::Param       ? kParamWindow
                                                          : 0;
    access.space = space;
    if (window)
      forLanes(access.mask, [&](unsigned lane) { access.addresses[lane] -= window; });
  }
  uint64_t low = (access.alignment ? access.alignment : access.bytes) - 1, misaligned = 0;
  forLanes(access.mask, [&](unsigned lane) { misaligned |= access.addresses[lane] & low; });
  if (misaligned) {
    for (LaneMask rest = access.mask; rest; rest &= rest - 1)
      if (access.addresses[__builtin_ctz(rest)] & low)
        return failAccess(access, unsigned(__builtin_ctz(rest)),
                          "misaligned: it must be a multiple of " + std::to_string(low + 1));
  }
  bool isGood = false;
  switch (access.space) {
  case MemorySpace::Generic:
    break;
  case MemorySpace::Global:
  case MemorySpace::Const:
    isGood = fillGlobal(access);
    break;
  case MemorySpace::Shared:
  case MemorySpace::SharedCluster:
    isGood = fillShared(access);
    break;
  case MemorySpace::Local:
    isGood = fillLocal(access);
    break;
  case MemorySpace::Param:
    isGood = fillParam(access);
    break;
  }
  if (isGood)
    observe([&](Observer &observer) { observer.accessed(access); });
  return isGood;
}

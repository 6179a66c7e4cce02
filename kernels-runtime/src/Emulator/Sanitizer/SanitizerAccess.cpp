// Findings of a launch: accesses.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each access against the shadow of its space. Which of two conflicting accesses a finding names first does not depend
// on which came first in this run: the thread before the asynchronous operation, the read before the write, of two
// writes the one further down.

#include "Emulator/Sanitizer/Sanitizer.h"

#include <algorithm>
#include <cstring>

using namespace weft::emu;

namespace {

bool isAsyncProxy(AsyncKind kind) {
  return kind == AsyncKind::BulkCopy || kind == AsyncKind::TensorCopy || kind == AsyncKind::Wgmma;
}

/// Turns conflicts on shared memory into findings.
class Reporter final : public ConflictSink {
public:
  Reporter(Machine &machine, const Sites &sites, WarpOrder &order, const Access &access, uint64_t base)
      : machine(machine), sites(sites), order(order), access(access), base(base) {}

  unsigned lane = 0; ///< Of the current access.
  bool isWrite = false;

  void conflict(Conflict kind, uint32_t offset, const Party &other, bool isOtherWrite) override;
  bool isOrderedInWarp(const Party &earlier) override {
    return order.history.wereTogether(earlier.turn, earlier.lane, lane);
  }

private:
  struct Side {
    Warp *warp;
    const Step *step;
    unsigned lane;
    bool isWrite;
    bool isAsync;
  };
  std::string describe(const Side &side) const;
  void report(const char *kind, const Side &first, const Side &second, uint32_t offset, const char *reason);

  Machine &machine;
  const Sites &sites;
  WarpOrder &order;
  const Access &access;
  uint64_t base;
};

/// "ld.shared.f32 at line 12 by warp 1, lane 3, reads"
std::string Reporter::describe(const Side &side) const {
  char text[256];
  const char *what = side.isWrite ? "writes it" : "reads it";
  const char *opcode = machine.opcodeOf(*side.step).c_str();
  if (side.isAsync)
    snprintf(text, sizeof(text), "the asynchronous operation %.100s of line %u, issued by warp %u, %s", opcode,
             side.step->line, side.warp->index, what);
  else
    snprintf(text, sizeof(text), "%.100s at line %u by warp %u, lane %u, %s", opcode, side.step->line, side.warp->index,
             side.lane, what);
  return text;
}

void Reporter::report(const char *kind, const Side &first, const Side &second, uint32_t offset, const char *reason) {
  machine.find(kind, *first.warp, *first.step, first.lane, base + offset, "%s shared memory at offset 0x%x; %s%s",
               first.isWrite ? "writes" : "reads", offset, describe(second).c_str(), reason);
}

void Reporter::conflict(Conflict kind, uint32_t offset, const Party &other, bool isOtherWrite) {
  unsigned ownLane = access.async && access.async->lanes ? unsigned(__builtin_ctz(access.async->lanes)) : lane;
  Side self = {access.warp, access.step, ownLane, isWrite, access.async != nullptr};
  if (kind == Conflict::Uninitialised) {
    machine.find("uninitialised-shared", *self.warp, *self.step, self.lane, base + offset,
                 "%sreads shared memory at offset 0x%x, which nothing has written",
                 self.isAsync ? "the asynchronous operation " : "", offset);
    return;
  }
  Side second = {order.cluster->agents[other.agent].warp, &sites[other.site], other.lane, isOtherWrite,
                 (other.flags & Party::Async) != 0};
  if (kind == Conflict::MissingFence) {
    report("missing-proxy-fence", self, second, offset,
           " through the generic proxy, and no fence.proxy.async stands between");
    return;
  }
  bool isSecondFirst = self.isAsync != second.isAsync   ? self.isAsync
                       : self.isWrite != second.isWrite ? self.isWrite
                                                        : self.step->line < second.step->line;
  const Side &first = isSecondFirst ? second : self;
  const Side &last = isSecondFirst ? self : second;
  if (self.isAsync || second.isAsync)
    report("async-overlap", first, last, offset,
           first.isAsync ? ", and nothing orders the two operations"
                         : ", and nothing that the thread has waited for orders the two");
  else
    report("shared-race", first, last, offset,
           first.warp == last.warp ? ", and the lanes were neither synchronised nor converged between"
                                   : ", and no barrier stands between");
}

bool isMbarrierStep(const Machine &machine, const Step &step) {
  const std::string &opcode = machine.opcodeOf(step);
  return opcode.compare(0, 8, "mbarrier") == 0 || opcode.compare(0, 17, "cp.async.mbarrier") == 0;
}

/// Lanes whose pieces follow one another are one range; returns its last lane.
unsigned joinLanes(const Access &access, unsigned lane, uint32_t &bytes) {
  bytes = access.bytes;
  while (lane + 1 < 32 && (access.mask >> (lane + 1) & 1) &&
         access.addresses[lane + 1] == access.addresses[lane] + access.bytes) {
    bytes += access.bytes;
    ++lane;
  }
  return lane;
}

SharedUse useOf(AccessKind kind) {
  switch (kind) {
  case AccessKind::Load:
  case AccessKind::AsyncRead:
    return SharedUse::Read;
  case AccessKind::Store:
  case AccessKind::AsyncWrite:
    return SharedUse::Write;
  case AccessKind::Atomic:
    break;
  }
  return SharedUse::Update;
}

/// Strong accesses of threads carry order from one to the other through the word: release and acquire, alone or by
/// fences before and after.
void synchronise(WarpOrder &order, CtaOrder &owner, uint32_t word, const Access &access) {
  bool isRelease = access.order == Order::Release || access.order == Order::AcquireRelease ||
                   access.order == Order::SequentiallyConsistent;
  bool isAcquire = access.order == Order::Acquire || access.order == Order::AcquireRelease ||
                   access.order == Order::SequentiallyConsistent;
  Knowledge &flag = owner.flags[word];
  if (access.kind != AccessKind::Store) {
    order.pendingAcquire.join(flag);
    if (isAcquire)
      order.knows.join(flag);
  }
  if (access.kind == AccessKind::Load)
    return;
  flag.join(order.atFence);
  if (isRelease)
    order.release(flag);
}

} // namespace

template <typename Who> const Knowledge *Sanitizer::identify(WarpOrder &order, const Access &access, Who &self) const {
  if (!access.async) {
    self.agent = order.agent;
    self.clock = order.clock();
    return &order.knows;
  }
  auto known = order.cluster->ops.find(access.async->id);
  if (known == order.cluster->ops.end())
    return nullptr;
  self.agent = known->second.agent;
  self.clock = known->second.clock;
  return &known->second.knows;
}

void Sanitizer::accessedShared(const Access &access) {
  WarpOrder &order = orderOf(*access.warp);
  bool isStrong = access.kind == AccessKind::Atomic || (access.order != Order::Weak && !access.async);
  bool isMbarrier = isStrong && isMbarrierStep(*machine, *access.step);
  if (isMbarrier)
    return; // Ordered by the mbarrier's own events.
  Party self;
  const Knowledge *knows = identify(order, access, self);
  if (!knows)
    return;
  self.site = sites.of(*access.step);
  self.turn = order.history.turn();
  self.flags = uint8_t((access.async ? Party::Async : 0) |
                       (access.async && isAsyncProxy(access.async->kind) ? Party::AsyncProxy : 0) |
                       (isStrong ? Party::Strong : 0));
  Reporter reporter(*machine, sites, order, access, 0);
  SharedUse use = useOf(access.kind);
  reporter.isWrite = use != SharedUse::Read;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!(access.mask >> lane & 1))
      continue;
    uint32_t address = uint32_t(access.addresses[lane]);
    CtaOrder &owner = *order.cluster->ctas[address >> kSharedRankShift];
    reporter.lane = lane;
    self.lane = uint8_t(lane);
    uint32_t bytes = access.bytes;
    if (access.async)
      lane = joinLanes(access, lane, bytes);
    owner.shadow.access(address & kSharedOffsetMask, bytes, use, self, *knows, reporter);
    if (isStrong && !access.async)
      synchronise(order, owner, (address & kSharedOffsetMask) / 4, access);
  }
}

bool Sanitizer::isSteady(uint64_t address) const {
  const std::optional<std::vector<MemoryRange>> &steady = machine->spec.steady;
  if (steady)
    for (const MemoryRange &range : *steady)
      if (address >= range.address && address - range.address < range.bytes)
        return true;
  return false;
}

/// Global memory that a kernel of the program may write or reuse is for those who have waited for the grids in front:
/// each thread for itself, of an asynchronous operation who issued it.
void Sanitizer::checkGridWait(const Access &access) {
  const std::optional<std::vector<MemoryRange>> &steady = machine->spec.steady;
  WarpOrder &order = orderOf(*access.warp);
  LaneMask early = access.mask & ~order.gridsWaited;
  if (access.async) {
    auto known = order.cluster->ops.find(access.async->id);
    early = known != order.cluster->ops.end() && known->second.isEarly ? access.mask : 0;
  }
  bool isPrefetch = access.async && access.async->kind == AsyncKind::Prefetch; // It has no effect.
  if (!steady || !machine->entry.waitsForGrids || !early || isPrefetch)
    return;
  for (unsigned lane = 0; lane < 32; ++lane) {
    uint64_t address = access.addresses[lane];
    bool isLegal = !(early >> lane & 1) || isSteady(address);
    const Allocation *owner = isLegal ? nullptr : machine->global.find(address, access.bytes);
    if (isLegal || (owner && owner->isConst))
      continue;
    machine->find("early-access", *access.warp, *access.step,
                  access.async ? unsigned(__builtin_ctz(access.async->lanes | 1u << 31)) : lane, address,
                  "%s%s global memory at 0x%llx, which the kernels before may still use, and the thread has not waited "
                  "for them: griddepcontrol.wait must come first",
                  access.async ? "the asynchronous operation " : "",
                  useOf(access.kind) == SharedUse::Read ? "reads" : "writes", (unsigned long long)address);
    return;
  }
}

/// As `synchronise`, between clusters, through a word of global memory.
void Sanitizer::synchroniseClusters(WarpOrder &order, const Access &access, uint64_t address) {
  if (access.scope == Scope::Cta || access.scope == Scope::Cluster)
    return;
  bool isSequential = access.order == Order::SequentiallyConsistent || access.order == Order::AcquireRelease;
  bool isRelease = access.order == Order::Release || isSequential,
       isAcquire = access.order == Order::Acquire || isSequential;
  std::shared_ptr<const ClusterClocks> &flag = globalFlags[address];
  if (access.kind != AccessKind::Store && !isAcquire)
    order.pendingAcquire.joinClusters(flag);
  if (access.kind != AccessKind::Store && isAcquire && order.lastFlag != flag) { // Who polls reads the same many times.
    order.lastFlag = flag;
    order.knows.joinClusters(flag);
  }
  const Knowledge &released = isRelease ? order.knows : order.atFence;
  releases += access.kind != AccessKind::Load;
  if (access.kind == AccessKind::Load || (!isRelease && released.seen[order.agent] == 0))
    return;
  Knowledge all;
  all.clusters = flag;
  all.joinClusters(released.clusters);
  auto own = std::make_shared<ClusterClocks>(order.cluster->number + 1);
  own->back() = std::make_shared<VectorClock>(released.seen);
  all.joinClusters(own);
  flag = all.clusters;
  if (isRelease)
    order.tick();
}

void Sanitizer::reportRace(const Access &access, unsigned lane, bool isWrite, const GlobalShadow::Conflict &conflict) {
  const Step &other = sites[conflict.other.site];
  const Dim3 &grid = machine->spec.grid;
  uint32_t cta = conflict.other.cta;
  machine->find(
      "global-race", *access.warp, *access.step,
      access.async ? unsigned(__builtin_ctz(access.async->lanes | 1u << 31)) : lane, conflict.address,
      "%s%s global memory at 0x%llx; %.100s at line %u by cta (%u,%u,%u), lane %u, %s it, and nothing orders the "
      "two CTAs",
      access.async ? "the asynchronous operation " : "", isWrite ? "writes" : "reads",
      (unsigned long long)conflict.address, machine->opcodeOf(other).c_str(), other.line, cta % grid.x,
      cta / grid.x % grid.y, cta / grid.x / grid.y, unsigned(conflict.other.lane),
      conflict.isOtherWrite ? "has written" : "has read");
}

/// Tiles that have a row in common may each store what they know of it: the same bytes in any order.
void Sanitizer::reportOverwrites() {
  for (const Overwrite &each : overwrites)
    if (std::memcmp(overwriting.host[each.lane], each.before.data(), overwriting.bytes) != 0) {
      reportRace(overwriting, each.lane, /*isWrite=*/true, each.conflict);
      break;
    }
  overwrites.clear();
}

/// Whether the warp has done the same strong load before, and nobody has released anything since.
bool Sanitizer::isPolling(WarpOrder &order, const Access &access) const {
  if (access.kind != AccessKind::Load || access.order == Order::Weak)
    return false;
  WarpOrder::Poll &poll = order.poll;
  bool isSame = poll.step == access.step && poll.releases == releases && poll.mask == access.mask;
  for (unsigned lane = 0; lane < 32 && isSame; ++lane)
    isSame = !(access.mask >> lane & 1) || poll.addresses[lane] == access.addresses[lane];
  if (!isSame) {
    poll = {access.step, releases, access.mask, {}};
    std::copy(access.addresses, access.addresses + 32, poll.addresses);
  }
  return isSame;
}

/// Accesses of different clusters, in memory that some kernel of the program may write.
void Sanitizer::checkClusters(const Access &access) {
  if (machine->spec.grid.count() == machine->spec.cluster.count() ||
      (access.async && access.async->kind == AsyncKind::Prefetch))
    return;
  WarpOrder &order = orderOf(*access.warp);
  if (isPolling(order, access))
    return;
  GlobalParty self;
  self.cluster = order.cluster->number;
  self.cta = uint32_t(access.warp->cta->linear);
  self.site = sites.of(*access.step);
  const Knowledge *knows = identify(order, access, self);
  if (!knows)
    return;
  SharedUse use = useOf(access.kind);
  self.isStrong = access.kind == AccessKind::Atomic || (access.order != Order::Weak && !access.async);
  bool isReported = false;
  for (unsigned lane = 0; lane < 32; ++lane) {
    uint64_t address = access.addresses[lane];
    if (!(access.mask >> lane & 1) || isSteady(address))
      continue;
    self.lane = uint8_t(lane);
    GlobalShadow::Conflict conflict;
    if (global.access(address, access.bytes, use != SharedUse::Read, self, *knows, conflict) && !isReported) {
      if (access.kind == AccessKind::Store && conflict.isOtherWrite) { // What it writes is seen behind the step.
        Overwrite overwrite{lane, conflict, {}};
        std::memcpy(overwrite.before.data(), access.host[lane], access.bytes);
        overwrites.push_back(overwrite);
        overwriting = access;
        continue;
      }
      reportRace(access, lane, use != SharedUse::Read, conflict);
      isReported = true;
    }
    if (self.isStrong)
      synchroniseClusters(order, access, address);
  }
}

void Sanitizer::accessedGlobal(const Access &access) {
  checkGridWait(access);
  checkClusters(access);
  SharedUse use = useOf(access.kind);
  const Allocation *last = nullptr;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!(access.mask >> lane & 1))
      continue;
    uint64_t address = access.addresses[lane];
    if (!last || address < last->address || address + access.bytes > last->end())
      last = machine->global.find(address, access.bytes);
    if (!last || !last->initialised || last->isConst)
      continue;
    uint8_t *initialised = last->initialised + (address - last->address);
    if (use != SharedUse::Write) {
      const void *missing = std::memchr(initialised, 0, access.bytes);
      if (missing) {
        size_t offset = size_t(static_cast<const uint8_t *>(missing) - initialised);
        machine->find("uninitialised-global", *access.warp, *access.step,
                      access.async ? unsigned(__builtin_ctz(access.async->lanes | 1u << 31)) : lane, address + offset,
                      "%sreads global memory at 0x%llx, which nothing has written",
                      access.async ? "the asynchronous operation " : "", (unsigned long long)(address + offset));
      }
    }
    if (use != SharedUse::Read)
      std::memset(initialised, 1, access.bytes);
  }
}

void Sanitizer::accessedLocal(const Access &access) {
  WarpOrder &order = orderOf(*access.warp);
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!(access.mask >> lane & 1))
      continue;
    std::vector<uint8_t> &initialised = order.localInitialised[lane];
    size_t offset = size_t(access.addresses[lane]);
    if (initialised.size() < offset + access.bytes)
      initialised.resize(offset + access.bytes);
    if (access.kind == AccessKind::Store) {
      std::memset(&initialised[offset], 1, access.bytes);
      continue;
    }
    if (std::memchr(&initialised[offset], 0, access.bytes))
      machine->find("uninitialised-local", *access.warp, *access.step, lane, offset,
                    "reads local memory at offset 0x%llx, which the thread has not written",
                    (unsigned long long)offset);
  }
}

void Sanitizer::accessed(const Access &access) {
  switch (access.space) {
  case MemorySpace::Shared:
    return accessedShared(access);
  case MemorySpace::Global:
    return accessedGlobal(access);
  case MemorySpace::Local:
    return accessedLocal(access);
  case MemorySpace::Generic:
  case MemorySpace::Const:
  case MemorySpace::SharedCluster:
  case MemorySpace::Param:
    return;
  }
}

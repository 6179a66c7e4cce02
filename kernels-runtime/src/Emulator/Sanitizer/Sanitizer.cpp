// Findings of a launch: synchronisation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How each event of the machine moves knowledge between agents. Accesses are in SanitizerAccess.cpp.

#include "Emulator/Sanitizer/Sanitizer.h"

#include "Emulator/Sanitizer/UndefinedRegisters.h"

using namespace weft::emu;

Sanitizer::Sanitizer() = default;
Sanitizer::~Sanitizer() = default;

void Sanitizer::launchBegins(Machine &launched) {
  machine = &launched;
  for (const std::string &opcode : launched.module.opcodes)
    isWgmmaOpcode.push_back(opcode.compare(0, 15, "wgmma.mma_async") == 0);
  for (const FunctionCode &code : launched.module.functions)
    for (uint32_t step : undefinedReads(code))
      undefined.insert(&code.steps[step]);
}

static const void *keyOf(const Cta &cta) {
  return cta.cluster ? static_cast<const void *>(cta.cluster) : static_cast<const void *>(&cta);
}

void Sanitizer::ctaBegins(Cta &cta) {
  std::unique_ptr<ClusterOrder> &cluster = clusters[keyOf(cta)];
  if (!cluster) {
    cluster = std::make_unique<ClusterOrder>();
    cluster->number = ++clusterCount;
  }
  if (cta.rank >= cluster->ctas.size())
    cluster->ctas.resize(cta.rank + 1);
  cluster->ctas[cta.rank] = std::make_unique<CtaOrder>(cta);
  ++cluster->liveCtas;
  for (const std::unique_ptr<Warp> &warp : cta.warps) {
    if (warp->id >= warps.size())
      warps.resize(warp->id + 1);
    warps[warp->id] = std::make_unique<WarpOrder>();
    WarpOrder &order = *warps[warp->id];
    order.warp = warp.get();
    order.cluster = cluster.get();
    order.agent = cluster->addAgent(warp.get(), /*isAsync=*/false);
    order.tick();
  }
}

void Sanitizer::ctaEnds(Cta &cta) {
  auto cluster = clusters.find(keyOf(cta));
  if (cluster != clusters.end() && --cluster->second->liveCtas == 0)
    clusters.erase(cluster);
}

void Sanitizer::stepBegins(Warp &warp, const Step &step, LaneMask mask, bool isRepeated) {
  if (!overwrites.empty())
    reportOverwrites();
  WarpOrder &order = orderOf(warp);
  LaneMask running = warp.active();
  if (running != order.history.current())
    order.history.push(running);
  if (!undefined.empty() && !isRepeated && mask != 0 && undefined.count(&step))
    machine->find("uninitialised-register", warp, step, unsigned(__builtin_ctz(mask)), 0,
                  "reads a register that nothing has written on any path");
  bool isWgmma = isWgmmaOpcode[step.opcode];
  if ((order.registers.empty() && !isWgmma) || isRepeated || mask == 0)
    return;
  const Activation &activation = warp.activation();
  if (const Step *owner = order.registers.conflict(step, *activation.code, &activation))
    machine->find("wgmma-registers", warp, step, 32, 0,
                  "uses a register that %s at line %u still owns: no wgmma.wait_group covers it yet",
                  machine->opcodeOf(*owner).c_str(), owner->line);
  if (!isWgmma)
    return;
  order.registers.lend(step, *activation.code, &activation);
  order.atWgmma.push_back(order.knows);
  order.tick();
}

void Sanitizer::warpSynced(Warp &warp, const Step &, LaneMask lanes) { orderOf(warp).history.push(lanes); }

static BarrierOrder &barrierOf(ClusterOrder &cluster, const BarrierEvent &event) {
  return event.isCluster ? cluster.barrier : cluster.ctas[event.warp->cta->rank]->barriers[event.id % 16];
}

void Sanitizer::publishInits(WarpOrder &order) {
  if (order.pendingInits.empty())
    return;
  ++events;
  for (auto [owner, offset] : order.pendingInits)
    if (auto found = owner->mbarriers.find(offset); found != owner->mbarriers.end())
      found->second.fencedAt = events;
  order.pendingInits.clear();
}

void Sanitizer::arrived(const BarrierEvent &event) {
  WarpOrder &order = orderOf(*event.warp);
  if (!event.hasOrder) {
    Knowledge &released = barrierOf(*order.cluster, event).of(event.phase);
    released.join(order.atFence);
    released.inits.join(order.knows.inits);
    return;
  }
  publishInits(order);
  order.release(barrierOf(*order.cluster, event).of(event.phase));
}

void Sanitizer::waited(const BarrierEvent &event) {
  WarpOrder &order = orderOf(*event.warp);
  order.history.push(event.lanes);
  order.knows.join(barrierOf(*order.cluster, event).of(event.phase));
}

void Sanitizer::fenced(const FenceEvent &event) {
  WarpOrder &order = orderOf(*event.warp);
  switch (event.kind) {
  case FenceKind::Thread:
    order.knows.join(order.pendingAcquire);
    order.pendingAcquire.clear();
    order.atFence = order.knows;
    order.tick();
    break;
  case FenceKind::MbarrierInit:
    publishInits(order);
    order.knows.inits.raise(order.agent, order.clock());
    order.tick();
    break;
  case FenceKind::ProxyAsync:
  case FenceKind::ProxyAsyncShared:
    publishInits(order);
    order.knows.fenced.join(order.knows.seen);
    order.tick();
    break;
  case FenceKind::ProxyAsyncGlobal:
  case FenceKind::ProxyAlias:
  case FenceKind::ProxyTensorMap:
  case FenceKind::Wgmma:
    break;
  }
}

void Sanitizer::mbarrier(const MbarrierEvent &event) {
  WarpOrder &order = orderOf(*event.warp);
  CtaOrder &owner = *order.cluster->ctas[event.owner->rank];
  uint64_t address = uint64_t(event.owner->rank) << kSharedRankShift | event.offset;
  unsigned lane = event.lanes ? unsigned(__builtin_ctz(event.lanes)) : 32;
  if (event.action == MbarrierAction::Init) {
    MbarrierOrder fresh;
    fresh.initAgent = order.agent;
    fresh.initClock = order.clock();
    owner.mbarriers[event.offset] = std::move(fresh);
    order.pendingInits.emplace_back(&owner, event.offset);
    owner.shadow.markInitialised(event.offset, 8);
    return;
  }
  auto found = owner.mbarriers.find(event.offset);
  if (found == owner.mbarriers.end())
    return; // Reported by the mbarrier's own checks.
  MbarrierOrder &barrier = found->second;
  OpOrder *op = nullptr;
  if (event.async) {
    auto known = order.cluster->ops.find(event.async->id);
    op = known == order.cluster->ops.end() ? nullptr : &known->second;
  }
  const Knowledge &knows = op ? op->knows : order.knows;
  if (event.action != MbarrierAction::PhaseDone && knows.seen[barrier.initAgent] < barrier.initClock &&
      knows.inits[barrier.initAgent] < barrier.initClock)
    machine->find("mbarrier-init-order", *event.warp, *event.step, lane, address,
                  "uses the mbarrier at shared address 0x%x, whose initialisation by warp %u is not ordered before",
                  event.offset, order.cluster->agents[barrier.initAgent].warp->index);
  else if (op && barrier.fencedAt > op->issuedAt)
    machine->find("mbarrier-init-order", *event.warp, *event.step, lane, address,
                  "an asynchronous operation uses the mbarrier at shared address 0x%x; neither fence.mbarrier_init nor "
                  "a barrier of the cta or cluster follows its initialisation",
                  event.offset);
  switch (event.action) {
  case MbarrierAction::Arrive:
    if (event.order != Order::Relaxed)
      order.release(barrier.pending);
    break;
  case MbarrierAction::CompleteTx:
  case MbarrierAction::AsyncArrive:
    if (!op)
      break;
    op->isOfMbarrier = true;
    barrier.pending.seen.raise(op->agent, op->clock);
    if (event.action == MbarrierAction::AsyncArrive)
      barrier.pending.seen.raise(op->copyAgent, op->copyClock);
    break;
  case MbarrierAction::PhaseDone:
    barrier.done.join(barrier.pending);
    barrier.pending.clear();
    break;
  case MbarrierAction::WaitTrue:
    if (event.order != Order::Relaxed)
      order.knows.join(barrier.done);
    break;
  case MbarrierAction::Invalidate:
    owner.mbarriers.erase(found);
    break;
  case MbarrierAction::Init:
  case MbarrierAction::ExpectTx:
  case MbarrierAction::WaitFalse:
    break;
  }
}

void Sanitizer::gridsWaited(Warp &warp, LaneMask lanes) { orderOf(warp).gridsWaited |= lanes; }

void Sanitizer::asyncIssued(AsyncOp &op) {
  WarpOrder &issuer = orderOf(*op.warp);
  OpOrder order;
  order.isEarly = (op.lanes & ~issuer.gridsWaited) != 0;
  issuer.cluster->place(op, issuer, order);
  order.issuedAt = events;
  if (op.kind == AsyncKind::Wgmma) {
    uint32_t first = op.warp->index;
    for (uint32_t i = first; i < first + 4 && i < op.cta->warps.size(); ++i) {
      std::vector<Knowledge> &arrivals = orderOf(*op.cta->warps[i]).atWgmma;
      if (arrivals.empty())
        continue;
      order.knows.join(arrivals.front());
      arrivals.erase(arrivals.begin());
    }
  } else {
    order.knows = issuer.knows;
    issuer.tick(); // What the issuer does from now on is not ordered before the operation.
  }
  issuer.cluster->ops[op.id] = std::move(order);
}

/// Only its moment matters from now on, and not even that if an mbarrier has it.
void Sanitizer::asyncDone(AsyncOp &op) {
  ClusterOrder &cluster = *orderOf(*op.warp).cluster;
  auto known = cluster.ops.find(op.id);
  if (known == cluster.ops.end())
    return;
  if (known->second.isOfMbarrier)
    cluster.ops.erase(known);
  else
    known->second.knows = Knowledge();
}

void Sanitizer::asyncWaited(AsyncOp &op, Warp &warp, LaneMask, bool readsOnly) {
  WarpOrder &order = orderOf(warp);
  if (op.kind == AsyncKind::Wgmma && !readsOnly)
    order.registers.giveBackOldest();
  auto known = order.cluster->ops.find(op.id);
  if (known == order.cluster->ops.end())
    return;
  order.knows.seen.raise(known->second.agent, known->second.clock);
}

// Operations on mbarriers in shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// State changes, their events, and the findings of misuse.
#include "Emulator/Async/MbarrierOps.h"

#include <cstring>

namespace weft::emu {
namespace {

uint64_t addressOf(const MbarrierPlace &place) {
  return uint64_t(place.owner->rank) << kSharedRankShift | place.offset;
}

void mirror(const MbarrierPlace &place, const Mbarrier &state) {
  uint64_t token = state.token();
  std::memcpy(place.host, &token, sizeof(token));
}

void tell(const MbarrierActor &actor, const MbarrierPlace &place, MbarrierAction action, uint64_t phase,
          uint64_t count) {
  MbarrierEvent event = {action,       actor.warp, actor.step, actor.lanes, actor.async, place.owner,
                         place.offset, phase,      count,      actor.order, actor.scope};
  actor.machine().observe([&](Observer &observer) { observer.mbarrier(event); });
}

/// After a change of `object`, whose phase was `phase` before.
void settle(const MbarrierActor &actor, const MbarrierPlace &place, MbarrierObject &object, uint64_t phase) {
  mirror(place, object.state);
  actor.machine().progress();
  if (object.state.phase() == phase)
    return;
  tell(actor, place, MbarrierAction::PhaseDone, phase, 0);
  std::vector<MbarrierObject::Waiter> waiters = std::move(object.waiters);
  object.waiters.clear();
  for (const MbarrierObject::Waiter &waiter : waiters)
    waiter.warp->wake(waiter.lanes, false);
}

void reportFault(const MbarrierActor &actor, const MbarrierPlace &place, const MbarrierObject &object,
                 MbarrierFault fault) {
  if (fault == MbarrierFault::None)
    return;
  bool isTx = fault == MbarrierFault::TxOverflow;
  actor.machine().find(isTx ? "mbarrier-tx-count" : "mbarrier-arrivals", *actor.warp, *actor.step, actor.lane(),
                       addressOf(place),
                       "%s: the mbarrier at shared address 0x%x of cta rank %u is in phase %llu with %u of %u arrivals "
                       "pending and a tx-count of %d",
                       describe(fault), place.offset, place.owner->rank, (unsigned long long)object.state.phase(),
                       object.state.pendingCount(), object.state.expectedCount(), object.state.txCount());
}

} // namespace

bool placeMbarriers(const MbarrierActor &actor, MemorySpace space, const uint64_t *addresses, MbarrierPlace *places) {
  Access access;
  access.kind = actor.async ? AccessKind::AsyncWrite : AccessKind::Atomic;
  access.space = space;
  access.order = actor.order;
  access.scope = actor.scope == Scope::None ? Scope::Cta : actor.scope;
  access.bytes = 8;
  access.mask = actor.lanes;
  access.warp = actor.warp;
  access.step = actor.step;
  access.async = actor.async;
  forLanes(actor.lanes, [&](unsigned lane) { access.addresses[lane] = addresses[lane]; });
  Machine &machine = actor.machine();
  if (!machine.resolve(access))
    return false;
  if (access.space != MemorySpace::Shared) {
    machine.fault(*actor.warp, *actor.step, actor.lane(), "an mbarrier must lie in shared memory");
    return false;
  }
  for (LaneMask rest = actor.lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    places[lane].owner = machine.sharedOwner(*actor.warp->cta, uint32_t(access.addresses[lane]));
    places[lane].offset = uint32_t(access.addresses[lane]) & kSharedOffsetMask;
    places[lane].host = reinterpret_cast<uint8_t *>(access.host[lane]);
  }
  return true;
}

bool placeMbarrier(const MbarrierActor &actor, uint32_t sharedAddress, MbarrierPlace &place) {
  Machine &machine = actor.machine();
  Cta &cta = *actor.warp->cta;
  place.owner = machine.sharedOwner(cta, sharedAddress);
  place.offset = sharedAddress & kSharedOffsetMask;
  place.host = reinterpret_cast<uint8_t *>(machine.sharedPointer(cta, sharedAddress, 8));
  if (place.owner && place.host && place.offset % 8 == 0)
    return true;
  machine.fault(*actor.warp, *actor.step, actor.lane(),
                "the mbarrier at shared address 0x%x is misaligned, out of bounds or of a cta that has ended",
                sharedAddress);
  return false;
}

MbarrierObject *findMbarrier(const MbarrierActor &actor, const MbarrierPlace &place) {
  MbarrierObject *object = CtaAsync::of(*place.owner).find(place.offset);
  Machine &machine = actor.machine();
  if (!object) {
    machine.find("mbarrier-uninitialised", *actor.warp, *actor.step, actor.lane(), addressOf(place),
                 "there is no initialised mbarrier at shared address 0x%x of cta rank %u", place.offset,
                 place.owner->rank);
    machine.fault(*actor.warp, *actor.step, actor.lane(),
                  "there is no initialised mbarrier at shared address 0x%x of cta rank %u", place.offset,
                  place.owner->rank);
    return nullptr;
  }
  uint64_t mirrored;
  std::memcpy(&mirrored, place.host, sizeof(mirrored));
  if (mirrored != object->state.token()) {
    machine.find("mbarrier-overwritten", *actor.warp, *actor.step, actor.lane(), addressOf(place),
                 "the bytes of the mbarrier at shared address 0x%x of cta rank %u were overwritten before "
                 "mbarrier.inval",
                 place.offset, place.owner->rank);
    mirror(place, object->state);
  }
  return object;
}

bool initMbarrier(const MbarrierActor &actor, const MbarrierPlace &place, uint32_t count) {
  CtaAsync &cta = CtaAsync::of(*place.owner);
  Machine &machine = actor.machine();
  if (!Mbarrier::isCount(count)) {
    machine.fault(*actor.warp, *actor.step, actor.lane(), "expected a count from 1 to %u, got %u", kMaxMbarrierCount,
                  count);
    return false;
  }
  if (MbarrierObject *old = cta.find(place.offset)) {
    machine.find("mbarrier-reinitialised", *actor.warp, *actor.step, actor.lane(), addressOf(place),
                 "the mbarrier at shared address 0x%x is initialised again without mbarrier.inval; it was in phase "
                 "%llu%s",
                 place.offset, (unsigned long long)old->state.phase(),
                 old->state.isInUse() || !old->waiters.empty() ? " and in use" : "");
    std::vector<MbarrierObject::Waiter> waiters = std::move(old->waiters);
    cta.remove(place.offset);
    for (const MbarrierObject::Waiter &waiter : waiters)
      waiter.warp->wake(waiter.lanes, false);
  }
  mirror(place, cta.add(place.offset, Mbarrier(count)).state);
  tell(actor, place, MbarrierAction::Init, 0, count);
  machine.progress();
  return true;
}

bool invalidateMbarrier(const MbarrierActor &actor, const MbarrierPlace &place) {
  MbarrierObject *object = findMbarrier(actor, place);
  if (!object)
    return false;
  if (!object->waiters.empty())
    actor.machine().find("mbarrier-invalidated-in-use", *actor.warp, *actor.step, actor.lane(), addressOf(place),
                         "the mbarrier at shared address 0x%x is invalidated while threads wait on it", place.offset);
  std::vector<MbarrierObject::Waiter> waiters = std::move(object->waiters);
  tell(actor, place, MbarrierAction::Invalidate, object->state.phase(), 0);
  CtaAsync::of(*place.owner).remove(place.offset);
  for (const MbarrierObject::Waiter &waiter : waiters)
    waiter.warp->wake(waiter.lanes, false);
  return true;
}

bool arriveMbarrier(const MbarrierActor &actor, const MbarrierPlace &place, uint32_t count, uint32_t tx, bool isDrop,
                    bool isNoComplete, uint64_t *token) {
  MbarrierObject *object = findMbarrier(actor, place);
  if (!object)
    return false;
  uint64_t phase = object->state.phase();
  if (token)
    *token = object->state.token();
  if (tx)
    tell(actor, place, MbarrierAction::ExpectTx, phase, tx);
  tell(actor, place, actor.async ? MbarrierAction::AsyncArrive : MbarrierAction::Arrive, phase, count);
  MbarrierObject before = {object->offset, object->state, {}};
  reportFault(actor, place, before, object->state.arrive(count, tx, isDrop, isNoComplete));
  settle(actor, place, *object, phase);
  return true;
}

bool expectTxMbarrier(const MbarrierActor &actor, const MbarrierPlace &place, uint32_t bytes) {
  MbarrierObject *object = findMbarrier(actor, place);
  if (!object)
    return false;
  tell(actor, place, MbarrierAction::ExpectTx, object->state.phase(), bytes);
  reportFault(actor, place, *object, object->state.expectTx(bytes));
  settle(actor, place, *object, object->state.phase());
  return true;
}

bool completeTxMbarrier(const MbarrierActor &actor, const MbarrierPlace &place, uint32_t bytes) {
  MbarrierObject *object = findMbarrier(actor, place);
  if (!object)
    return false;
  uint64_t phase = object->state.phase();
  tell(actor, place, MbarrierAction::CompleteTx, phase, bytes);
  reportFault(actor, place, *object, object->state.completeTx(bytes));
  settle(actor, place, *object, phase);
  return true;
}

bool addPendingMbarrier(const MbarrierActor &actor, const MbarrierPlace &place) {
  MbarrierObject *object = findMbarrier(actor, place);
  if (!object)
    return false;
  reportFault(actor, place, *object, object->state.addPending());
  settle(actor, place, *object, object->state.phase());
  return true;
}

} // namespace weft::emu

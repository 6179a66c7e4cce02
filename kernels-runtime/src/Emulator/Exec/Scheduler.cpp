// Placement of CTAs and turns of warps.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Emulator/Exec/Scheduler.h"

#include <algorithm>
#include <cstring>

using namespace weft;
using namespace weft::emu;
using bundle::ErrorCode;
using bundle::makeError;

/// Steps of a turn: at least kMinTurn, less than twice that more.
static constexpr uint32_t kMinTurn = 32;
/// In the depth-first orders: steps of a CTA's warps before others have a chance (it may spin on what they must do).
static constexpr uint32_t kDeepTurn = 4096, kDeepRounds = 16;
/// Steps per resident warp without any change that others could see, after which an asynchronous operation is taken to
/// be what is waited for, and later a livelock is suspected.
static constexpr uint64_t kQuietSteps = 512;
/// Passes between two looks at whether every warp repeats itself.
static constexpr uint32_t kQuietPasses = 8;
/// The value of bytes that nobody has written.
static constexpr int kPoison = 0xcb;

static uint32_t roundUp(uint32_t value, uint32_t unit) { return (value + unit - 1) / unit * unit; }

Scheduler::Scheduler(Machine &machine) : machine(machine), sms(machine.card.sms) {
  const LaunchSpec &spec = machine.spec;
  const Card &card = machine.card;
  clusterCount = spec.grid.count() / spec.cluster.count();
  if (spec.options.beginOrder == BeginOrder::Random)
    for (uint32_t i = 0; i < clusterCount; ++i) {
      shuffled.push_back(i);
      std::swap(shuffled[i], shuffled[machine.random.below(i + 1)]);
    }
  warpsPerCta = uint32_t((spec.block.count() + 31) / 32);
  registersPerCta = warpsPerCta * roundUp(std::max(machine.entry.registersPerThread, 1u) * 32, card.registerUnit);
  sharedPerCta =
      roundUp(machine.entry.dynamicSharedOffset + spec.dynamicSharedBytes + card.sharedReservedPerCta, card.sharedUnit);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Placement
//===--------------------------------------------------------------------------------------------------------------===//

bool Scheduler::fits(const Sm &sm) const {
  const Card &card = machine.card;
  return sm.threads + warpsPerCta * 32 <= card.threadsPerSm && sm.warps + warpsPerCta <= card.warpsPerSm &&
         sm.ctas + 1 <= card.ctasPerSm && sm.registers + registersPerCta <= card.registersPerSm &&
         sm.shared + sharedPerCta <= card.sharedPerSm;
}

void Scheduler::take(Sm &sm, int sign) {
  sm.threads += sign * int(warpsPerCta) * 32;
  sm.warps += sign * int(warpsPerCta);
  sm.ctas += sign;
  sm.registers += sign * int(registersPerCta);
  sm.shared += sign * int(sharedPerCta);
}

/// The SMs for the CTAs of one cluster: of one GPC, each time the one with the fewest CTAs. The state of `sms` is that
/// after placement if it succeeds.
bool Scheduler::chooseSms(std::vector<uint32_t> &chosen) {
  uint32_t size = uint32_t(machine.spec.cluster.count());
  uint32_t perGpc = size > 1 && machine.card.smsPerGpc ? machine.card.smsPerGpc : uint32_t(sms.size());
  uint32_t bestGpc = ~0u, bestLoad = ~0u;
  for (uint32_t first = 0; first < sms.size(); first += perGpc) {
    uint32_t last = std::min(first + perGpc, uint32_t(sms.size())), load = 0, room = 0;
    for (uint32_t i = first; i < last; ++i) {
      load += sms[i].ctas;
      Sm trial = sms[i];
      for (; room < size && fits(trial); ++room)
        take(trial, 1);
    }
    if (room >= size && load < bestLoad) {
      bestGpc = first;
      bestLoad = load;
    }
  }
  if (bestGpc == ~0u)
    return false;
  chosen.clear();
  uint32_t last = std::min(bestGpc + perGpc, uint32_t(sms.size()));
  while (chosen.size() < size) {
    uint32_t best = ~0u;
    for (uint32_t i = bestGpc; i < last; ++i)
      if (fits(sms[i]) && (best == ~0u || sms[i].ctas < sms[best].ctas))
        best = i;
    take(sms[best], 1);
    chosen.push_back(best);
  }
  return true;
}

/// What setmaxnreg starts from: the count that the directives imply, as ptxas sees it, however few the code needs.
static uint32_t heldRegisters(const Machine &machine) {
  uint32_t demanded = machine.entry.directives.maxRegisters;
  uint32_t most = uint32_t(machine.card.registersPerSm / std::max<uint64_t>(machine.spec.block.count(), 32));
  return demanded ? demanded : std::min(most / 8 * 8, 255u / 8 * 8 + 7);
}

void Scheduler::startCta(Cluster &cluster, Dim3 id, uint32_t rank, uint32_t sm) {
  const LaunchSpec &spec = machine.spec;
  uint32_t slot = 0;
  while (slot < machine.ctas.size() && machine.ctas[slot])
    ++slot;
  if (slot == machine.ctas.size())
    machine.ctas.emplace_back();
  machine.ctas[slot] = std::make_unique<Cta>();
  Cta &cta = *machine.ctas[slot];
  cta.machine = &machine;
  cta.cluster = &cluster;
  cta.id = id;
  cta.linear = id.x + uint64_t(spec.grid.x) * (id.y + uint64_t(spec.grid.y) * id.z);
  cta.rank = rank;
  cta.sm = sm;
  cta.slot = slot;
  cta.sharedBytes = machine.entry.dynamicSharedOffset + spec.dynamicSharedBytes;
  cta.sharedStorage.resize(cta.sharedBytes + 1024);
  // Alignment as on the GPU: dynamic shared memory begins at a multiple of 1024 if the offset does.
  cta.shared = cta.sharedStorage.data();
  cta.shared += (1024 - reinterpret_cast<uintptr_t>(cta.shared) % 1024) % 1024;
  std::memset(cta.shared, kPoison, cta.sharedBytes);
  cta.threads = cta.liveThreads = uint32_t(spec.block.count());
  cluster.ctas.push_back(&cta);
  cluster.liveThreads += cta.threads;
  ++cluster.liveCtas;
  for (uint32_t i = 0; i < warpsPerCta; ++i) {
    uint32_t left = cta.threads - i * 32;
    cta.warps.push_back(std::make_unique<Warp>());
    cta.warps.back()->start(machine, cta, i, left >= 32 ? kAllLanes : (1u << left) - 1, machine.entry);
    cta.warps.back()->id = slot * warpsPerCta + i;
  }
  cta.warpRegisters.assign(warpsPerCta, heldRegisters(machine));
  machine.residentWarps += warpsPerCta;
  resident.push_back(&cta);
}

void Scheduler::startCluster(const std::vector<uint32_t> &chosen) {
  const LaunchSpec &spec = machine.spec;
  Dim3 shape = spec.cluster;
  Dim3 count = {spec.grid.x / shape.x, spec.grid.y / shape.y, spec.grid.z / shape.z};
  machine.clusters.push_back(std::make_unique<Cluster>());
  Cluster &cluster = *machine.clusters.back();
  bool isReverse = spec.options.beginOrder == BeginOrder::Reverse;
  uint64_t number = !shuffled.empty() ? shuffled[nextCluster]
                    : isReverse       ? clusterCount - 1 - nextCluster
                                      : nextCluster;
  cluster.id = {uint32_t(number % count.x), uint32_t(number / count.x % count.y), uint32_t(number / count.x / count.y)};
  for (uint32_t rank = 0; rank < chosen.size(); ++rank) {
    Dim3 id = {cluster.id.x * shape.x + rank % shape.x, cluster.id.y * shape.y + rank / shape.x % shape.y,
               cluster.id.z * shape.z + rank / shape.x / shape.y};
    startCta(cluster, id, rank, chosen[rank]);
  }
  // Only now: an observer may look at the whole cluster.
  for (Cta *cta : cluster.ctas)
    machine.observe([&](Observer &observer) { observer.ctaBegins(*cta); });
  ++nextCluster;
}

void Scheduler::placeClusters() {
  std::vector<uint32_t> chosen;
  while (nextCluster < clusterCount && chooseSms(chosen))
    startCluster(chosen);
}

/// Ends CTAs without threads and clusters without CTAs. False: fault.
bool Scheduler::retire() {
  bool hasRoom = false;
  for (Cta *cta : resident) {
    if (cta->liveThreads)
      continue;
    if (!machine.forceAll(*cta))
      return false;
    machine.observe([&](Observer &observer) { observer.ctaEnds(*cta); });
    cta->hasEnded = true;
    --cta->cluster->liveCtas;
    machine.residentWarps -= warpsPerCta;
    take(sms[cta->sm], -1);
    hasRoom = true;
  }
  if (!hasRoom)
    return true;
  resident.erase(std::remove_if(resident.begin(), resident.end(), [](Cta *cta) { return cta->hasEnded; }),
                 resident.end());
  for (auto &cta : machine.ctas)
    if (cta && cta->cluster->liveCtas == 0)
      cta.reset();
  machine.clusters.erase(std::remove_if(machine.clusters.begin(), machine.clusters.end(),
                                        [](const auto &cluster) { return cluster->liveCtas == 0; }),
                         machine.clusters.end());
  placeClusters();
  return true;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Turns
//===--------------------------------------------------------------------------------------------------------------===//

/// One CTA for as long as it can run, in the depth-first orders.
uint64_t Scheduler::visit(Cta &cta) {
  uint64_t total = 0;
  for (uint32_t round = 0; round < kDeepRounds; ++round) {
    uint64_t ran = 0, before = machine.progressed();
    for (size_t i = 0; i < cta.warps.size(); ++i) {
      bool isReverse = machine.spec.options.interleaving == Interleaving::Reverse;
      Warp &warp = *cta.warps[isReverse ? cta.warps.size() - 1 - i : i];
      if (warp.live && warp.isRunnable())
        ran += warp.turn(kDeepTurn);
      if (machine.hasFault() || !machine.performDue())
        return total + ran;
    }
    total += ran;
    if (ran == 0 || (round && machine.progressed() == before) ||
        machine.result.warpInstructions > machine.spec.options.instructionLimit)
      break;
    round = machine.progressed() != before ? 0 : round;
  }
  return total;
}

/// Every warp has its turn. Returns the steps that did not wait.
uint64_t Scheduler::pass() {
  uint64_t ran = 0;
  if (machine.spec.options.interleaving != Interleaving::Random) {
    bool isReverse = machine.spec.options.interleaving == Interleaving::Reverse;
    for (size_t i = 0; i < resident.size() && !machine.hasFault(); ++i)
      ran += visit(*resident[isReverse ? resident.size() - 1 - i : i]);
    return ran;
  }
  uint32_t start = machine.random.below(uint32_t(resident.size()));
  for (size_t i = 0; i < resident.size(); ++i) {
    Cta &cta = *resident[(start + i) % resident.size()];
    uint32_t firstWarp = machine.random.below(uint32_t(cta.warps.size()));
    for (size_t j = 0; j < cta.warps.size(); ++j) {
      Warp &warp = *cta.warps[(firstWarp + j) % cta.warps.size()];
      if (!warp.live || !warp.isRunnable())
        continue;
      ran += warp.turn(kMinTurn + machine.random.below(2 * kMinTurn));
      if (machine.hasFault() || !machine.performDue())
        return ran;
    }
  }
  return ran;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Standstill
//===--------------------------------------------------------------------------------------------------------------===//

/// With memory unchanged a warp that is twice in the same state repeats itself for ever (Brent's way of seeing it: the
/// remembered state is renewed at powers of two).
bool Scheduler::allCycle() {
  bool all = true;
  for (Cta *cta : resident) {
    for (auto &warp : cta->warps) {
      if (!warp->live || !warp->isRunnable())
        continue;
      // While a split has yet to get its turn, nothing is proven.
      uint64_t hash = warp->stateHash() + warp->starvedSteps() * 0x9e3779b97f4a7c15ull;
      if (hash == warp->seenHash && warp->seenCount)
        warp->isCycling = true;
      if (++warp->seenCount >= warp->seenLimit) {
        warp->seenHash = hash;
        warp->seenLimit *= 2;
      }
      all &= warp->isCycling;
    }
  }
  return all;
}

/// Whether somebody waits for the grids in front: then it goes on when they have ended.
bool Scheduler::pause() {
  if (machine.hasGridsInFront)
    for (Cta *cta : resident)
      for (auto &warp : cta->warps)
        paused |= warp->live && warp->waitsFor(WaitKind::Grid);
  return paused;
}

/// After a pass: false if nothing will ever happen again (an error is set), for the time being (it pauses), or a fault.
bool Scheduler::unblock(uint64_t ran) {
  if (machine.progressed() != lastProgress) {
    lastProgress = machine.progressed();
    lastProgressTime = machine.now();
    isSuspect = false;
    return true;
  }
  if (ran == 0) {
    if (machine.performOldest())
      return true;
    if (!machine.hasFault() && !pause())
      reportDeadlock(false);
    return false;
  }
  if (machine.now() - lastProgressTime < kQuietSteps * std::max(machine.residentWarps, 1u))
    return true;
  if (machine.hasQueued())
    return machine.performOldest() || !machine.hasFault();
  if (!isSuspect) {
    isSuspect = true;
    for (Cta *cta : resident)
      for (auto &warp : cta->warps) {
        warp->seenCount = 0;
        warp->seenLimit = 1;
        warp->isCycling = false;
      }
  }
  // Hashing registers costs as much as a turn; long computations that write nothing pass here too.
  if (++quietPasses % kQuietPasses != 0 || !allCycle())
    return true;
  if (!pause())
    reportDeadlock(true);
  return false;
}

Error Scheduler::run() {
  if (paused) {
    paused = isSuspect = false;
    lastProgressTime = machine.now();
  } else {
    placeClusters();
  }
  if (resident.empty())
    return makeError(ErrorCode::Resource,
                     "a %s of %llu threads, %u registers per thread and %u bytes of shared memory per cta does not fit "
                     "on GPU %s",
                     machine.spec.cluster.count() > 1 ? "cluster" : "cta",
                     (unsigned long long)(machine.spec.block.count() * machine.spec.cluster.count()),
                     machine.entry.registersPerThread, sharedPerCta, std::string(machine.card.name).c_str());
  while (!resident.empty() && !machine.hasFault()) {
    uint64_t ran = pass();
    if (machine.hasFault() || !retire() || resident.empty())
      break;
    if (machine.result.warpInstructions > machine.spec.options.instructionLimit) {
      machine.setError(makeError(ErrorCode::Resource, "kernel %s: more than %llu warp instructions",
                                 machine.entry.name.c_str(),
                                 (unsigned long long)machine.spec.options.instructionLimit));
      break;
    }
    if (!unblock(ran))
      break;
  }
  return {};
}

Error Machine::run() {
  if (!scheduler) {
    observe([&](Observer &observer) { observer.launchBegins(*this); });
    scheduler = std::make_unique<Scheduler>(*this);
  }
  Error launchError = scheduler->run();
  if (launchError)
    setError(std::move(launchError));
  if (!error && scheduler->isPaused())
    return {};
  observe([&](Observer &observer) { observer.launchEnds(*this); });
  return std::move(error);
}

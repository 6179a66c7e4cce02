// One launch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything that lives from the start of a launch to its end: placement of CTAs on SMs, turns of warps, the queue of
// asynchronous operations, checks of memory accesses, faults and findings.
#ifndef WEFT_EMULATOR_EXEC_MACHINE_H
#define WEFT_EMULATOR_EXEC_MACHINE_H

#include "Emulator/Exec/Card.h"
#include "Emulator/Exec/GlobalMemory.h"
#include "Emulator/Exec/Launch.h"
#include "Emulator/Exec/Observer.h"

#include <memory>
#include <vector>

namespace weft::emu {

struct ModuleCode;
class Scheduler;

/// SplitMix64: the launch's only source of choice.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15ull + 0x632be59bd9b4e019ull) {}
  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  /// Uniform in [0, bound).
  uint32_t below(uint32_t bound) { return uint32_t((next() >> 32) * bound >> 32); }

private:
  uint64_t state;
};

class Machine {
public:
  Machine(const Card &card, GlobalMemory &global, const ModuleCode &module, const FunctionCode &entry,
          const LaunchSpec &spec, LaunchResult &result);
  ~Machine();
  /// Runs to the end, or, with grids in front, until nothing can run that does not wait for them: then it goes on with
  /// the next call.
  Error run();
  bool hasGridsInFront = false; ///< They have not ended: griddepcontrol.wait waits.
  void add(Observer &observer) { observers.push_back(&observer); }

  const Card &card;
  GlobalMemory &global;
  const ModuleCode &module;
  const FunctionCode &entry;
  const LaunchSpec &spec;
  LaunchResult &result;
  Random random;
  std::vector<std::byte> parameters; ///< The launch's parameter buffer.

  // ---- Memory.
  /// Checks bounds and alignment for every lane, replaces space and addresses as Access says and fills `host`; the
  /// observers see the record. False: fault() has been called. A generic access over several spaces must be split by
  /// the caller first (see splitGeneric).
  bool resolve(Access &access);
  /// For one lane of `access.mask` the space its generic address lies in; `members` receives the lanes that share it.
  MemorySpace splitGeneric(const Access &access, LaneMask rest, LaneMask &members) const;
  /// `bytes` of the shared memory of a CTA of `cta`'s cluster; null when out of bounds or the CTA has ended.
  std::byte *sharedPointer(const Cta &cta, uint32_t sharedAddress, uint32_t bytes) const;
  /// The CTA that a shared address names, seen from `cta`; null when there is none of that rank.
  Cta *sharedOwner(const Cta &cta, uint32_t sharedAddress) const;

  // ---- Asynchronous operations.
  /// Queues (or performs, if early) an operation whose warp, cta, step and lanes are set. False: fault.
  bool issue(std::shared_ptr<AsyncOp> op);
  /// Performs an operation now, if it has not been: the last moment has come. False: fault.
  bool force(AsyncOp &op);
  /// Time: warp steps executed.
  uint64_t now() const { return time; }
  /// Call when something changed that another warp may wait for (an mbarrier's phase, a barrier, memory).
  void progress() { ++progressCount; }

  // ---- Errors and findings.
  /// Ends the launch with an error: position(), ": " and the message. `lane` 32: the warp.
  Outcome fault(Warp &warp, const Step &step, unsigned lane, const char *format, ...)
      __attribute__((format(printf, 5, 6)));
  bool hasFault() const { return bool(error); }
  /// Adds a finding, or counts one more of the same kind at the same line. `lane` 32: the first lane of the warp.
  void find(std::string_view kind, Warp &warp, const Step &step, unsigned lane, uint64_t address, const char *format,
            ...) __attribute__((format(printf, 7, 8)));
  /// The function that a step belongs to.
  const FunctionCode &functionOf(const Step &step) const;
  /// "add.f32"
  const std::string &opcodeOf(const Step &step) const { return module.opcodes[step.opcode]; }

  // ---- Observers.
  std::vector<Observer *> observers;
  template <typename Call> void observe(Call &&call) {
    for (Observer *observer : observers)
      call(*observer);
  }

  // ---- The resident CTAs; slots of ended ones are null. Warps that have not ended are in `warps`.
  std::vector<std::unique_ptr<Cta>> ctas;
  std::vector<std::unique_ptr<Cluster>> clusters;

  // ---- For the scheduler and the warps.
  /// Lanes of a warp have ended: barriers that wait for all live threads may be complete, CTAs at their end.
  void lanesExited(Warp &warp, LaneMask mask);
  /// Performs what is due. False: fault.
  bool performDue() { return time < nextDue || performDueNow(); }
  /// Performs the oldest queued operation, if any; false: there is none, or a fault.
  bool performOldest();
  /// The last moment for all operations of a CTA that ends.
  bool forceAll(const Cta &cta);
  bool hasQueued() const { return !queue.empty(); }
  uint64_t progressed() const { return progressCount; }
  void setError(Error launchError) {
    if (!error)
      error = std::move(launchError);
  }
  uint64_t time = 0;
  uint32_t residentWarps = 0;
  /// "kernel K, line L:C, opcode, cta (x,y,z), thread (x,y,z)"; `lane` 32: "warp W".
  std::string place(const Warp &warp, const Step &step, unsigned lane) const;
  static constexpr size_t kMaxFindings = 256;

private:
  bool performDueNow();
  void sweepQueue();
  bool perform(AsyncOp &op);
  bool fillGlobal(Access &access);
  bool fillShared(Access &access);
  bool fillLocal(Access &access);
  bool fillParam(Access &access);
  bool failAccess(const Access &access, unsigned lane, const std::string &what);

  std::vector<std::shared_ptr<AsyncOp>> queue; ///< In order of issue.
  uint64_t nextDue = ~uint64_t(0);
  uint64_t progressCount = 0;
  uint64_t nextOp = 0;
  Error error;
  std::unique_ptr<Scheduler> scheduler; ///< From the begin of the launch on.
};

} // namespace weft::emu

#endif // WEFT_EMULATOR_EXEC_MACHINE_H

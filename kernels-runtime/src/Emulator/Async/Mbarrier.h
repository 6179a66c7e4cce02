// The state of one mbarrier.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An mbarrier counts pending arrivals and pending bytes (tx-count) of its current phase. When both are zero the phase
// completes: the pending count becomes the expected one and the next phase begins. Waiting tests whether a phase has
// completed, by the token that an arrival returned or by the parity of the phase.
//
// The 64 bits of the object and of a token are the emulator's own: bits 0-19 pending arrivals, 20-62 number of the
// phase, bit 63 set, so that zeros are no token.
#ifndef WEFT_EMULATOR_ASYNC_MBARRIER_H
#define WEFT_EMULATOR_ASYNC_MBARRIER_H

#include <cstdint>

namespace weft::emu {

/// What can be wrong with an operation on an mbarrier. Everything but None makes a finding.
enum class MbarrierFault : uint8_t {
  None,
  BadCount,        ///< A count that is not in 1 .. 2^20 - 1.
  TooManyArrivals, ///< More arrivals than are pending in the phase.
  CompletesPhase,  ///< .noComplete, but it would complete the phase.
  TxOverflow,      ///< The tx-count leaves -(2^20 - 1) .. 2^20 - 1.
  NotAToken,       ///< The state operand was not returned by an arrival.
  StaleToken,      ///< The token's phase is neither the current one nor the one before.
};
/// What is wrong, as the tail of a sentence about the operation.
const char *describe(MbarrierFault fault);

constexpr uint32_t kMaxMbarrierCount = (1u << 20) - 1;

class Mbarrier {
public:
  Mbarrier() = default;
  /// `count` must be in 1 .. kMaxMbarrierCount.
  explicit Mbarrier(uint32_t count) : expected(count), pending(count) {}

  static bool isCount(uint32_t count) { return count >= 1 && count <= kMaxMbarrierCount; }

  /// Arrives `count` times after adding `tx` expected bytes; with `isDrop` later phases expect so many fewer. The state
  /// from before it is the result (token()). The phase may complete, which phase() shows.
  MbarrierFault arrive(uint32_t count, uint32_t tx, bool isDrop, bool isNoComplete);
  MbarrierFault expectTx(uint32_t bytes);
  /// `bytes` of the expected have come; the phase may complete.
  MbarrierFault completeTx(uint32_t bytes);
  /// One more arrival is pending in this phase (cp.async.mbarrier.arrive without .noinc).
  MbarrierFault addPending();

  /// Whether the phase of `token` has completed.
  MbarrierFault testToken(uint64_t token, bool &isComplete) const;
  /// Whether the phase before the current one has this parity (0 or 1): true at once for parity 1 of a fresh barrier.
  bool testParity(uint32_t parity) const { return (phaseNumber & 1) != (parity & 1); }

  uint64_t token() const { return uint64_t(1) << 63 | (phaseNumber & kPhaseMask) << 20 | pending; }
  static uint32_t pendingOf(uint64_t token) { return uint32_t(token) & kMaxMbarrierCount; }

  uint64_t phase() const { return phaseNumber; }
  uint32_t pendingCount() const { return pending; }
  uint32_t expectedCount() const { return expected; }
  int32_t txCount() const { return tx; }
  /// True between the first arrival or byte of a phase and its completion.
  bool isInUse() const { return pending != expected || tx != 0; }

private:
  static constexpr uint64_t kPhaseMask = (uint64_t(1) << 43) - 1;
  void completeIfDone();

  uint32_t expected = 0;
  uint32_t pending = 0;
  int32_t tx = 0;
  uint64_t phaseNumber = 0;
};

} // namespace weft::emu

#endif // WEFT_EMULATOR_ASYNC_MBARRIER_H

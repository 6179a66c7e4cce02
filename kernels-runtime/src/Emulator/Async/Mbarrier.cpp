// The state of one mbarrier.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrivals, bytes and phases of an mbarrier. A faulty operation still does what it can, so that a run goes on after the
// finding: surplus arrivals count as if they were the last ones.
#include "Emulator/Async/Mbarrier.h"

#include <algorithm>

namespace weft::emu {

const char *describe(MbarrierFault fault) {
  switch (fault) {
  case MbarrierFault::None:
    return "";
  case MbarrierFault::BadCount:
    return "the count must be from 1 to 1048575";
  case MbarrierFault::TooManyArrivals:
    return "more arrivals than are pending in this phase";
  case MbarrierFault::CompletesPhase:
    return "a .noComplete arrival that completes the phase";
  case MbarrierFault::TxOverflow:
    return "the tx-count leaves the range of -1048575 to 1048575";
  case MbarrierFault::NotAToken:
    return "the state operand was not returned by an arrival";
  case MbarrierFault::StaleToken:
    return "the state is of a phase that is neither the current one nor the one before it";
  }
  return "";
}

void Mbarrier::completeIfDone() {
  if (pending != 0 || tx != 0)
    return;
  ++phaseNumber;
  pending = expected;
}

MbarrierFault Mbarrier::arrive(uint32_t count, uint32_t txBytes, bool isDrop, bool isNoComplete) {
  if (!isCount(count))
    return MbarrierFault::BadCount;
  MbarrierFault fault = txBytes ? expectTx(txBytes) : MbarrierFault::None;
  if (count > pending)
    fault = MbarrierFault::TooManyArrivals;
  uint32_t taken = std::min(count, pending);
  if (isDrop)
    expected -= std::min(expected, count);
  pending -= taken;
  if (pending == 0 && tx == 0 && isNoComplete && fault == MbarrierFault::None)
    fault = MbarrierFault::CompletesPhase;
  completeIfDone();
  return fault;
}

MbarrierFault Mbarrier::expectTx(uint32_t bytes) {
  int64_t sum = int64_t(tx) + bytes;
  if (sum > int64_t(kMaxMbarrierCount))
    return MbarrierFault::TxOverflow;
  tx = int32_t(sum);
  return MbarrierFault::None;
}

MbarrierFault Mbarrier::completeTx(uint32_t bytes) {
  int64_t sum = int64_t(tx) - bytes;
  if (sum < -int64_t(kMaxMbarrierCount))
    return MbarrierFault::TxOverflow;
  tx = int32_t(sum);
  completeIfDone();
  return MbarrierFault::None;
}

MbarrierFault Mbarrier::addPending() {
  if (pending >= kMaxMbarrierCount)
    return MbarrierFault::BadCount;
  ++pending;
  return MbarrierFault::None;
}

MbarrierFault Mbarrier::testToken(uint64_t token, bool &isComplete) const {
  isComplete = false;
  if (!(token >> 63))
    return MbarrierFault::NotAToken;
  uint64_t behind = (phaseNumber - (token >> 20)) & kPhaseMask;
  isComplete = behind != 0;
  return behind > 1 ? MbarrierFault::StaleToken : MbarrierFault::None;
}

} // namespace weft::emu

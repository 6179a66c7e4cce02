// A thread block and its cluster.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A resident thread block: its shared memory, named barriers and warps; and the cluster that it is part of (every CTA
// is in one, of one CTA when the launch has none).
#ifndef WEFT_EMULATOR_EXEC_CTA_H
#define WEFT_EMULATOR_EXEC_CTA_H

#include "Emulator/Exec/Warp.h"

#include <array>

namespace weft::emu {

class Cta;

/// A named barrier (bar.sync and friends).
struct Barrier {
  static constexpr uint32_t kAll = ~0u; ///< `expected`: every thread that lives.
  uint32_t arrived = 0;                 ///< Threads (whole warps count as 32) since the last completion.
  uint32_t expected = 0;                ///< Of the phase in progress; 0: none.
  uint64_t phase = 0;                   ///< Completions.
  uint32_t reduceOr = 0, reduceAnd = 1, reduceCount = 0; ///< bar.red of the phase in progress.
  uint32_t lastOr = 0, lastAnd = 1, lastCount = 0;       ///< ... of the last completed phase.
};

struct Cluster {
  Dim3 id;                 ///< %clusterid
  std::vector<Cta *> ctas; ///< By %cluster_ctarank.
  uint64_t phase = 0;      ///< Completions of barrier.cluster.
  uint32_t arrived = 0;    ///< Threads in the phase in progress.
  uint32_t liveThreads = 0;
  uint32_t liveCtas = 0;
};

class Cta {
public:
  Machine *machine = nullptr;
  Cluster *cluster = nullptr;
  Dim3 id;                     ///< %ctaid
  uint64_t linear = 0;         ///< Of %ctaid, x fastest.
  uint32_t rank = 0;           ///< %cluster_ctarank
  uint32_t sm = 0;             ///< %smid
  uint32_t slot = 0;           ///< Dense among resident CTAs; reused after the CTA has ended.
  std::byte *shared = nullptr; ///< sharedBytes, 128-byte aligned.
  uint32_t sharedBytes = 0;    ///< Static, then dynamic.
  uint32_t threads = 0;
  uint32_t liveThreads = 0;
  std::array<Barrier, 16> barriers;
  std::vector<std::unique_ptr<Warp>> warps;
  std::unique_ptr<AsyncState> asyncState;
  /// setmaxnreg: registers of the CTA's allotment that no warp holds, and what each warp holds per thread.
  int32_t freeRegisters = 0;
  std::vector<uint32_t> warpRegisters;
  std::vector<std::byte> sharedStorage;
  bool hasEnded = false; ///< Its cluster lives on.
};

} // namespace weft::emu

#endif // WEFT_EMULATOR_EXEC_CTA_H

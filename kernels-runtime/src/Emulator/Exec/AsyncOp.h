// Operations that complete later.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An asynchronous operation reads its sources (registers, too) and writes its results in one call of perform(), at some
// moment between issue and the last moment that the program may rely on. Machine holds the queue: `early` performs at
// issue, `random` at a moment drawn from the seed, `late` only when somebody forces it (a wait_group, the end of a CTA)
// or when no warp can run otherwise (a wait on an mbarrier).
#ifndef WEFT_EMULATOR_EXEC_ASYNCOP_H
#define WEFT_EMULATOR_EXEC_ASYNCOP_H

#include "Emulator/Exec/Program.h"

#include <memory>

namespace weft::emu {

class Machine;
class Cta;

enum class AsyncKind : uint8_t { CopyAsync, BulkCopy, TensorCopy, Prefetch, Wgmma, StoreAsync, Other };

class AsyncOp {
public:
  explicit AsyncOp(AsyncKind kind) : kind(kind) {}
  virtual ~AsyncOp() = default;
  /// Does it all. False: Machine::fault has been called.
  virtual bool perform(Machine &machine) = 0;

  const AsyncKind kind;
  bool isDone = false;
  uint64_t id = 0;      ///< Order of issue within the launch; set by Machine::issue.
  uint64_t due = 0;     ///< Machine::now() at which `random` performs it.
  Warp *warp = nullptr; ///< The issuer (of wgmma: the warp group's first warp). Outlives the operation.
  Cta *cta = nullptr;
  const Step *step = nullptr;
  LaneMask lanes = 0;
  /// Performed before this one, whatever the timing: operations of one kind that complete in order.
  std::shared_ptr<AsyncOp> previous;
};

/// What Async/ keeps per warp or per CTA (groups, in-flight wgmma): owned by the warp or CTA, created by Async/.
class AsyncState {
public:
  virtual ~AsyncState() = default;
};

} // namespace weft::emu

#endif // WEFT_EMULATOR_EXEC_ASYNCOP_H

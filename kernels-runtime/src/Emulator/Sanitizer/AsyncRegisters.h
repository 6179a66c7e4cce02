// Registers that unfinished operations still use.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// wgmma.mma_async reads A registers and reads and writes its accumulators at any time before the wait_group that
// covers it. Until then no other instruction may touch the accumulators or write the A registers; another wgmma may
// accumulate into the same ones.
#ifndef WEFT_EMULATOR_SANITIZER_ASYNCREGISTERS_H
#define WEFT_EMULATOR_SANITIZER_ASYNCREGISTERS_H

#include "Emulator/Exec/AsyncOp.h"

#include <vector>

namespace weft::emu {

class AsyncRegisters {
public:
  bool empty() const { return pending.empty(); }
  /// The warp's activation `frame` lends registers of `step` (function `code`) to the operation that it begins.
  void lend(const Step &step, const FunctionCode &code, const void *frame);
  /// The oldest operation is done: they complete in order.
  void giveBackOldest();
  /// The step whose operation still owns a register that `step` uses in a way it must not; null when none does.
  const Step *conflict(const Step &step, const FunctionCode &code, const void *frame) const;

private:
  struct Lent {
    const Step *step;
    const FunctionCode *code;
    const void *frame;
  };
  void mark(const Lent &lent);
  std::vector<Lent> pending;
  /// By slot / 4, of the frame of pending[0]: what pending operations use it for; Role::Use stands for nothing.
  std::vector<Role> lentRoles;
};

} // namespace weft::emu

#endif // WEFT_EMULATOR_SANITIZER_ASYNCREGISTERS_H

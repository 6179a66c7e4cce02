// Loops that stream global memory through registers: several iterations' loads under way.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_SCHEDULE_PIPELINE_STREAMS_H
#define WEFT_LIB_SCHEDULE_PIPELINE_STREAMS_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace weft::schedule {

/// Whether the loop's body loads from global memory and else computes in registers: no channel, no barrier, no store,
/// no dot but those of registers, no other loop.
bool isStream(mlir::scf::ForOp loop);
/// Whether the body has dots of registers whose elements along k have an order of their own (weft-tk-stage).
bool multipliesRegisters(mlir::scf::ForOp loop);
/// Whether warpgroups unpack the left operand of a dot, the other of which another role copies.
bool unpacksBesideCopies(mlir::scf::ForOp loop);

/// Repeats the body of a stream of a known number of steps `steps` times, as often as it goes into it and at most once
/// a step of the loop; what is left over becomes a loop of its own. False if there is nothing to repeat.
bool unrollStream(mlir::scf::ForOp loop, int64_t steps);

/// Loads of an iteration, at most `mostWords` words of a thread, begin `distance` iterations before: their tiles are
/// carried. The last iteration loads its own again. What they read is not written by the loop. `only`: those alone, if
/// there are any. How many.
int64_t carryLoads(mlir::scf::ForOp &loop, int64_t threads, int64_t mostWords, int64_t distance,
                   llvm::ArrayRef<mlir::Operation *> only = {});
/// The same of what warps unpack in the registers that multiply: `stages` iterations are under way, the one that is
/// computed among them, in at most `mostWords` words of a thread, and the body is there once for each.
int64_t streamUnpacked(mlir::scf::ForOp loop, int64_t threads, int64_t mostWords, int64_t stages);
/// The same of loops in which warpgroups unpack an operand: as many iterations ahead as registers last.
int64_t carryPacked(mlir::scf::ForOp loop);

/// Whether threads store operands of the body's dots to shared memory, and no copies come beside them.
bool storesOperands(mlir::scf::ForOp loop);
/// The same of loads that such operands are computed from, as many iterations ahead as `mostWords` words of a thread
/// last (half of them where nobody knows the number of iterations): an iteration begins a later one's first of all, so
/// that they come while it multiplies.
int64_t carryOperands(mlir::scf::ForOp &loop, int64_t threads, int64_t mostWords);

/// Moves loads of the loop's body from global memory ahead of the reductions that they do not need, behind whose
/// exchange between warps no assembler begins them earlier. Nothing in the loop writes, and it has no dots, whose
/// operands want the registers. How many have moved.
int64_t hoistLoads(mlir::scf::ForOp loop);

} // namespace weft::schedule

#endif // WEFT_LIB_SCHEDULE_PIPELINE_STREAMS_H

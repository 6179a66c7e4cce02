// Flags in global memory by which a part of a launch knows that another one is ready.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CTAs begin in the order of their numbers: no card does otherwise, and CUB's scans and CUTLASS's stream-K wait for
// CTAs with smaller numbers too. So a CTA that waits for parts in front of its own waits for what runs or has run,
// however many CTAs fit the card. (Tickets, which would prove it, cost each CTA a round trip to L2 before it knows its
// work: 0.5 us of a launch that takes 3.)
//
// A part that is read has a counter for each block of its rows (one if its CTAs are not known to go by rows), which
// each CTA of the block raises. A reader waits for the blocks that hold what its own block reads. Counters are never
// set back: after e launches a counter stands at e times what one launch raises it by, modulo 2^32. A CTA that waits
// has a word of its own that holds e; nobody else touches it, so no CTA waits for others to read or write it. Launches
// of one module on one session come one after the other, and its memory is the session's own.
#ifndef WEFT_EMIT_MERGE_FLAGS_H
#define WEFT_EMIT_MERGE_FLAGS_H

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "weft/Emit/LaunchPart.h"

namespace weft::emit {

/// Of a part that is read: counters [first, first + blocks), one for every `ctas` of its `grid` CTAs.
struct Counters {
  int64_t first = 0, blocks = 0, ctas = 0, grid = 0;
};

/// Counters to wait for: of `of`, those of the blocks `from` to `to` (i32), which are inside.
struct Awaited {
  Counters of;
  mlir::Value from, to;
};

/// Makes code at a builder's place, which is behind it then; blocks are split.
class Flags {
public:
  /// Makes the module's counters 0 to `counters` - 1, and a word for each of the launch's `grid` CTAs.
  Flags(mlir::OpBuilder &builder, mlir::ModuleOp module, int64_t counters, int64_t grid);

  /// The first thread of CTA `cta` of `grid` asks L2 for the CTA's share of a tensor (sm_90 and up).
  void prefetch(mlir::Location loc, mlir::Value tensor, int64_t bytes, int64_t grid, mlir::Value cta);
  /// Until the kernels before have ended: they may use the same counters.
  void waitForGrids(mlir::Location loc);
  /// Until all CTAs of the blocks have raised their counters; `threads` threads of the CTA, which poll side by side, go
  /// on together then.
  void wait(mlir::Location loc, llvm::ArrayRef<Awaited> awaited, int64_t threads, bool readsInBulk);
  /// What `threads` threads of the part's CTA `cta` have written can be seen by who waits for its block.
  /// `waitsForGrids`: the thread that does it waits first.
  void raise(mlir::Location loc, const Counters &counters, mlir::Value cta, int64_t threads, bool writesInBulk,
             bool waitsForGrids);

private:
  mlir::Value makeAddress(mlir::Location loc, mlir::Value counter);
  /// The word of the CTA that runs.
  mlir::Value makeEpochAddress(mlir::Location loc);
  void pollBlocks(mlir::Location loc, const Awaited &awaited, int64_t threads, mlir::Value launches);
  mlir::Value makeInt(mlir::Location loc, int64_t value, unsigned bits = 32);
  mlir::Value makeAsm(mlir::Location loc, mlir::Type type, mlir::ValueRange operands, llvm::StringRef text,
                      llvm::StringRef constraints);
  mlir::Block *addBlock();
  void branch(mlir::Location loc, mlir::Block *to, mlir::ValueRange operands = {});
  /// What is inserted next only runs where `condition` holds; goes on at the returned block.
  mlir::Block *beginIf(mlir::Location loc, mlir::Value condition);
  mlir::Value isFirstThread(mlir::Location loc);

  mlir::OpBuilder &builder;
  mlir::LLVM::GlobalOp storage;
  int64_t counters;
};

/// Whether `op`, in `function`, takes a path that does not see what other CTAs write (an invariant load, ld.global.nc)
/// to a parameter that they write, as `isWritten` says for each. An address that cannot be followed counts as such.
bool isStaleLoad(mlir::Operation *op, llvm::ArrayRef<bool> isWritten);
/// Turns such a load into one that sees it, and stays where it is.
void makeCoherent(mlir::Operation *load);

} // namespace weft::emit

#endif // WEFT_EMIT_MERGE_FLAGS_H

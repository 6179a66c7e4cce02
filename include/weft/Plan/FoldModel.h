// The time of a fold with products on a GPU, by its tile: what the planner minimises over tiles and parts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A CTA has rows, walks the stream in steps, and in each step multiplies (scores), maps (a row's maximum, exponentials,
// sums) and multiplies again. A step costs the most of: matrix pipe, maps, L2, one warp's or warpgroup's way through
// all of it alone; and a chain of latencies beside that no pipe hides. The GPU as a whole is bound by DRAM.
#ifndef WEFT_PLAN_FOLDMODEL_H
#define WEFT_PLAN_FOLDMODEL_H

#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "weft/Target/Device.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace weft::plan {

/// Instructions of an SM for one score.
struct ScoreWork {
  double special = 0, plain = 0; ///< In the pipe of special functions, and in that of f32.
};

/// What a fold of matrices comes down to.
struct FoldProblem {
  llvm::SmallVector<int64_t> rows; ///< Extents of dimensions.
  int64_t columns = 1;             ///< Of the result; whole pieces of an instruction.
  int64_t width = 1;               ///< Elements of a buffer's row for them.
  int64_t depth = 1;               ///< Of the products that make the scores.
  int64_t batch = 1;               ///< The fold's parts among them.
  int64_t streamed = 1;            ///< Elements of (the longest part of) the stream.
  int64_t longestStep = 128;
  int64_t bytes = 2;      ///< Of an element of the products' operands.
  bool hasMatrix = false; ///< The matrix units have products of that type.
  ScoreWork score;
  double besideBytes = 0;   ///< Of a score: tiles of tensors that maps read beside it.
  double operandBytes = 0;  ///< Of everything that is read, once.
  double resultBytes = 0;   ///< Of all results.
  bool isPlain = false;     ///< Maps hold nothing but scores: no other tile, no mask but of indices.
  bool isMasked = false;    ///< A mask of indices chooses some scores.
  bool isInParts = false;   ///< Results are states.
  bool isKnown = true;      ///< The stream's extent is.
  bool isMergeable = false; ///< Several CTAs may have parts of a tile's stream: states merge, extents are known.
  /// Of `rows`: later positions take more steps, those up to position + base (a causal mask).
  std::optional<unsigned> growing;
  int64_t growingBase = 0;

  int64_t getRows() const;
};

struct FoldTile {
  llvm::SmallVector<int64_t> rows; ///< By the problem's dimensions of rows.
  int64_t numRows = 16;            ///< Of all of them; whole instructions.
  int64_t step = 64, columnTiles = 1;
  int64_t warps = 4, stages = 2;
  tg::Engine engine = tg::Engine::Simt;
  bool persistent = false;
  /// Tiles ahead of those whose steps `parts` CTAs share; 1: none does.
  int64_t whole = 0, parts = 1;
};

struct FoldCost {
  bool fits = false;
  double seconds = 0;
  int64_t ctasPerSm = 0, tiles = 0;
  double stepSeconds = 0; ///< Of a CTA among those that run at once on its SM.
  const char *bound = ""; ///< "matrix", "maps", "l2", "latency", "dram".
};

/// The contraction that a fold sums up over its stream; null if there is none.
tg::ContractOp findFoldSum(tg::FoldOp fold);

/// The fold as one kernel, without what stands beside it; extents by estimates. Dimensions of `sum`'s result that only
/// its streamed operand has are rows, in their order, those that only the other has are columns, the rest is batch.
FoldProblem describeFold(tg::FoldOp fold, tg::ContractOp sum);

FoldCost estimateFold(const FoldProblem &problem, const FoldTile &tile, const Device &device);

/// The cheapest tile; always finds one.
struct FoldTileChoice {
  FoldTile tile;
  FoldCost cost;
};
FoldTileChoice chooseFoldTile(const FoldProblem &problem, const Device &device);

/// Whether warpgroups should take turns at the matrix unit: left alone, they come to their products at the same time,
/// and then to their maps.
bool takesTurns(const FoldProblem &problem, const FoldTile &tile, const Device &device);

} // namespace weft::plan

#endif // WEFT_PLAN_FOLDMODEL_H

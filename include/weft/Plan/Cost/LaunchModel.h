// What the blocks of a launch read and write.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A launch as data: its arrays, and for every stage (one, or two that depend on each other) the boxes of the arrays
// that a block touches in each step, as affine functions of the block's tile and the step. GEMMs, chains of two and
// attention are made here; whatever has affine accesses can be described.
#ifndef WEFT_PLAN_COST_LAUNCHMODEL_H
#define WEFT_PLAN_COST_LAUNCHMODEL_H

#include "weft/Plan/Cost/CacheModel.h"
#include "weft/Traversal/Traversal.h"

namespace weft::plan {

/// A matrix in memory: `outers` rows of `rowBytes` contiguous bytes, each row from the start of a line on.
struct ArrayModel {
  std::string name;
  int64_t outers = 1, rowBytes = 1;
};

/// The loops that a stage has, outermost first: rows of tiles, columns of tiles, steps.
enum class LaunchLoop : uint8_t { Row, Col, Step };

/// factor * (number / divisor % modulus) of a loop's number: one of several dimensions that a loop goes over. Modulus
/// 0: none.
struct LoopTerm {
  LaunchLoop loop = LaunchLoop::Row;
  int64_t divisor = 1, modulus = 0, factor = 0;

  int64_t getValue(int64_t number) const { return factor * (modulus ? number / divisor % modulus : number / divisor); }
};

/// base + perRow * (row / rowDivisor) + perCol * col + perStep * step + the terms.
struct AffineIndex {
  int64_t base = 0, perRow = 0, perCol = 0, perStep = 0;
  std::vector<LoopTerm> terms;

  int64_t getValue(int64_t row, int64_t col, int64_t step, int64_t rowDivisor = 1) const {
    int64_t value = base + perRow * (row / rowDivisor) + perCol * col + perStep * step;
    for (const LoopTerm &term : terms)
      value += term.getValue(term.loop == LaunchLoop::Row ? row : term.loop == LaunchLoop::Col ? col : step);
    return value;
  }
  /// Whether the loop's number is in it.
  bool depends(LaunchLoop loop) const;
};

/// A box of an array, `outers` rows of `bytes` bytes, cut at the array's ends.
struct AccessModel {
  enum class When : uint8_t { EachStep, FirstStep, LastStep };

  int32_t array = 0;
  AffineIndex outer, byte;
  int64_t outers = 1, bytes = 1;
  int64_t rowDivisor = 1; ///< Several tile rows that share (heads of a group).
  When when = When::EachStep;
  bool isWrite = false;
  CacheHint hint = CacheHint::Normal;
};

/// What an access does from one iteration of a loop to the next: touches a new box, one that overlaps the last, the
/// same one again; a result in the same position is summed up (or written once, at the end).
enum class ReuseClass : uint8_t { New, Window, Again, Sum };
ReuseClass classifyReuse(const AccessModel &access, LaunchLoop loop);

/// One stage: tiles of a grid, each with a number of steps.
struct StageModel {
  TileGrid grid;
  int64_t steps = 1;
  /// Above 0: a tile takes ceil(((position + 1) * causalRows + causalBase) / causalCols) steps, at least 1 and at most
  /// `steps`. The position is the tile's column unless `causalPlace` says otherwise.
  int64_t causalRows = 0, causalCols = 1, causalBase = 0;
  AffineIndex causalPlace = {0, 0, 1, 0, {}};
  bool isStatic = false; ///< A position takes every resident-th block, not the next one that is free.
  std::vector<AccessModel> accesses;
  double operations = 0; ///< Of the whole stage; a multiply-add counts two.

  int64_t getSteps(int64_t tileRow, int64_t tileCol) const;
};

/// A tile of stage 1 may start when all tiles of its row in stage 0 are done.
struct LaunchModel {
  std::string name;
  std::vector<ArrayModel> arrays;
  std::vector<StageModel> stages; ///< One or two.

  std::vector<TileGrid> getGrids() const;
  /// Bytes of what is read but not written here, plus bytes of what is written but not read here: each must cross once.
  int64_t getCompulsoryReads() const;
  int64_t getCompulsoryWrites() const;
};

/// Eviction priorities of arrays by name: "A=evict_last,B=evict_first"; `normal` is what accesses have without. Fails
/// (false, `error`) for names that are not there.
bool applyHints(const std::string &text, LaunchModel &launch, std::string &error);

/// C[m,n] = A[m,k] B; extents and tiles in elements, sizes of elements in bytes. B is [k,n], or [n,k] if
/// `isRhsTransposed`.
struct GemmModelShape {
  int64_t m = 1, n = 1, k = 1;
  int64_t tileM = 128, tileN = 128, tileK = 64;
  int64_t elementBytes = 2, resultBytes = 2;
  bool isRhsTransposed = false;
  CacheHint lhsHint = CacheHint::Normal, rhsHint = CacheHint::Normal, resultHint = CacheHint::Normal;
};
LaunchModel makeGemmLaunch(const GemmModelShape &shape);

/// C[m,l] = A[m,k] B[k,l], E[m,n] = f(C) D[l,n]; one tile shape for both.
struct ChainModelShape {
  int64_t m = 1, k = 1, l = 1, n = 1;
  int64_t tileM = 128, tileN = 128, tileK = 64;
  int64_t elementBytes = 2;
};
LaunchModel makeChainLaunch(const ChainModelShape &shape);

/// Softmax attention by folds: grid of heads (rows) x query tiles (columns). `heads` counts batch x heads, `group`
/// heads share keys and values. A causal tile stops at its diagonal.
struct AttentionModelShape {
  int64_t heads = 1, group = 1, queries = 1, keys = 1, headDim = 128;
  int64_t tileQueries = 128, tileKeys = 128;
  int64_t elementBytes = 2;
  bool isCausal = false;
};
LaunchModel makeAttentionLaunch(const AttentionModelShape &shape);

} // namespace weft::plan

#endif // WEFT_PLAN_COST_LAUNCHMODEL_H

// Matrix instructions and shared memory of a launch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counted by warps, as profilers do. An instruction takes 32 bytes along the reduction: wgmma 64 rows of a warpgroup
// (four warps, each counts) by up to 256 columns, mma.sync 16 rows by 8 columns of a warp. Tiles are computed whole, at
// the edges too. Shared memory serves 128 bytes a wavefront: wgmma reads both operands there (the second product of
// attention has its left one in registers), mma.sync's warps load the rows and columns of their part of the tile;
// results go through it once.
#include "weft/Plan/Cost/Counters.h"

#include <algorithm>

using namespace weft;
using namespace weft::plan;

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

namespace {
/// A product of tiles: m x k by k x n elements.
struct TileProduct {
  int64_t m, n, k;
  bool isLeftInRegisters = false;
};
} // namespace

static double countMatrix(const TileProduct &p, const Configuration &c) {
  int64_t depth = ceilDiv(p.k * c.elementBytes, 32);
  if (c.engine == MatrixEngine::Wgmma)
    return double(4 * ceilDiv(p.m, 64) * ceilDiv(p.n, 256) * depth);
  return c.engine == MatrixEngine::Mma ? double(ceilDiv(p.m, 16) * ceilDiv(p.n, 8) * depth) : 0;
}

/// Bytes of shared memory that the instructions of a tile's step read.
static double countReads(const TileProduct &p, const Configuration &c) {
  double lhs = p.isLeftInRegisters ? 0 : double(p.m * p.k * c.elementBytes), rhs = double(p.n * p.k * c.elementBytes);
  if (c.engine == MatrixEngine::Wgmma)
    return lhs + rhs * double(ceilDiv(p.m, 64));
  // Warps in the most nearly square grid.
  int64_t rows = 1;
  while (rows * rows * 4 <= c.warps && p.m / (rows * 2) >= 16)
    rows *= 2;
  return lhs * double(std::max<int64_t>(c.warps / rows, 1)) + rhs * double(rows);
}

static double countSteps(const StageModel &stage) {
  if (!stage.causalRows)
    return double(stage.steps) * double(stage.grid.rows) * double(stage.grid.cols);
  double steps = 0;
  for (int64_t row = 0; row < stage.grid.rows; ++row)
    for (int64_t col = 0; col < stage.grid.cols; ++col)
      steps += double(stage.getSteps(row, col));
  return steps;
}

static void setCounters(bool isGmma, double instructions, double bytes, Counters &counters) {
  counters["sm__inst_executed_pipe_tensor.sum"] = instructions;
  counters[isGmma ? "sm__inst_executed_pipe_tensor_op_gmma.sum" : "sm__inst_executed_pipe_tensor_op_hmma.sum"] =
      instructions;
  counters["l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"] = bytes / 128;
}

/// Of a kernel as it was compiled; its results go through shared memory once.
static void countCompiled(const Configuration &c, const MatrixWork &work, Counters &counters) {
  const StageModel &stage = c.launch.stages.front();
  double steps = work.perStep > 0 ? countSteps(stage) : 0;
  if (work.fixed > 0) // The pipeline took one step of each tile out of the loop.
    steps = std::max(steps - work.tiles, 0.0);
  double bytes = work.tiles * work.fixedBytes + steps * work.perStepBytes;
  for (const AccessModel &access : stage.accesses)
    if (access.isWrite)
      bytes += double(stage.grid.rows * stage.grid.cols) * double(access.outers) * double(access.bytes);
  setCounters(work.isGmma, work.tiles * work.fixed + steps * work.perStep, bytes, counters);
}

void weft::plan::countInstructions(const Configuration &c, Counters &counters) {
  if (c.matrix && c.launch.stages.size() == 1)
    return countCompiled(c, *c.matrix, counters);
  if (c.kind == Configuration::Kind::Tiles || (c.engine != MatrixEngine::Mma && c.engine != MatrixEngine::Wgmma))
    return;
  bool isAttention = c.kind == Configuration::Kind::Attention;
  std::vector<TileProduct> products = {{c.tileM, c.tileN, isAttention ? c.headDim : c.tileK}};
  if (isAttention)
    products.push_back({c.tileM, c.headDim, c.tileN, /*isLeftInRegisters=*/true});
  double instructions = 0, bytes = 0;
  for (const StageModel &stage : c.launch.stages) {
    double steps = countSteps(stage);
    for (const TileProduct &product : products) {
      instructions += steps * countMatrix(product, c);
      bytes += steps * countReads(product, c);
    }
    int64_t columns = isAttention ? c.headDim : c.tileN;
    bytes += double(stage.grid.rows * stage.grid.cols * c.tileM * columns * c.elementBytes);
  }
  setCounters(c.engine == MatrixEngine::Wgmma, instructions, bytes, counters);
}

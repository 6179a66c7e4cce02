// What the blocks of a launch read and write.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The launches with names: a GEMM, two that depend on each other, attention.
#include "weft/Plan/Cost/LaunchModel.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

using namespace weft::plan;
using When = AccessModel::When;

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t StageModel::getSteps(int64_t tileRow, int64_t tileCol) const {
  if (!causalRows)
    return steps;
  constexpr int64_t most = int64_t(1) << 31;
  int64_t place = std::clamp(causalPlace.getValue(tileRow, tileCol, 0), -most, most);
  return std::clamp<int64_t>(ceilDiv((place + 1) * causalRows + causalBase, causalCols), 1, steps);
}

bool AffineIndex::depends(LaunchLoop loop) const {
  int64_t linear = loop == LaunchLoop::Row ? perRow : loop == LaunchLoop::Col ? perCol : perStep;
  return linear || std::any_of(terms.begin(), terms.end(),
                               [&](const LoopTerm &term) { return term.loop == loop && term.factor; });
}

ReuseClass weft::plan::classifyReuse(const AccessModel &access, LaunchLoop loop) {
  // The shortest step, of the loop's own number or of a dimension in it.
  auto advance = [&](const AffineIndex &index) {
    int64_t least = loop == LaunchLoop::Row ? index.perRow : loop == LaunchLoop::Col ? index.perCol : index.perStep;
    for (const LoopTerm &term : index.terms)
      if (term.loop == loop && term.factor && (!least || std::abs(term.factor) < std::abs(least)))
        least = term.factor;
    return least;
  };
  auto repeats = [&](const AffineIndex &index) {
    return std::any_of(index.terms.begin(), index.terms.end(),
                       [&](const LoopTerm &term) { return term.loop == loop && (term.divisor > 1 || term.modulus); });
  };
  bool isOnce = loop == LaunchLoop::Step && access.when != When::EachStep;
  int64_t outer = advance(access.outer), byte = advance(access.byte);
  if (isOnce || (!outer && !byte))
    return access.isWrite ? ReuseClass::Sum : ReuseClass::Again;
  // Boxes overlap if they do in both directions; rows that share (a group of heads) touch the same box several times.
  bool overlaps = std::abs(outer) < access.outers && std::abs(byte) < access.bytes;
  bool shares = (loop == LaunchLoop::Row && access.rowDivisor > 1) || repeats(access.outer) || repeats(access.byte);
  return overlaps || shares ? ReuseClass::Window : ReuseClass::New;
}

std::vector<TileGrid> LaunchModel::getGrids() const {
  std::vector<TileGrid> grids;
  for (const StageModel &stage : stages)
    grids.push_back(stage.grid);
  return grids;
}

/// Bytes of the arrays that are only read, or only written.
static int64_t sumArrays(const LaunchModel &launch, bool wantsWritten) {
  std::vector<bool> isRead(launch.arrays.size()), isWritten(launch.arrays.size());
  for (const StageModel &stage : launch.stages)
    for (const AccessModel &access : stage.accesses)
      (access.isWrite ? isWritten : isRead)[access.array] = true;
  int64_t bytes = 0;
  for (size_t i = 0; i < launch.arrays.size(); ++i)
    if (wantsWritten ? isWritten[i] && !isRead[i] : isRead[i] && !isWritten[i])
      bytes += launch.arrays[i].outers * launch.arrays[i].rowBytes;
  return bytes;
}

int64_t LaunchModel::getCompulsoryReads() const { return sumArrays(*this, false); }
int64_t LaunchModel::getCompulsoryWrites() const { return sumArrays(*this, true); }

bool weft::plan::applyHints(const std::string &text, LaunchModel &launch, std::string &error) {
  static constexpr std::string_view names[] = {"evict_first", "normal", "evict_last"};
  error.clear();
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    std::string part = text.substr(begin, end - begin);
    size_t equals = std::min(part.find('='), part.size());
    std::string name = part.substr(0, equals), hint = part.substr(std::min(equals + 1, part.size())), known;
    auto array = std::find_if(launch.arrays.begin(), launch.arrays.end(), [&](const ArrayModel &candidate) {
      known += (known.empty() ? "" : ", ") + candidate.name;
      return candidate.name == name;
    });
    const auto *value = std::find(std::begin(names), std::end(names), hint);
    if (array == launch.arrays.end())
      error = "hints: expected an array of " + known + ", got '" + name.substr(0, 40) + "'";
    else if (value == std::end(names))
      error = "hints: " + name + ": expected evict_first, normal or evict_last";
    if (!error.empty())
      return false;
    for (StageModel &stage : launch.stages)
      for (AccessModel &access : stage.accesses)
        if (access.array == array - launch.arrays.begin())
          access.hint = CacheHint(value - std::begin(names));
    begin = end + 1;
  }
  return true;
}

namespace {
/// The numbers of the three arrays of a product, and whether B lies as [n, k].
struct ProductArrays {
  int32_t lhs, rhs, result;
  bool isRhsTransposed = false;
};

/// A product's tile shape; bytes of elements of the operands and of the result.
struct ProductTile {
  int64_t m, n, k, elementBytes, resultBytes;
};
} // namespace

static StageModel makeProduct(int64_t m, int64_t n, int64_t k, const ProductTile &tile, const ProductArrays &arrays) {
  StageModel stage;
  stage.grid = {ceilDiv(m, tile.m), ceilDiv(n, tile.n)};
  stage.steps = ceilDiv(k, tile.k);
  stage.operations = 2.0 * double(m) * double(n) * double(k);
  AccessModel lhs, rhs, result;
  lhs.array = arrays.lhs;
  lhs.outer.perRow = lhs.outers = tile.m;
  lhs.byte.perStep = lhs.bytes = tile.k * tile.elementBytes;
  rhs.array = arrays.rhs;
  if (arrays.isRhsTransposed) {
    rhs.outer.perCol = rhs.outers = tile.n;
    rhs.byte.perStep = rhs.bytes = tile.k * tile.elementBytes;
  } else {
    rhs.outer.perStep = rhs.outers = tile.k;
    rhs.byte.perCol = rhs.bytes = tile.n * tile.elementBytes;
  }
  result.array = arrays.result;
  result.outer.perRow = result.outers = tile.m;
  result.byte.perCol = result.bytes = tile.n * tile.resultBytes;
  result.when = When::LastStep;
  result.isWrite = true;
  stage.accesses = {lhs, rhs, result};
  return stage;
}

LaunchModel weft::plan::makeGemmLaunch(const GemmModelShape &s) {
  LaunchModel launch;
  launch.name = "gemm";
  launch.arrays = {{"A", s.m, s.k * s.elementBytes},
                   {"B", s.isRhsTransposed ? s.n : s.k, (s.isRhsTransposed ? s.k : s.n) * s.elementBytes},
                   {"C", s.m, s.n * s.resultBytes}};
  ProductTile tile{s.tileM, s.tileN, s.tileK, s.elementBytes, s.resultBytes};
  launch.stages = {makeProduct(s.m, s.n, s.k, tile, {0, 1, 2, s.isRhsTransposed})};
  launch.stages[0].accesses[0].hint = s.lhsHint;
  launch.stages[0].accesses[1].hint = s.rhsHint;
  launch.stages[0].accesses[2].hint = s.resultHint;
  return launch;
}

LaunchModel weft::plan::makeChainLaunch(const ChainModelShape &s) {
  LaunchModel launch;
  launch.name = "chain";
  int64_t b = s.elementBytes;
  launch.arrays = {
      {"A", s.m, s.k * b}, {"B", s.k, s.l * b}, {"C", s.m, s.l * b}, {"D", s.l, s.n * b}, {"E", s.m, s.n * b}};
  ProductTile tile{s.tileM, s.tileN, s.tileK, b, b};
  launch.stages = {makeProduct(s.m, s.l, s.k, tile, {0, 1, 2}), makeProduct(s.m, s.n, s.l, tile, {2, 3, 4})};
  return launch;
}

LaunchModel weft::plan::makeAttentionLaunch(const AttentionModelShape &s) {
  LaunchModel launch;
  launch.name = "attention";
  int64_t kvHeads = ceilDiv(s.heads, s.group), row = s.headDim * s.elementBytes;
  launch.arrays = {{"Q", s.heads * s.queries, row},
                   {"K", kvHeads * s.keys, row},
                   {"V", kvHeads * s.keys, row},
                   {"O", s.heads * s.queries, row}};
  StageModel stage;
  stage.grid = {s.heads, ceilDiv(s.queries, s.tileQueries)};
  stage.steps = ceilDiv(s.keys, s.tileKeys);
  if (s.isCausal) {
    stage.causalRows = s.tileQueries;
    stage.causalCols = s.tileKeys;
  }
  double pairs = double(s.queries) * double(s.keys) * (s.isCausal ? 0.5 : 1);
  stage.operations = 4.0 * double(s.heads) * pairs * double(s.headDim);
  AccessModel query, key;
  query.outer.perRow = s.queries;
  query.outer.perCol = query.outers = s.tileQueries;
  query.bytes = key.bytes = row;
  query.when = When::FirstStep;
  key.array = 1;
  key.outer.perRow = s.keys;
  key.outer.perStep = key.outers = s.tileKeys;
  key.rowDivisor = s.group;
  AccessModel value = key, result = query;
  value.array = 2;
  result.array = 3;
  result.when = When::LastStep;
  result.isWrite = true;
  stage.accesses = {query, key, value, result};
  launch.stages = {stage};
  return launch;
}

// Blocked register layouts and shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileKernel/Layout/Builders.h"

#include <algorithm>

namespace weft::layout {

std::optional<unsigned> exactLog2(uint64_t value) {
  for (unsigned bits = 0; bits <= LinearLayout::maxBits; ++bits)
    if (value == uint64_t(1) << bits)
      return bits;
  return std::nullopt;
}

std::string dimName(unsigned dim) { return "dim" + std::to_string(dim); }

static std::optional<std::vector<unsigned>> log2All(const Extents &extents) {
  std::vector<unsigned> result;
  for (uint64_t extent : extents) {
    std::optional<unsigned> bits = exactLog2(extent);
    if (!bits)
      return std::nullopt;
    result.push_back(*bits);
  }
  return result;
}

static bool isOrder(const std::vector<unsigned> &order, size_t rank) {
  std::vector<bool> seen(rank, false);
  for (unsigned dim : order) {
    if (dim >= rank || seen[dim])
      return false;
    seen[dim] = true;
  }
  return order.size() == rank && rank > 0;
}

namespace {
/// Hands out the bits of a tile, dimension by dimension from the lowest; beyond the tile a bit is a broadcast.
class TileBits {
public:
  explicit TileBits(const std::vector<unsigned> &shape) : used(shape.size(), 0) {
    unsigned shift = 0;
    for (unsigned dim = 0; dim < shape.size(); ++dim) {
      dims.push_back({dimName(dim), shape[dim]});
      shifts.push_back(shift);
      shift += shape[dim];
    }
  }

  void take(unsigned dim, unsigned bits, Vectors &columns) {
    for (unsigned bit = 0; bit < bits; ++bit, ++used[dim])
      columns.push_back(used[dim] < dims[dim].bits ? uint64_t(1) << (shifts[dim] + used[dim]) : 0);
  }
  unsigned left(unsigned dim) const { return dims[dim].bits - std::min(dims[dim].bits, used[dim]); }
  const Dims &tile() const { return dims; }

private:
  Dims dims;
  std::vector<unsigned> shifts, used;
};
} // namespace

std::optional<LinearLayout> makeBlocked(const Blocked &blocked) {
  auto shape = log2All(blocked.shape), size = log2All(blocked.sizePerThread), threads = log2All(blocked.threadsPerWarp),
       warps = log2All(blocked.warps);
  size_t rank = blocked.shape.size();
  if (!shape || !size || !threads || !warps || size->size() != rank || threads->size() != rank ||
      warps->size() != rank || !isOrder(blocked.order, rank))
    return std::nullopt;
  unsigned lanes = 0, total = 0;
  for (size_t dim = 0; dim < rank; ++dim) {
    lanes += (*threads)[dim];
    total += std::max((*shape)[dim], (*size)[dim] + (*threads)[dim] + (*warps)[dim]);
  }
  if (lanes != 5 || total > LinearLayout::maxBits)
    return std::nullopt;
  TileBits bits(*shape);
  Vectors registers, lane, warp;
  for (unsigned dim : blocked.order)
    bits.take(dim, (*size)[dim], registers);
  for (unsigned dim : blocked.order)
    bits.take(dim, (*threads)[dim], lane);
  for (unsigned dim : blocked.order)
    bits.take(dim, (*warps)[dim], warp);
  for (unsigned dim : blocked.order)
    bits.take(dim, bits.left(dim), registers);
  Dims ins = {{"register", unsigned(registers.size())}, {"lane", 5}, {"warp", unsigned(warp.size())}};
  registers.insert(registers.end(), lane.begin(), lane.end());
  registers.insert(registers.end(), warp.begin(), warp.end());
  return LinearLayout::make(ins, bits.tile(), registers);
}

std::optional<LinearLayout> makeShared(const Shared &shared) {
  auto shape = log2All(shared.shape);
  if (!shape || !isOrder(shared.order, shape->size()) || !exactLog2(shared.elementBits) || shared.elementBits > 128)
    return std::nullopt;
  TileBits bits(*shape);
  Vectors columns;
  if (countBits(bits.tile()) > LinearLayout::maxBits)
    return std::nullopt;
  for (unsigned dim : shared.order)
    bits.take(dim, bits.left(dim), columns);
  return LinearLayout::make({{"offset", unsigned(columns.size())}}, bits.tile(), columns);
}

std::optional<LinearLayout> makeSwizzled(const Shared &shared, unsigned vec, unsigned perPhase, unsigned maxPhase) {
  std::optional<LinearLayout> plain = makeShared(shared);
  if (!plain || shared.shape.size() < 2 || !exactLog2(vec) || !exactLog2(perPhase) || !exactLog2(maxPhase))
    return std::nullopt;
  uint64_t width = shared.shape[shared.order[0]], rows = shared.shape[shared.order[1]];
  if (uint64_t(vec) * maxPhase > width)
    return std::nullopt;
  Vectors columns = plain->columns();
  for (unsigned bit = 0; uint64_t(1) << bit < rows; ++bit) {
    uint64_t phase = ((uint64_t(1) << bit) / perPhase) % maxPhase;
    columns[*exactLog2(width) + bit] ^= plain->applyFlat(phase * vec);
  }
  return LinearLayout::make(plain->ins(), plain->outs(), columns);
}

std::optional<LinearLayout> makeTmaSwizzled(const Shared &shared, unsigned bytes) {
  std::optional<LinearLayout> plain = makeShared(shared);
  if (!plain || shared.shape.size() < 2 || (bytes != 32 && bytes != 64 && bytes != 128))
    return std::nullopt;
  uint64_t width = uint64_t(bytes) * 8 / shared.elementBits; // Elements of a row of a panel.
  uint64_t inner = shared.shape[shared.order[0]], rows = shared.shape[shared.order[1]];
  if (inner < width)
    return std::nullopt;
  // Offset bits: within a row of the panel, rows, panels, the other dimensions.
  unsigned low = *exactLog2(width), all = *exactLog2(inner), high = *exactLog2(rows);
  Vectors columns = plain->columns();
  std::rotate(columns.begin() + low, columns.begin() + all, columns.begin() + all + high);
  // In elements, byte address bit 7 + i is offset bit line + i, chunk bit 4 + i is line - 3 + i.
  unsigned line = 10 - *exactLog2(shared.elementBits);
  Vectors swizzled = columns;
  for (unsigned i = 0; (uint64_t(32) << i) <= bytes; ++i)
    if (line + i < columns.size())
      swizzled[line + i] ^= columns[line - 3 + i];
  return LinearLayout::make(plain->ins(), plain->outs(), swizzled);
}

} // namespace weft::layout

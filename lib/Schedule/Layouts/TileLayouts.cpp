// Blocked layouts and projections, bit by bit.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TileLayouts.h"
#include "weft/Dialect/TileKernel/Layout/Builders.h"
#include "llvm/Support/MathExtras.h"

using weft::layout::LinearLayout;

namespace weft::schedule {

namespace {

/// Hands out the bits of a tile's dimensions, the lowest first.
class Bits {
public:
  explicit Bits(llvm::ArrayRef<int64_t> shape) {
    for (int64_t extent : shape) {
      offsets.push_back(bits);
      left.push_back(uint64_t(extent - 1) << bits);
      bits += llvm::Log2_64(extent);
    }
  }

  bool hasBit(unsigned dim) const { return left[dim] != 0; }
  unsigned count() const { return bits; }
  /// The flat image of the lowest bit of `dim` that is left.
  uint64_t take(unsigned dim) { return take(dim, left[dim] & -left[dim]); }
  /// The highest one.
  uint64_t takeHighest(unsigned dim) { return take(dim, llvm::bit_floor(left[dim])); }
  /// Bit number `bit` of `dim`; 0 if it is gone.
  uint64_t takeBit(unsigned dim, unsigned bit) { return take(dim, left[dim] & uint64_t(1) << (offsets[dim] + bit)); }

private:
  uint64_t take(unsigned dim, uint64_t image) {
    left[dim] &= ~image;
    return image;
  }

  llvm::SmallVector<unsigned> offsets;
  llvm::SmallVector<uint64_t> left; ///< By dimension.
  unsigned bits = 0;
};

} // namespace

static LinearLayout makeLayout(llvm::ArrayRef<int64_t> shape, const layout::Vectors &registers,
                               const layout::Vectors &lanes, const layout::Vectors &warps) {
  layout::Dims outs;
  for (auto [i, extent] : llvm::enumerate(shape))
    outs.push_back({layout::dimName(i), llvm::Log2_64(extent)});
  layout::Vectors columns = registers;
  columns.insert(columns.end(), lanes.begin(), lanes.end());
  columns.insert(columns.end(), warps.begin(), warps.end());
  layout::Dims ins{
      {"register", unsigned(registers.size())}, {"lane", unsigned(lanes.size())}, {"warp", unsigned(warps.size())}};
  return *LinearLayout::make(ins, outs, columns); // Tiles have at most 2^20 elements: it fits.
}

LinearLayout makeBlockedLayout(const BlockedWish &wish) {
  constexpr unsigned laneBits = 5;
  Bits bits(wish.shape);
  unsigned rank = wish.shape.size(), warpBits = llvm::Log2_64(wish.warps);
  llvm::SmallVector<unsigned> order; // From the fastest dimension.
  if (rank)
    order.push_back(wish.fastDim);
  for (unsigned dim = rank; dim-- > 0;)
    if (dim != wish.fastDim)
      order.push_back(dim);
  auto isReduced = [&](unsigned dim) { return dim < wish.reduced.size() && wish.reduced[dim]; };

  unsigned total = bits.count();
  // A vector must leave work for all threads.
  unsigned spare = total > laneBits + warpBits ? total - laneBits - warpBits : 0;
  layout::Vectors registers, lanes, warps;
  for (unsigned i = 0; i < llvm::Log2_64(wish.vector) && i < spare && bits.hasBit(wish.fastDim); ++i)
    registers.push_back(bits.take(wish.fastDim));
  for (unsigned i = 0; i < wish.slidingBits && registers.size() < spare; ++i)
    if (uint64_t bit = bits.takeBit(wish.slidingDim, wish.firstSlidingBit + i))
      registers.push_back(bit);
  for (unsigned dim : order)
    while (lanes.size() < laneBits && bits.hasBit(dim))
      lanes.push_back(bits.take(dim));
  // Whole rows stay in a warp as long as there are rows for the warps.
  for (bool reduced : {false, true})
    for (unsigned dim : llvm::reverse(order))
      while (warps.size() < warpBits && isReduced(dim) == reduced && bits.hasBit(dim))
        warps.push_back(dim == wish.fastDim ? bits.take(dim) : bits.takeHighest(dim));
  for (unsigned dim : order)
    while (bits.hasBit(dim))
      registers.push_back(bits.take(dim));
  lanes.resize(laneBits, 0);
  warps.resize(warpBits, 0);
  return makeLayout(wish.shape, registers, lanes, warps);
}

/// `layout` with each image sent through `move`. Registers that go to zero are dropped.
static LinearLayout moveImages(const LinearLayout &layout, llvm::ArrayRef<int64_t> shape,
                               llvm::function_ref<uint64_t(uint64_t)> move) {
  layout::Vectors registers, threads[2];
  for (uint64_t image : layout.basesOf("register"))
    if (uint64_t moved = move(image))
      registers.push_back(moved);
  for (unsigned i : {0u, 1u})
    for (uint64_t image : layout.basesOf(i ? "warp" : "lane"))
      threads[i].push_back(move(image));
  return makeLayout(shape, registers, threads[0], threads[1]);
}

/// Where the bits of each dimension begin in a flat image.
static llvm::SmallVector<unsigned> getBitOffsets(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<unsigned> offsets(1, 0);
  for (int64_t extent : shape)
    offsets.push_back(offsets.back() + llvm::Log2_64(extent));
  return offsets;
}

static llvm::SmallVector<int64_t> getShape(const LinearLayout &layout) {
  llvm::SmallVector<int64_t> shape;
  for (const layout::Dim &out : layout.outs())
    shape.push_back(int64_t(1) << out.bits);
  return shape;
}

LinearLayout projectLayout(const LinearLayout &layout, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<unsigned> from = getBitOffsets(getShape(layout)), to = getBitOffsets(shape);
  return moveImages(layout, shape, [&](uint64_t image) {
    uint64_t result = 0;
    for (auto [i, dim] : llvm::enumerate(dims))
      result |= ((image >> from[dim]) & uint64_t(shape[i] - 1)) << to[i];
    return result;
  });
}

LinearLayout injectLayout(const LinearLayout &layout, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> own = getShape(layout);
  llvm::SmallVector<unsigned> from = getBitOffsets(own), to = getBitOffsets(shape);
  return moveImages(layout, shape, [&](uint64_t image) {
    uint64_t result = 0;
    for (auto [i, dim] : llvm::enumerate(dims))
      result |= ((image >> from[i]) & uint64_t(own[i] - 1)) << to[dim];
    return result;
  });
}

LinearLayout makeSummedLayout(const LinearLayout &sums, llvm::ArrayRef<int64_t> kept, llvm::ArrayRef<int64_t> shape) {
  LinearLayout layout = injectLayout(sums, kept, shape);
  llvm::SmallVector<unsigned> offsets = getBitOffsets(shape);
  layout::Vectors registers = layout.basesOf("register"), lanes = layout.basesOf("lane"), added;
  for (auto [dim, extent] : llvm::enumerate(shape))
    for (unsigned bit = offsets[dim]; bit < offsets[dim + 1] && !llvm::is_contained(kept, int64_t(dim)); ++bit)
      added.push_back(uint64_t(1) << bit);
  auto next = added.begin();
  for (uint64_t &lane : lanes)
    if (!lane && next != added.end())
      lane = *next++;
  registers.insert(registers.end(), next, added.end());
  return makeLayout(shape, registers, lanes, layout.basesOf("warp"));
}

unsigned countRegisterBits(const LinearLayout &layout, unsigned dim) {
  unsigned offset = getBitOffsets(getShape(layout))[dim], bits = 0;
  layout::Vectors registers = layout.basesOf("register");
  while (bits < layout.outs()[dim].bits && llvm::is_contained(registers, uint64_t(1) << (offset + bits)))
    ++bits;
  return bits;
}

int64_t getRunLength(const LinearLayout &layout, unsigned dim, int64_t vector) {
  unsigned offset = getBitOffsets(getShape(layout))[dim], count = layout.outs()[dim].bits;
  auto unit = [&](unsigned bit) { return uint64_t(1) << (offset + bit); };
  layout::Vectors registers = layout.basesOf("register"), held;
  unsigned bits = 0;
  while (bits < count && bits < llvm::Log2_64(vector) && llvm::is_contained(registers, unit(bits)))
    held.push_back(unit(bits++));
  for (uint64_t image : layout.basesOf("lane"))
    held.push_back(image);
  layout::Span span(held);
  while (bits < count && span.contains(unit(bits)))
    ++bits;
  return int64_t(1) << bits;
}

} // namespace weft::schedule

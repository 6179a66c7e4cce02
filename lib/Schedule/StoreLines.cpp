// Lines of a store: bits of lanes and registers that go along memory, and what is left of them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Schedule/StoreLines.h"
#include "weft/Schedule/Access.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace weft;
using namespace weft::schedule;
using layout::LinearLayout;

/// What a warp brings to shared memory at once, and the longest line: longer ones only mean larger passes.
static constexpr int64_t passBytes = 2048, lineBytes = 256, pieceBytes = 16;
static constexpr unsigned laneBits = 5;

namespace {
/// Where one bit of a thread or register goes: in the tile, and in the scratch as (line, position).
struct Image {
  uint64_t tile = 0, line = 0, place = 0;
};

class LineDivider {
public:
  LineDivider(tk::StoreOp store, const LinearLayout &layout) : store(store), layout(layout) {
    for (const layout::Dim &out : layout.outs()) {
      offsets.push_back(offsets.back() + out.bits);
    }
  }

  std::optional<StoreLines> find();

private:
  bool isPlain() const;
  bool findLines();
  bool divideRegisters();
  Image imageOf(uint64_t base) const;
  uint64_t lineBit(unsigned bit) const { return uint64_t(1) << (offsets[result.dim] + bit); }
  unsigned placeBits() const { return llvm::Log2_64(result.elements); }
  LineHolders make(ArrayRef<Image> registers, ArrayRef<Image> lanes) const;
  void makeHolders();

  tk::StoreOp store;
  const LinearLayout &layout;
  SmallVector<unsigned> offsets{0}; ///< Of the dimensions in a flat index.
  SmallVector<uint64_t> rows;       ///< Bits of a pass that number its lines.
  StoreLines result;
};
} // namespace

/// Every bit of register and lane moves one bit of the index, each another one.
bool LineDivider::isPlain() const {
  if (layout.inBits("lane") != laneBits)
    return false;
  uint64_t seen = 0;
  for (StringRef name : {"register", "lane"})
    for (uint64_t base : layout.basesOf(name.str())) {
      if (llvm::popcount(base) != 1 || (seen & base))
        return false;
      seen |= base;
    }
  return true;
}

/// The dimension with the longest lines, as far as the threads of a warp hold them.
bool LineDivider::findLines() {
  Access access = getAccess(store);
  uint64_t own = 0;
  for (StringRef name : {"register", "lane"})
    for (uint64_t base : layout.basesOf(name.str()))
      own |= base;
  int64_t longest = 0;
  for (unsigned dim = access.shape.size(); dim-- > 0;) {
    int64_t run = std::min(getLineElements(access, dim), lineBytes / result.elementBytes), held = 1;
    while (held < run && (own >> offsets[dim] & held))
      held *= 2;
    if (held > longest) {
      longest = held;
      result.dim = dim;
    }
  }
  result.elements = longest;
  result.piece = pieceBytes / result.elementBytes;
  result.unit = longest < result.piece ? 1 : getVectorElements(access, result.dim, result.piece);
  return longest >= 2 * result.piece;
}

/// A pass has all lanes, the registers along lines, and of the others as many as fit it.
bool LineDivider::divideRegisters() {
  auto isAlong = [&](uint64_t base) {
    return base >= lineBit(0) && base < lineBit(placeBits()); // A bit alone.
  };
  for (uint64_t base : layout.basesOf("lane"))
    if (!isAlong(base))
      rows.push_back(base);
  layout::Vectors registers = layout.basesOf("register");
  int64_t bits = laneBits + llvm::count_if(registers, isAlong);
  for (auto [bit, base] : llvm::enumerate(registers)) {
    bool fits = isAlong(base) || (result.elementBytes << (bits + 1)) <= passBytes;
    (fits ? result.held : result.left).push_back(bit);
    if (!isAlong(base) && fits) {
      rows.push_back(base);
      ++bits;
    }
  }
  result.lines = int64_t(1) << rows.size();
  return placeBits() + rows.size() >= laneBits + llvm::Log2_64(result.piece);
}

Image LineDivider::imageOf(uint64_t base) const {
  Image image{base, 0, 0};
  for (unsigned bit = 0; bit < placeBits(); ++bit)
    if (base == lineBit(bit))
      image.place = uint64_t(1) << bit;
  for (auto [bit, row] : llvm::enumerate(rows))
    if (base == row)
      image.line = uint64_t(1) << bit;
  return image;
}

LineHolders LineDivider::make(ArrayRef<Image> registers, ArrayRef<Image> lanes) const {
  layout::Vectors warps = layout.basesOf("warp"), tile, place;
  unsigned lineBits = rows.size() + warps.size();
  auto add = [&](const Image &image) {
    tile.push_back(image.tile);
    place.push_back(image.line | image.place << lineBits);
  };
  llvm::for_each(registers, add);
  llvm::for_each(lanes, add);
  for (auto [bit, base] : llvm::enumerate(warps))
    add({base, uint64_t(1) << (rows.size() + bit), 0});
  layout::Dims ins{{"register", unsigned(registers.size())}, {"lane", laneBits}, {"warp", unsigned(warps.size())}};
  return {*LinearLayout::make(ins, layout.outs(), tile),
          *LinearLayout::make(ins, {{"dim0", lineBits}, {"dim1", placeBits()}}, place)};
}

void LineDivider::makeHolders() {
  auto images = [&](const layout::Vectors &bases) {
    return llvm::map_to_vector(bases, [&](uint64_t base) { return imageOf(base); });
  };
  SmallVector<Image> registers = images(layout.basesOf("register")), left;
  for (unsigned bit : result.left)
    left.push_back(registers[bit]);
  result.written = make(registers, images(layout.basesOf("lane")));

  unsigned pieceBits = llvm::Log2_64(result.piece);
  SmallVector<Image> pieces, ends, piece;
  for (unsigned bit = 0; bit < pieceBits; ++bit)
    piece.push_back(imageOf(lineBit(bit)));
  for (unsigned bit = pieceBits; bit < placeBits(); ++bit)
    pieces.push_back(imageOf(lineBit(bit)));
  ends.resize(llvm::Log2_64(result.piece / result.unit));
  for (uint64_t row : rows) {
    pieces.push_back(imageOf(row));
    ends.push_back(imageOf(row));
  }
  if (ends.size() < laneBits) // Lanes that have nothing to do.
    ends.resize(laneBits);
  auto split = [&](SmallVector<Image> first, ArrayRef<Image> all) {
    llvm::append_range(first, all.drop_front(laneBits));
    llvm::append_range(first, left);
    return make(first, all.take_front(laneBits));
  };
  result.pieces = split(piece, pieces);
  result.ends = split({}, ends);
}

std::optional<StoreLines> LineDivider::find() {
  unsigned bits = tk::getElementBits(store.getValue().getType().getElementType());
  result.elementBytes = bits / 8;
  if (bits < 8 || bits > 32 || !isPlain() || !findLines() || !divideRegisters())
    return std::nullopt;
  makeHolders();
  return result;
}

std::optional<StoreLines> schedule::getStoreLines(tk::StoreOp store) {
  tk::TileType type = store.getValue().getType();
  if (!type.getLayout() || type.getRank() == 0 || type.getElementType().isInteger(1) || store.getMask() ||
      !store.getIndices().empty() || store.getCombine())
    return std::nullopt;
  return LineDivider(store, type.getLayout().getValue()).find();
}

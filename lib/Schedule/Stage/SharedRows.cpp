// Rows of a window's elements that the tiles of a step have in common.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "SharedRows.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace weft;
using namespace weft::schedule;

namespace {
/// How a tile is made of rows.
struct RowForm {
  unsigned index, dim;  ///< Of the tensor and of the tile: what rows follow each other along.
  int64_t rows, places; ///< Of the tile that are read, and of a row along `dim`.
  int64_t step;         ///< From a row to the next.
};
} // namespace

/// The rows along `index`, if a tile is those one after the other, also in shared memory as TMA fills it.
static std::optional<RowForm> getRowForm(const Access &access, unsigned index) {
  constexpr int64_t panelBytes = 128, swizzledLines = 8;
  std::optional<SmallVector<BoxPart>> parts = getBoxParts(access.map, access.shape);
  if (!parts || access.shape.size() != 2 || index + 1 >= parts->size())
    return std::nullopt;
  const BoxPart &part = (*parts)[index], &inner = parts->back();
  SmallVector<int64_t> live = getLiveShape(access);
  if (inner.dim >= 0 && live[inner.dim] != access.shape[inner.dim])
    return std::nullopt;
  int64_t innerBytes =
      access.shape[std::max<int64_t>(inner.dim, 0)] * tk::getElementBits(access.tensor.getElementType()) / 8;
  if (part.dim < 0 || inner.dim < 0 || part.dim == inner.dim || part.divisor * part.extent != access.shape[part.dim] ||
      part.divisor % swizzledLines || innerBytes > panelBytes || innerBytes < 32)
    return std::nullopt;
  return RowForm{index, unsigned(part.dim), live[part.dim] / part.divisor, part.divisor, part.step};
}

/// The index of the tensor along which `b` lies behind `a`, and by how much; nothing if it differs otherwise.
static std::optional<std::pair<unsigned, int64_t>> getDistance(const TileToFetch &a, const TileToFetch &b) {
  tk::LoadOp first = a.load, second = b.load;
  AffineMap from = a.access.map, to = b.access.map;
  if (first.getSource() != second.getSource() || first.getSymbols() != second.getSymbols() ||
      a.access.shape != b.access.shape || from.getNumResults() != to.getNumResults() ||
      a.access.guard.has_value() != b.access.guard.has_value())
    return std::nullopt;
  std::optional<std::pair<unsigned, int64_t>> found;
  for (unsigned i = 0; i < from.getNumResults(); ++i) {
    auto distance = dyn_cast<AffineConstantExpr>(
        simplifyAffineExpr(to.getResult(i) - from.getResult(i), from.getNumDims(), from.getNumSymbols()));
    if (!distance || (distance.getValue() && found))
      return std::nullopt;
    if (distance.getValue())
      found = {i, distance.getValue()};
  }
  return found;
}

/// The bounds of indices in `guard`, for the tile `places` further along `index`; where a tile ends the copies do.
static std::optional<IntegerSet> moveGuard(const Access &access, unsigned index, int64_t places) {
  if (!access.guard)
    return std::nullopt;
  unsigned dims = access.map.getNumDims(), symbols = access.map.getNumSymbols();
  AffineExpr at = access.map.getResult(index);
  SmallVector<AffineExpr> constraints;
  SmallVector<bool> equalities;
  for (auto [i, constraint] : llvm::enumerate(access.guard->getConstraints())) {
    if (isCut(access, i))
      continue;
    bool isLow = isa<AffineConstantExpr>(simplifyAffineExpr(constraint - at, dims, symbols));
    bool isHigh = isa<AffineConstantExpr>(simplifyAffineExpr(constraint + at, dims, symbols));
    constraints.push_back(simplifyAffineExpr(constraint + (isLow ? places : isHigh ? -places : 0), dims, symbols));
    equalities.push_back(access.guard->isEq(i));
  }
  if (constraints.empty())
    return std::nullopt;
  return IntegerSet::get(access.guard->getNumDims(), access.guard->getNumSymbols(), constraints, equalities);
}

/// Copies of as many rows as a tile has, then of fewer: powers of two.
static void addCopies(Fetch &fetch, const RowForm &form) {
  for (int64_t from = 0; from < fetch.rows;) {
    int64_t rows = int64_t(llvm::bit_floor(uint64_t(std::min(form.rows, fetch.rows - from))));
    Fetch::Copy copy{from, fetch.rowShape, fetch.access.map, moveGuard(fetch.access, form.index, from * form.step)};
    copy.shape[form.dim] *= rows;
    SmallVector<AffineExpr> indices(copy.map.getResults());
    indices[form.index] = indices[form.index] + from * form.step;
    copy.map = AffineMap::get(copy.map.getNumDims(), copy.map.getNumSymbols(), indices, copy.map.getContext());
    fetch.copies.push_back(copy);
    from += rows;
  }
}

/// The tiles among `left` that share rows with the first of them; nothing if that saves none.
static std::optional<Fetch> shareWithFirst(ArrayRef<TileToFetch> tiles, ArrayRef<unsigned> left) {
  std::optional<RowForm> form;
  SmallVector<std::pair<unsigned, int64_t>> found{{left.front(), 0}};
  for (unsigned other : left.drop_front()) {
    auto distance = getDistance(tiles[left.front()], tiles[other]);
    std::optional<RowForm> own = distance ? getRowForm(tiles[left.front()].access, distance->first) : std::nullopt;
    if (!own || (form && form->index != own->index) || distance->second % own->step != 0)
      continue;
    form = own;
    found.push_back({other, distance->second / own->step});
  }
  if (!form)
    return std::nullopt;
  llvm::sort(found, llvm::less_second());
  const TileToFetch &first = tiles[found.front().first];
  Fetch fetch{first.load,         first.access, found.back().second - found.front().second + form->rows,
              first.access.shape, {},           {}};
  if (fetch.rows >= form->rows * int64_t(found.size()))
    return std::nullopt;
  for (auto [tile, row] : found)
    fetch.tiles.push_back({tile, row - found.front().second});
  fetch.rowShape[form->dim] = form->places;
  addCopies(fetch, *form);
  return fetch;
}

std::vector<Fetch> schedule::shareRows(ArrayRef<TileToFetch> tiles, tk::CopyEngine engine) {
  std::vector<Fetch> fetches;
  SmallVector<unsigned> left = llvm::to_vector(llvm::seq<unsigned>(0, tiles.size()));
  while (!left.empty()) {
    const TileToFetch &first = tiles[left.front()];
    std::optional<Fetch> shared = engine == tk::CopyEngine::Tma ? shareWithFirst(tiles, left) : std::nullopt;
    if (!shared) {
      shared = Fetch{first.load, first.access, 1, first.access.shape, {{left.front(), 0}}, {}};
      shared->copies.push_back({0, first.access.shape, first.access.map, first.access.guard});
    }
    llvm::erase_if(left, [&](unsigned tile) {
      return llvm::any_of(shared->tiles, [&](auto &each) { return each.first == tile; });
    });
    fetches.push_back(*shared);
  }
  return fetches;
}

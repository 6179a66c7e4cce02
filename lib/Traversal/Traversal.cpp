// In which order the tiles of a launch are computed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every order as straight-line index arithmetic. Orders are built on extents that may themselves be computed (a strip
// at the end of a grid is lower), so that they nest. The curves descend a tree of rectangles, one level for each
// halving; a level narrows (offset in the rectangle, the rectangle) by selects.
#include "weft/Traversal/Traversal.h"

#include <algorithm>

using namespace weft::plan;
using Kind = Traversal::Kind;
using Value = IndexProgram::Value;

namespace {
/// A number of rows or columns, and every value it can take when the program runs; no choices: only the launch knows.
struct Extent {
  Value value;
  std::vector<int64_t> choices;

  int64_t getMax() const { return *std::max_element(choices.begin(), choices.end()); }
};

/// A tile's coordinates within its rectangle.
struct Place {
  Value row, col;
};

/// Builds orders of one rectangle into a program.
class OrderBuilder {
public:
  explicit OrderBuilder(IndexProgram &p) : p(p), zero(p.constant(0)), one(p.constant(1)) {}

  /// `at` is the offset in the rectangle, in [0, rows * cols).
  Place build(const Traversal &traversal, Value at, const Extent &rows, const Extent &cols);

  /// The height of strip number `strip` of strips of `width` of `extent`.
  Extent getStripHeight(Value strip, int64_t width, const Extent &extent);

private:
  Place buildSerpentine(Value at, const Extent &cols);
  Place buildStrips(Value at, int64_t width, bool isSnake, const Extent &rows, const Extent &cols);
  Place buildEach(const Traversal &traversal, Value at, const Extent &rows, const Extent &cols);
  Place buildZigzag(const Traversal &traversal, Value at, const Extent &rows, const Extent &cols);
  Place buildMorton(Value at, const Extent &rows, const Extent &cols);
  Place buildHilbert(Value at, const Extent &rows, const Extent &cols);

  IndexProgram &p;
  Value zero, one;
};
} // namespace

Extent OrderBuilder::getStripHeight(Value strip, int64_t width, const Extent &extent) {
  Extent height{p.min(p.constant(width), p.sub(extent.value, p.mul(strip, p.constant(width)))), {}};
  for (int64_t choice : extent.choices) {
    if (choice >= width)
      height.choices.push_back(width);
    if (choice % width)
      height.choices.push_back(choice % width);
  }
  return height;
}

Place OrderBuilder::buildSerpentine(Value at, const Extent &cols) {
  Value row = p.div(at, cols.value), col = p.rem(at, cols.value);
  Value reversed = p.sub(p.sub(cols.value, one), col);
  return {row, p.select(p.rem(row, p.constant(2)), reversed, col)};
}

Place OrderBuilder::buildStrips(Value at, int64_t width, bool isSnake, const Extent &rows, const Extent &cols) {
  Value stripTiles = p.mul(p.constant(width), cols.value);
  Value strip = p.div(at, stripTiles), inStrip = p.rem(at, stripTiles);
  Extent height = getStripHeight(strip, width, rows);
  if (isSnake) {
    Value reversed = p.sub(p.sub(p.mul(height.value, cols.value), one), inStrip);
    inStrip = p.select(p.rem(strip, p.constant(2)), reversed, inStrip);
  }
  return {p.add(p.mul(strip, p.constant(width)), p.rem(inStrip, height.value)), p.div(inStrip, height.value)};
}

/// Z order of the enclosing square, tiles outside skipped: at each level the rectangle is cut at the power of two, rows
/// first, and the offset says in which part the tile lies.
Place OrderBuilder::buildMorton(Value at, const Extent &rows, const Extent &cols) {
  Value row = zero, col = zero, r = rows.value, c = cols.value;
  int64_t half = 1;
  while (2 * half < std::max(rows.getMax(), cols.getMax()))
    half *= 2;
  for (; half >= 1; half /= 2) {
    Value cut = p.constant(half);
    Value top = p.min(r, cut), before = p.mul(top, c), isTop = p.less(at, before);
    at = p.select(isTop, at, p.sub(at, before));
    row = p.select(isTop, row, p.add(row, cut));
    r = p.select(isTop, top, p.sub(r, cut));
    Value left = p.min(c, cut);
    before = p.mul(r, left);
    Value isLeft = p.less(at, before);
    at = p.select(isLeft, at, p.sub(at, before));
    col = p.select(isLeft, col, p.add(col, cut));
    c = p.select(isLeft, left, p.sub(c, cut));
  }
  return {row, col};
}

/// Where a curve's rectangle of `along` x `across` tiles is cut: long ones in two halves along, others in three parts
/// (up, along, down). Even parts keep neighbours adjacent.
static int64_t halve(int64_t extent) { return extent / 2 + (extent / 2 % 2 && extent > 2 ? 1 : 0); }

/// How many cuts lead to rectangles of one row or column.
static int countCuts(int64_t along, int64_t across, std::map<std::pair<int64_t, int64_t>, int> &known) {
  if (along == 1 || across == 1)
    return 0;
  auto found = known.find({along, across});
  if (found != known.end())
    return found->second;
  int cuts;
  if (2 * along > 3 * across) {
    int64_t half = halve(along);
    cuts = std::max(countCuts(half, across, known), countCuts(along - half, across, known));
  } else {
    int64_t up = halve(across), half = along / 2;
    cuts = std::max(
        {countCuts(up, half, known), countCuts(along, across - up, known), countCuts(up, along - half, known)});
  }
  return known[{along, across}] = cuts + 1;
}

/// State: the offset in a rectangle that starts at (row, col), goes `along` tiles in direction (aRow, aCol) and
/// `across` tiles in direction (bRow, bCol); the curve enters at the start and leaves at the far end of `along`.
Place OrderBuilder::buildHilbert(Value at, const Extent &rows, const Extent &cols) {
  int cuts = 0;
  std::map<std::pair<int64_t, int64_t>, int> known;
  for (int64_t r : rows.choices)
    for (int64_t c : cols.choices)
      cuts = std::max(cuts, countCuts(std::max(r, c), std::min(r, c), known));
  Value two = p.constant(2), three = p.constant(3);
  Value isTall = p.less(cols.value, rows.value), isWide = p.sub(one, isTall);
  Value along = p.select(isTall, rows.value, cols.value), across = p.select(isTall, cols.value, rows.value);
  Value row = zero, col = zero, aRow = isTall, aCol = isWide, bRow = isWide, bCol = isTall;
  auto halved = [&](Value extent) {
    Value half = p.div(extent, two);
    return p.add(half, p.mul(p.rem(half, two), p.less(two, extent)));
  };
  auto pick = [&](Value isFirst, Value first, Value isSecond, Value second, Value third) {
    return p.select(isFirst, first, p.select(isSecond, second, third));
  };
  for (int i = 0; i < cuts; ++i) {
    Value isLeaf = p.add(p.equal(along, one), p.equal(across, one));
    Value isLong = p.less(p.mul(three, across), p.mul(two, along));
    Value half = p.select(isLong, halved(along), p.div(along, two)), up = halved(across);
    // The first part ends at `first`, the second at `second`; of two parts the third is empty.
    Value first = p.select(isLong, p.mul(half, across), p.mul(up, half));
    Value middle = p.mul(along, p.sub(across, up));
    Value second = p.select(isLong, p.mul(along, across), p.add(first, middle));
    Value isFirst = p.less(at, first), isSecond = p.less(at, second);
    Value stepA = pick(isFirst, zero, isSecond, p.select(isLong, half, zero), p.sub(along, one));
    Value stepB = pick(isFirst, zero, isSecond, p.select(isLong, zero, up), p.sub(up, one));
    Value isKept = p.add(isLong, p.mul(p.sub(one, isFirst), isSecond)); // Directions as they are.
    Value newAlong =
        pick(isFirst, p.select(isLong, half, up), isSecond, p.select(isLong, p.sub(along, half), along), up);
    Value newAcross = pick(isFirst, p.select(isLong, across, half), isSecond,
                           p.select(isLong, across, p.sub(across, up)), p.sub(along, half));
    auto turned = [&](Value keep, Value other) {
      return p.select(isKept, keep, p.select(isFirst, other, p.sub(zero, other)));
    };
    Value newARow = turned(aRow, bRow), newACol = turned(aCol, bCol);
    Value newBRow = turned(bRow, aRow), newBCol = turned(bCol, aCol);
    at = p.select(isLeaf, at, pick(isFirst, at, isSecond, p.sub(at, first), p.sub(at, second)));
    row = p.select(isLeaf, row, p.add(row, p.add(p.mul(stepA, aRow), p.mul(stepB, bRow))));
    col = p.select(isLeaf, col, p.add(col, p.add(p.mul(stepA, aCol), p.mul(stepB, bCol))));
    along = p.select(isLeaf, along, newAlong);
    across = p.select(isLeaf, across, newAcross);
    aRow = p.select(isLeaf, aRow, newARow);
    aCol = p.select(isLeaf, aCol, newACol);
    bRow = p.select(isLeaf, bRow, newBRow);
    bCol = p.select(isLeaf, bCol, newBCol);
  }
  Value isAcross = p.equal(along, one);
  return {p.add(row, p.mul(at, p.select(isAcross, bRow, aRow))), p.add(col, p.mul(at, p.select(isAcross, bCol, aCol)))};
}

/// The runs divide the rows: checkFits has seen it.
Place OrderBuilder::buildEach(const Traversal &traversal, Value at, const Extent &rows, const Extent &cols) {
  Extent ofRun{p.div(rows.value, p.constant(traversal.width)), {}};
  for (int64_t choice : rows.choices)
    ofRun.choices.push_back(choice / traversal.width);
  Value tiles = p.mul(ofRun.value, cols.value);
  Place place = build(traversal.inner ? *traversal.inner : Traversal(), p.rem(at, tiles), ofRun, cols);
  return {p.add(p.mul(p.div(at, tiles), ofRun.value), place.row), place.col};
}

/// The last run may be shorter.
Place OrderBuilder::buildZigzag(const Traversal &traversal, Value at, const Extent &rows, const Extent &cols) {
  Value width = p.constant(traversal.width), run = p.div(at, width), inRun = p.rem(at, width);
  Value first = p.mul(run, width), length = p.min(width, p.sub(p.mul(rows.value, cols.value), first));
  inRun = p.select(p.rem(run, p.constant(2)), p.sub(p.sub(length, one), inRun), inRun);
  return build(traversal.inner ? *traversal.inner : Traversal(), p.add(first, inRun), rows, cols);
}

/// CUTLASS's choice of the strip width (GemmIdentityThreadblockSwizzle::get_log_tile).
static int64_t chooseCutlassWidth(int64_t most, int64_t cols) {
  if (most >= 8 && cols >= 6)
    return 8;
  if (most >= 4 && cols >= 3)
    return 4;
  return most >= 2 && cols >= 2 ? 2 : 1;
}

Place OrderBuilder::build(const Traversal &traversal, Value at, const Extent &rows, const Extent &cols) {
  auto transposed = [](Place place) { return Place{place.col, place.row}; };
  switch (traversal.kind) {
  case Kind::Column:
    return {p.rem(at, rows.value), p.div(at, rows.value)};
  case Kind::Serpentine:
    return buildSerpentine(at, cols);
  case Kind::Grouped:
  case Kind::GroupedSnake: {
    bool isSnake = traversal.kind == Kind::GroupedSnake;
    if (traversal.isByColumns)
      return transposed(buildStrips(at, traversal.width, isSnake, cols, rows));
    return buildStrips(at, traversal.width, isSnake, rows, cols);
  }
  case Kind::Cutlass: // Columns are never those of a strip: `cols` has one choice.
    return transposed(buildStrips(at, chooseCutlassWidth(traversal.width, cols.getMax()), false, cols, rows));
  case Kind::Morton:
    return buildMorton(at, rows, cols);
  case Kind::Hilbert:
    return buildHilbert(at, rows, cols);
  case Kind::Table: {
    Value tile = p.lookup(traversal.table, at);
    return {p.div(tile, cols.value), p.rem(tile, cols.value)};
  }
  case Kind::Each:
    return buildEach(traversal, at, rows, cols);
  case Kind::Zigzag:
    return buildZigzag(traversal, at, rows, cols);
  case Kind::Row:
  case Kind::Chain: // Refused by checkFits as an inner order, handled by buildChain as the outer.
    break;
  }
  return {p.div(at, cols.value), p.rem(at, cols.value)};
}

//===--- Chains and checks ---===//

/// A strip holds height * (cols0 + cols1) tiles, those of the first stage first.
static void buildChain(const Traversal &traversal, const std::vector<TileGrid> &grids, IndexProgram &p) {
  OrderBuilder builder(p);
  Traversal inner;
  inner.kind = Kind::Column;
  if (traversal.inner)
    inner = *traversal.inner;
  auto constant = [&](int64_t value) { return Extent{p.constant(value), {value}}; };
  Extent rows = constant(grids[0].rows), cols[2] = {constant(grids[0].cols), constant(grids[1].cols)};
  int64_t width = std::min(traversal.width, grids[0].rows);
  Value stripTiles = p.constant(width * (grids[0].cols + grids[1].cols));
  Value strip = p.div(p.index(), stripTiles), inStrip = p.rem(p.index(), stripTiles);
  Extent height = builder.getStripHeight(strip, width, rows);
  Value before = p.mul(height.value, cols[0].value), isFirst = p.less(inStrip, before);
  Place first = builder.build(inner, inStrip, height, cols[0]);
  Place second = builder.build(inner, p.sub(inStrip, before), height, cols[1]);
  Value start = p.mul(strip, p.constant(width));
  p.setResults({p.add(start, p.select(isFirst, first.row, second.row)), p.select(isFirst, first.col, second.col),
                p.sub(p.constant(1), isFirst)});
}

Traversal weft::plan::makeZigzag(int64_t width, Traversal inner) {
  Traversal result;
  result.kind = Kind::Zigzag;
  result.width = width;
  result.inner = std::make_shared<Traversal>(std::move(inner));
  return result;
}

bool weft::plan::canBeInside(Kind inner, Kind outer) {
  bool isPlain = inner != Kind::Chain && inner != Kind::Table && inner != Kind::Each && inner != Kind::Zigzag;
  return isPlain || (inner == Kind::Each && outer == Kind::Zigzag);
}

static std::string nameOf(const Traversal &traversal) { return "traversal " + traversal.print().substr(0, 60); }

static bool checkFits(const Traversal &traversal, const std::vector<TileGrid> &grids, std::string &error) {
  size_t stages = traversal.kind == Kind::Chain ? 2 : 1;
  if (grids.size() != stages)
    error = nameOf(traversal) + ": expected " + std::to_string(stages) + " grid(s) of tiles, got " +
            std::to_string(grids.size());
  int64_t total = 0;
  for (const TileGrid &grid : grids) {
    if (grid.rows < 1 || grid.cols < 1 || grid.rows > maxTiles / grid.cols)
      error = "grid of " + std::to_string(grid.rows) + "x" + std::to_string(grid.cols) + " tiles: expected 1 to " +
              std::to_string(maxTiles) + " tiles";
    else
      total += grid.rows * grid.cols;
  }
  if (!error.empty())
    return false;
  if (total > maxTiles)
    error = "expected at most " + std::to_string(maxTiles) + " tiles, got " + std::to_string(total);
  else if (traversal.width < 1)
    error = "expected a width of at least 1, got " + std::to_string(traversal.width);
  else if (stages == 2 && grids[0].rows != grids[1].rows)
    error = "chain: expected as many tile rows in both stages, got " + std::to_string(grids[0].rows) + " and " +
            std::to_string(grids[1].rows);
  else if (traversal.inner && !canBeInside(traversal.inner->kind, traversal.kind))
    error = getTraversalNames()[size_t(traversal.kind)] + ": expected an inner order of one stage that is not a table";
  else if (traversal.kind == Kind::Each && grids[0].rows % traversal.width)
    error = "each: expected tile rows in " + std::to_string(traversal.width) + " equal runs, got " +
            std::to_string(grids[0].rows);
  else if (traversal.kind == Kind::Table && int64_t(traversal.table.size()) != total)
    error = "table: expected " + std::to_string(total) + " tiles, got " + std::to_string(traversal.table.size());
  else if (traversal.kind == Kind::Zigzag && traversal.inner)
    return checkFits(*traversal.inner, grids, error);
  return error.empty();
}

bool weft::plan::buildTraversal(const Traversal &traversal, const std::vector<TileGrid> &grids, IndexProgram &program,
                                std::string &error) {
  error.clear();
  program = IndexProgram();
  if (!checkFits(traversal, grids, error))
    return false;
  if (traversal.kind == Kind::Chain) {
    buildChain(traversal, grids, program);
    return true;
  }
  TileCount rows{program.constant(grids[0].rows), grids[0].rows, grids[0].rows};
  TileCount cols{program.constant(grids[0].cols), grids[0].cols, grids[0].cols};
  return buildTraversal(traversal, rows, cols, program, error);
}

/// Whether an order can be built where numbers of rows or columns are known only to the launch.
static bool checkFits(const Traversal &traversal, const TileCount &rows, const TileCount &cols, std::string &error) {
  bool needsRows = false, needsCols = traversal.kind == Kind::Cutlass;
  switch (traversal.kind) {
  case Kind::Morton:
  case Kind::Hilbert:
  case Kind::Table:
  case Kind::Chain:
    needsRows = needsCols = true;
    break;
  case Kind::Each:
    if (rows.multiple % traversal.width) {
      error = "each: expected tile rows in " + std::to_string(traversal.width) + " equal runs, got a multiple of " +
              std::to_string(rows.multiple);
      return false;
    }
    return !traversal.inner || checkFits(*traversal.inner, {rows.value, rows.known / traversal.width, 1}, cols, error);
  case Kind::Zigzag:
    return !traversal.inner || checkFits(*traversal.inner, rows, cols, error);
  default:
    break;
  }
  if ((needsRows && !rows.known) || (needsCols && !cols.known))
    error = nameOf(traversal) + ": expected numbers of tiles that are known before the launch; row, column, " +
            "serpentine, grouped and grouped-snake take any";
  return error.empty();
}

bool weft::plan::buildTraversal(const Traversal &traversal, TileCount rows, TileCount cols, IndexProgram &program,
                                std::string &error) {
  error.clear();
  if (traversal.width < 1)
    error = "expected a width of at least 1, got " + std::to_string(traversal.width);
  else if (rows.known && cols.known)
    checkFits(traversal, {{rows.known, cols.known}}, error);
  else
    checkFits(traversal, rows, cols, error);
  if (!error.empty())
    return false;
  auto toExtent = [](const TileCount &count) {
    return Extent{count.value, count.known ? std::vector<int64_t>{count.known} : std::vector<int64_t>()};
  };
  Place place = OrderBuilder(program).build(traversal, program.index(), toExtent(rows), toExtent(cols));
  program.setResults({place.row, place.col});
  return true;
}

//===--- TileOrder ---===//

int64_t TileOrder::find(const Tile &tile) const {
  int64_t start = tile.stage ? grids[0].rows * grids[0].cols : 0;
  return blocks[start + tile.row * grids[tile.stage].cols + tile.col];
}

bool TileOrder::create(const Traversal &traversal, const std::vector<TileGrid> &grids, TileOrder &result,
                       std::string &error) {
  if (!buildTraversal(traversal, grids, result.program, error))
    return false;
  result.grids = grids;
  int64_t total = 0;
  for (const TileGrid &grid : grids)
    total += grid.rows * grid.cols;
  std::vector<std::vector<int64_t>> places;
  result.program.evaluate(0, total, places);
  result.tiles.assign(total, {});
  result.blocks.assign(total, -1);
  for (int64_t block = 0; block < total; ++block) {
    Tile tile{places.size() > 2 ? places[2][block] : 0, places[0][block], places[1][block]};
    const TileGrid &grid = grids[tile.stage];
    bool isInside = tile.row >= 0 && tile.row < grid.rows && tile.col >= 0 && tile.col < grid.cols;
    int64_t slot = (tile.stage ? grids[0].rows * grids[0].cols : 0) + tile.row * grid.cols + tile.col;
    if (!isInside || result.blocks[slot] >= 0) {
      error = "traversal " + traversal.print().substr(0, 60) + ": block " + std::to_string(block) +
              (isInside ? " repeats a tile" : " lies outside the grid");
      return false;
    }
    result.blocks[slot] = block;
    result.tiles[block] = tile;
  }
  return true;
}

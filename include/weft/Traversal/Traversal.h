// In which order the tiles of a launch are computed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A traversal maps the linear block index of a launch to the tile that the block computes. Planner, simulator, code
// generator and pages use the one function built here. Plain C++17: no MLIR, no LLVM.
#ifndef WEFT_TRAVERSAL_TRAVERSAL_H
#define WEFT_TRAVERSAL_TRAVERSAL_H

#include "weft/Traversal/IndexProgram.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weft::plan {

/// The most tiles of one launch that an order is built for.
constexpr int64_t maxTiles = int64_t(1) << 24;

/// The tiles of one GEMM-like stage: `rows` x `cols`, both at least 1.
struct TileGrid {
  int64_t rows = 1, cols = 1;
};

struct Tile {
  int64_t stage = 0, row = 0, col = 0;
  bool operator==(const Tile &other) const { return stage == other.stage && row == other.row && col == other.col; }
};

/// The text form, and what it means on a grid of R x C tiles:
///
///   row, column            row by row; column by column
///   serpentine             row by row, every other row from right to left
///   grouped<g>             strips of g rows (the last may be lower); a strip column by column, top to bottom
///   grouped<g,columns>     strips of g columns; a strip row by row, left to right
///   grouped-snake<g>       as grouped, every other strip from its end to its start
///   cutlass<w>             CUTLASS's threadblock swizzle with at most w = 1, 2, 4 or 8: grouped<v,columns>, v = 8 from
///   6
///                          tile columns on, 4 from 3, 2 from 2, at most w; the blocks CUTLASS lets exit are not there
///   morton                 Z order of the enclosing square of a power of two, tiles outside left out
///   hilbert                a generalised Hilbert curve: on any rectangle, neighbours in time are neighbours in space
///                          (one diagonal step where parity demands it)
///   table<t0,t1,...>       the row-major number of the tile of every block
///   chain<g>, chain<g,O>   two dependent stages with as many tile rows: strips of g rows, the first stage's tiles of a
///                          strip, then the second's that need them; within a strip the order O (default: column)
///   each<b,O>              b runs of R / b rows, one after the other, each in the order O: the grids of a batch
///   zigzag<n,O>            the order O, every other run of n tiles from its end to its start: who takes every n-th of
///                          tiles that shrink has as much to do as the others
struct Traversal {
  enum class Kind {
    Row,
    Column,
    Serpentine,
    Grouped,
    GroupedSnake,
    Cutlass,
    Morton,
    Hilbert,
    Table,
    Chain,
    Each,
    Zigzag
  };

  Kind kind = Kind::Row;
  int64_t width = 1;                      ///< g, w, b or n above; at least 1.
  bool isByColumns = false;               ///< Strips of columns (Grouped, GroupedSnake).
  std::vector<int64_t> table;             ///< Kind::Table only.
  std::shared_ptr<const Traversal> inner; ///< Kind::Chain (null: column), Each and Zigzag.

  std::string print() const;
};

/// `zigzag<width,inner>`.
Traversal makeZigzag(int64_t width, Traversal inner);

/// Whether an order may be the inner one of another, `outer`.
bool canBeInside(Traversal::Kind inner, Traversal::Kind outer);

/// Parses the text form. On failure returns false and says why in `error` (lower-case, no period).
bool parseTraversal(std::string_view text, Traversal &result, std::string &error);

/// The names of all kinds, for messages and completion.
const std::vector<std::string> &getTraversalNames();

/// Builds the index arithmetic: results are row, column, and for a chain also the stage as the third. One grid, or two
/// for a chain. Fails (false, `error`) when traversal and grids do not fit or there are more than maxTiles tiles.
bool buildTraversal(const Traversal &traversal, const std::vector<TileGrid> &grids, IndexProgram &program,
                    std::string &error);

/// A number of tile rows or columns: a constant of a program, or arithmetic on its parameters.
struct TileCount {
  IndexProgram::Value value;
  int64_t known = 0;    ///< What `value` always is; 0: only the launch knows.
  int64_t multiple = 1; ///< Divides `value` for certain.
};

/// As above for one grid, into `program`, to which `rows` and `cols` belong; none of them is 0 when it runs. Curves,
/// tables and chains fail where a number is not known, `cutlass` where that of the columns is not, `each` where the
/// rows need not be in equal runs.
bool buildTraversal(const Traversal &traversal, TileCount rows, TileCount cols, IndexProgram &program,
                    std::string &error);

/// A traversal evaluated on its grids: both directions as tables.
class TileOrder {
public:
  /// As buildTraversal. Also checks that the program is a bijection.
  static bool create(const Traversal &traversal, const std::vector<TileGrid> &grids, TileOrder &result,
                     std::string &error);

  int64_t size() const { return int64_t(tiles.size()); }
  const std::vector<Tile> &getTiles() const { return tiles; }
  const std::vector<TileGrid> &getGrids() const { return grids; }
  const IndexProgram &getProgram() const { return program; }
  /// The tile of a block in [0, size()).
  const Tile &operator[](int64_t block) const { return tiles[block]; }
  /// The block of a tile of the grids.
  int64_t find(const Tile &tile) const;

private:
  IndexProgram program;
  std::vector<TileGrid> grids;
  std::vector<Tile> tiles;
  std::vector<int64_t> blocks; ///< By stage, row, column.
};

} // namespace weft::plan

#endif // WEFT_TRAVERSAL_TRAVERSAL_H

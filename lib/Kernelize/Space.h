// The index space of one kernel: lanes of tiles, and the atoms that coordinates are expressions of.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A *lane* is a dimension that tiles can have; its extent is a power of two. Lanes are ordered by a key, and a tile has
// its lanes in that order. An *atom* is what the symbols of a coordinate stand for:
//   scalar  an `index` value: a tile number, a loop counter, a symbol of the kernel
//   lane    the position along a lane
//   axis    base * tile + (lane floordiv divisor) mod tile: the elements of a tile along a tensor's or a reduced
//   dimension; a lane has as many elements of a tile that is no power of two as the next power has (*narrow*)
//   index   a tile of integers, for gathers
// Atoms take values in [0, extent) for the purposes of simplification; an axis whose extent its tile does not divide is
// *ragged*, as is a narrow one, and what its tile holds past the end is nobody's concern, or masked explicitly.
#ifndef WEFT_LIB_KERNELIZE_SPACE_H
#define WEFT_LIB_KERNELIZE_SPACE_H

#include "Arithmetic.h"
#include "mlir/IR/IntegerSet.h"
#include "mlir/IR/Value.h"
#include "llvm/Support/MathExtras.h"
#include <deque>
#include <map>

namespace weft::kernelize {

using Exprs = llvm::SmallVector<mlir::AffineExpr>;

struct Lane {
  int64_t extent;
  double key;
  mlir::AffineExpr atom;
};

struct Scope; // A block under construction, see Kernelizer.h.

struct Atom {
  enum class Kind { Scalar, Lane, Axis, Index } kind;
  mlir::AffineExpr extent; ///< Null: a symbol of the kernel.
  Scope *scope = nullptr;  ///< Where it is known.
  mlir::Value value;       ///< Scalar: the index. Index: the tile.
  mlir::AffineExpr base;   ///< Axis, as are the following.
  int64_t tile = 1, divisor = 1;
  llvm::SmallVector<unsigned> lanes; ///< Of a lane and of an axis one; of an index those of its tile.

  /// Elements of the lane that an axis has, and whether they are more than those of the tile.
  int64_t getPlaces() const { return int64_t(llvm::PowerOf2Ceil(uint64_t(tile))); }
  bool isNarrow() const { return kind == Kind::Axis && getPlaces() != tile; }
};

/// expr >= 0, or expr == 0.
struct Constraint {
  mlir::AffineExpr expr;
  bool isEquality = false;
  bool operator==(const Constraint &other) const { return expr == other.expr && isEquality == other.isEquality; }
};
using Constraints = llvm::SmallVector<Constraint, 4>;

class Space {
public:
  explicit Space(mlir::MLIRContext *context) : context(context), arithmetic(context) {}

  unsigned addLane(int64_t extent, double key, Scope *root);
  const Lane &lane(unsigned i) const { return lanes[i]; }

  mlir::AffineExpr addScalar(mlir::Value index, mlir::AffineExpr extent, Scope *scope);
  /// An equal axis is the same atom. `base` is over scalars.
  mlir::AffineExpr getAxis(mlir::AffineExpr extent, mlir::AffineExpr base, int64_t tile, unsigned lane, int64_t divisor,
                           Scope *root);
  mlir::AffineExpr getIndex(mlir::Value tile, llvm::ArrayRef<unsigned> lanes, mlir::AffineExpr extent, Scope *scope);

  const Atom &atom(mlir::AffineExpr symbol) const {
    return atoms[llvm::cast<mlir::AffineSymbolExpr>(symbol).getPosition()];
  }
  const Atom &atom(unsigned i) const { return atoms[i]; }
  llvm::SmallVector<unsigned> atomsOf(llvm::ArrayRef<mlir::AffineExpr> exprs) const;
  /// Lanes that occur, in order.
  llvm::SmallVector<unsigned> lanesOf(llvm::ArrayRef<mlir::AffineExpr> exprs) const;
  llvm::SmallVector<unsigned> unite(llvm::ArrayRef<unsigned> a, llvm::ArrayRef<unsigned> b) const;
  /// The innermost scope of the atoms that occur; `root` if there are none.
  Scope *scopeOf(llvm::ArrayRef<mlir::AffineExpr> exprs, Scope *root) const;
  /// That the ragged axes among the atoms of `exprs` are within their extents, and within their tiles.
  Constraints ragged(llvm::ArrayRef<mlir::AffineExpr> exprs) const;

  mlir::AffineExpr simplify(mlir::AffineExpr expr) { return arithmetic.simplify(expr); }
  /// `expr` with axes replaced by what they are: over scalars, lanes and indices.
  mlir::AffineExpr expanded(mlir::AffineExpr expr);
  bool isNonNegative(mlir::AffineExpr expr) { return arithmetic.isNonNegative(expr); }
  mlir::AffineExpr constant(int64_t value) const { return mlir::getAffineConstantExpr(value, context); }
  mlir::MLIRContext *getContext() const { return context; }

private:
  mlir::AffineExpr add(Atom atom);

  mlir::MLIRContext *context;
  Arithmetic arithmetic;
  llvm::SmallVector<Lane> lanes;
  std::deque<Atom> atoms;
  std::map<std::vector<const void *>, mlir::AffineExpr> known; ///< Axes and indices by what they are made of.
};

/// Index arithmetic of one access: maps and guards over the dimensions of a tile with `lanes`, then one dimension for
/// each index tile, with a symbol for each scalar.
class Indexing {
public:
  Indexing(Space &space, llvm::ArrayRef<unsigned> lanes) : space(space), lanes(lanes) {}

  /// All expressions are to be given before a map or set is made.
  void addResult(mlir::AffineExpr expr) { results.push_back(convert(expr)); }
  void addConstraint(const Constraint &constraint);
  mlir::AffineMap getMap() const;
  /// None if there are no constraints.
  std::optional<mlir::IntegerSet> getSet() const;

  llvm::SmallVector<mlir::Value> symbols;
  llvm::SmallVector<const Atom *> indices;

private:
  mlir::AffineExpr convert(mlir::AffineExpr expr);

  Space &space;
  llvm::SmallVector<unsigned> lanes;
  Exprs results, conditions;
  llvm::SmallVector<bool> equalities;
};

} // namespace weft::kernelize

#endif // WEFT_LIB_KERNELIZE_SPACE_H

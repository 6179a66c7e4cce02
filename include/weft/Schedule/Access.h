// What can be read from the affine map and the guard of an access: how its elements lie along one dimension of the
// tile, whether a vector of them is one aligned piece of memory, and whether TMA can fetch it as a box.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SCHEDULE_ACCESS_H
#define WEFT_SCHEDULE_ACCESS_H

#include "weft/Dialect/TileKernel/IR/TileKernel.h"

namespace weft::schedule {

/// An access of a tile to a tensor without index tiles: `map` and `guard` over the tile's dimensions and symbols.
struct Access {
  mlir::RankedTensorType tensor;
  mlir::AffineMap map;
  std::optional<mlir::IntegerSet> guard;
  llvm::SmallVector<int64_t> shape; ///< Of the tile.
  /// For each symbol of the map the number of the kernel symbol that it is, if it is one.
  llvm::SmallVector<std::optional<unsigned>> kernelSymbols;
  /// Of a copy by TMA: the indices of each tile dimension that are read; empty: all.
  llvm::SmallVector<int64_t> live = {};
};

/// The access of a `tk.load` or `tk.store` without index tiles, or of a `tk.copy`; index tiles are ignored.
Access getAccess(tk::LoadOp load);
Access getAccess(tk::StoreOp store);
Access getAccess(tk::CopyOp copy);

/// Elements, a power of two and at most `maxElements`, of the widest vector along tile dimension `dim` such that, at
/// every multiple of it, its elements are contiguous in memory in rising order, start at a multiple of the vector's
/// size, and lie inside the guard all or none. 1 if there is none. The tensor starts at a multiple of 64 bytes.
int64_t getVectorElements(const Access &access, unsigned dim, int64_t maxElements);

/// The tile dimension along which vectors are widest, and the elements of such a vector.
struct Contiguity {
  unsigned dim = 0;
  int64_t elements = 1;
};
/// The last dimension where several are equal.
Contiguity getContiguity(const Access &access, int64_t maxElements);

/// Elements, a power of two, of the longest line along tile dimension `dim` such that, at every multiple of it, its
/// elements are contiguous in memory in rising order, wherever they begin, and those inside the guard are the first
/// ones of the line. 1 if there is none.
int64_t getLineElements(const Access &access, unsigned dim);
/// For each constraint of the guard by how much it falls from element to element along such lines: 0 or 1.
llvm::SmallVector<int64_t> getGuardFalls(const Access &access, unsigned dim, int64_t elements);

/// The part of a tile dimension that an index of a tensor follows: (index floordiv divisor) mod extent, times step.
struct BoxPart {
  int64_t dim = -1; ///< Of the tile; -1: none, the index is the same for the whole tile.
  int64_t divisor = 1, extent = 1, step = 1;

  /// From the first element of the tensor to the last.
  int64_t getReach() const { return (extent - 1) * step + 1; }
};
/// For each index of `map` its part of a tile of `shape`, if they make a box: each index is one part with a step of 1
/// to 8 (the last index: 1), or none, plus what is the same for the whole tile; the parts of a tile dimension cover it,
/// the first tensor dimension the highest digits, so that its indices lie in the box in rising order.
std::optional<llvm::SmallVector<BoxPart>> getBoxParts(mlir::AffineMap map, llvm::ArrayRef<int64_t> shape);

/// The indices of each tile dimension, from the first one on, that the guard leaves wherever the tile is, and that are
/// read: of tiles that are no power of two. What lies past the end of a tensor is not counted.
llvm::SmallVector<int64_t> getLiveShape(const Access &access);
/// Whether a constraint of the guard says where the tile ends.
bool isCut(const Access &access, unsigned constraint);

/// For accesses at a constant distance along one index of the tensor, not the last one (two terms of a window): the
/// part of the tile that this index follows, with any step.
std::optional<BoxPart> getSlidingPart(const Access &a, const Access &b);

/// Whether the access is a box of the tensor, as TMA fetches it: at most 5 dimensions; getBoxParts; all tile dimensions
/// are used; that of the last index is whole; strides are multiples of 16 bytes, and so are the box's extent and its
/// beginning along the last dimension; along others it reaches over 256 elements at most; the guard says no more than
/// that indices lie inside the tensor, and that indices lie inside getLiveShape, along a dimension that one index
/// follows.
bool isBox(const Access &access);
/// Bytes that TMA brings for such an access: of a tile that is cut along the last index whole panels.
int64_t countBoxBytes(const Access &access);
/// For a tile of two dimensions the bytes from slot to slot that hold such a box (multiples of 1,024): panels of 128
/// bytes lie one behind the other, and those from the last live one on are not there. 0 if the whole tile is needed.
int64_t getSlotPitch(const Access &access);

} // namespace weft::schedule

#endif // WEFT_SCHEDULE_ACCESS_H

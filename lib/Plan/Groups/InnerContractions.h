// Contractions that other contractions and reductions of a group read: which ones may be there, and what they cost.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two kinds. A *window sum* (the depthwise convolutions) is arithmetic of a few terms, computed wherever its element
// is read. A *vector* (the small products of a squeeze) is made by each CTA alone, in front of everything else.
#ifndef WEFT_LIB_PLAN_GROUPS_INNERCONTRACTIONS_H
#define WEFT_LIB_PLAN_GROUPS_INNERCONTRACTIONS_H

#include "weft/Dialect/TileGraph/IR/Contractions.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Plan/GemmModel.h"
#include "weft/Plan/Groups.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace weft::plan {

/// Takes the contractions that another contraction or a reduction of the group needs from `contracts` to `inner`. The
/// rule that forbids one of them, or an empty string.
std::string splitInner(const Group &group, llvm::SmallVectorImpl<tg::ContractOp> &contracts,
                       llvm::SmallPtrSetImpl<mlir::Operation *> &inner, const Device &device);

/// What `op` reduces in parts of one of `products` (tg::findTileParts), as an extra result of its kernel: each part is
/// the rows, or the columns, of a tile.
std::optional<tg::TileParts> findParts(mlir::Operation *op, llvm::ArrayRef<tg::ContractOp> products);

/// The ops of the group from the results of `products` to such parts, and behind them; tiles of the results have what
/// they need. Further results are among them.
llvm::SmallPtrSet<mlir::Operation *, 16> collectParts(const Group &group, llvm::ArrayRef<tg::ContractOp> products);

/// Whether `product` may have such results: tiles that are so many elements, one after the other, of `dims` of its
/// result.
bool canHaveParts(tg::ContractOp product, llvm::ArrayRef<int64_t> dims, int64_t places);
/// The same for the last dimension, whatever the elements.
bool canHaveRowParts(tg::ContractOp product);

/// The contraction as a product for the model: m is what `operand` alone has.
GemmProblem describeProduct(tg::ContractOp contract, unsigned operand);

/// Terms of each element, for rules that count instructions.
int64_t countTermsOf(tg::ContractOp contract);

/// Columns of a CTA that streams the matrix of `contract`, one of `products` side by side, whose `operand` is a vector.
double countStreamedColumns(tg::ContractOp contract, unsigned operand, size_t products, const Device &device);

/// Seconds that one CTA takes to make `vectors`, one after the other, by so many products of weights of `bytes`.
double secondsAlone(double points, double bytes, unsigned vectors, const Device &device);

/// Seconds that a product takes longer where each of its tiles computes what it reads of `operand`, all of which takes
/// `terms` products of sums over windows: by the model that chooses the tiles (GemmModel.h).
double secondsOfWindows(tg::ContractOp contract, unsigned operand, double terms, const Device &device);

/// Whether the anchor's result may be computed again for the elements of `elements`: it is a vector, and the kernel is
/// one wave of CTAs.
bool canStretch(llvm::ArrayRef<mlir::Operation *> anchors, double elements, const Device &device);

/// The least that a CTA of such rows is wide.
constexpr double leastBytesOfWindows = 8;
/// How many of `columns` columns, each an element of `bytes` wide, a CTA has that sums rows of windows, much work of
/// each element: a power of two, so that as many CTAs as run at once, or an eighth more, do `others` times all columns.
double columnsOfWindows(double columns, double others, double bytes, const Device &device);

/// G3 for rows of sums over windows: a CTA holds whole rows, 8 bytes of elements side by side, and their terms cost
/// less than a kernel. The rule that forbids it, or an empty string.
std::string checkWindowRows(tg::ContractOp window, tg::ReduceOp reduce, const Device &device);

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_GROUPS_INNERCONTRACTIONS_H

// Products of one left operand that start as one launch: a tile shape for all of them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CTAs of a launch take the room of the largest, so products that choose their tiles alone may not start together:
// where one has the whole of an SM for a CTA, others would lose CTAs. As one product, of all columns, they share out
// the SMs: what is left over at the end of each one's tiles is left over once.
#ifndef WEFT_PLAN_GEMMLAUNCH_H
#define WEFT_PLAN_GEMMLAUNCH_H

#include "weft/Plan/GemmModel.h"

namespace weft::plan {

struct KernelToSchedule;

/// Whether products in these tiles can start as one, so that none has fewer CTAs on an SM than it can fill.
bool canStartTogether(llvm::ArrayRef<GemmChoice> choices, const Device &device);

/// A tile for each product: the same rows, steps, warps and stages, and columns in inverse proportion to the products
/// in a tile; and what all of them cost as one launch.
struct GemmLaunch {
  llvm::SmallVector<GemmTile> tiles; ///< Empty: there are none.
  GemmCost cost;
};

/// The cheapest by the model of the product of all columns. `problems` have their left operand in common, from its
/// first row to its last.
GemmLaunch chooseGemmLaunch(llvm::ArrayRef<GemmProblem> problems, const Device &device);

/// The schedule that the products of a launch have in common, on a kernel module: a tile of rows and columns, steps,
/// engine, warps and stages. `chooseContraction` takes it where it fits.
inline constexpr llvm::StringLiteral launchTileAttr = "tg.launch_tile";
/// Of a kernel module, unit, from --weft-plan-launches: others of its level may start with it, which clusters do not.
inline constexpr llvm::StringLiteral besideAttr = "tg.beside";

/// The products of a kernel as they are tiled.
struct TiledProduct {
  GemmProblem problem;
  mlir::Value left; ///< What rows are read from, seen through views: an argument of the kernel, or computed there.
};

/// None where the kernel has no product with rows and columns.
std::optional<TiledProduct> describeTiledProduct(const KernelToSchedule &kernel);

} // namespace weft::plan

#endif // WEFT_PLAN_GEMMLAUNCH_H

// What is known of symbols before a model runs: their ranges, and the numbers that stand for them in estimates.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_IR_SYMBOLRANGES_H
#define WEFT_DIALECT_TILEGRAPH_IR_SYMBOLRANGES_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>

namespace weft::tg {

/// Module attribute: [low, high] or [low, high, likely] of each symbol.
inline constexpr llvm::StringLiteral symbolRangesAttr = "tg.symbol_ranges";
/// Attribute of programs and kernel modules: what their symbols count as in estimates; 0 of one of which nothing is
/// known.
inline constexpr llvm::StringLiteral likelyAttr = "tg.likely";

struct SymbolRange {
  int64_t low = 0, high = INT64_MAX;  ///< Other values are refused at run time.
  std::optional<int64_t> likely = {}; ///< The value to plan for where one plan serves all.

  bool isKnown() const { return low > 0 || high < INT64_MAX || likely; }
};
/// As many as the module has symbols.
llvm::SmallVector<SymbolRange> getSymbolRanges(mlir::Operation *module);
/// Removes the attribute if nothing is known.
void setSymbolRanges(mlir::Operation *module, llvm::ArrayRef<SymbolRange> ranges);

/// While one lives, `estimateExtent` (KernelAccess.h) on this thread takes the symbols of the module that an op is in
/// (or is) for what the module's attribute says, others for `symbolEstimate`. Every pass that estimates has one: what
/// is behind it asks for numbers at so many points that handing the values through would hide what those points do.
class LikelyExtents {
public:
  explicit LikelyExtents(mlir::Operation *op);
  ~LikelyExtents();
  LikelyExtents(const LikelyExtents &) = delete;
  LikelyExtents &operator=(const LikelyExtents &) = delete;

  /// Those of this thread, by symbol.
  static llvm::ArrayRef<int64_t> get();
  /// Whether something is known of all symbols of `extent`: then a plan is for extents like the estimated one, else for
  /// all.
  static bool has(mlir::AffineExpr extent);

private:
  llvm::ArrayRef<int64_t> before;
};

} // namespace weft::tg

#endif // WEFT_DIALECT_TILEGRAPH_IR_SYMBOLRANGES_H

// Layouts that follow from others: of a broadcast's operand, of a reduction's result.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SCHEDULE_DERIVEDLAYOUTS_H
#define WEFT_SCHEDULE_DERIVEDLAYOUTS_H

#include "weft/Dialect/TileKernel/IR/TileKernel.h"

namespace weft::schedule {

/// On a tk.load whose result is added up behind a loop: it is to be under way while the loop runs, so it stays there.
constexpr llvm::StringLiteral earlyAttr = "tk.early";
/// On a tk.map: triples of an operand of words, a dimension of its tile, and how many neighbouring elements along it
/// are fields of one word.
constexpr llvm::StringLiteral fieldsAttr = "tk.fields";

/// Warps that execute `op`: those of its role, or of the CTA (`tk.warps`; 4 where nothing says).
int64_t getWarps(mlir::Operation *op);

/// The part of a tile's layout in some of its dimensions: dimension i of the result is dimension `dims[i]`, cut to
/// 2^bits[i]. Bits of register, lane and warp stay, with zero bases where they move other dimensions only.
layout::LinearLayout selectDims(const layout::LinearLayout &layout, llvm::ArrayRef<int64_t> dims,
                                llvm::ArrayRef<unsigned> bits);

/// Where a broadcast's result (with a layout) wants the elements of its operand.
layout::LinearLayout getBroadcastSource(tk::BroadcastOp op);

/// The layout of a reduction over `dims` without any conversion: registers along `dims` combined and gone, lanes and
/// warps along `dims` hold the same result. Nothing if a basis moves reduced and kept dimensions at once, or if an
/// element is held twice in a way that would be counted twice.
std::optional<layout::LinearLayout> getReducedLayout(const layout::LinearLayout &layout, llvm::ArrayRef<int64_t> dims);

/// The layout in which tk.scan and tk.sort work along `dim`: each line within a warp, bit by bit, its neighbours in the
/// registers of a thread. `layout` itself where it is one.
layout::LinearLayout getLineLayout(const layout::LinearLayout &layout, int64_t dim);

/// How the bits of a layout take part in a reduction over `dims`: as masks of the bits of register, lane and warp.
struct ReducedBits {
  uint64_t registers = 0, lanes = 0, warps = 0; ///< Those that move reduced dimensions.
};
ReducedBits getReducedBits(const layout::LinearLayout &layout, llvm::ArrayRef<int64_t> dims);

/// Where the warps of a reduction leave their parts and find those of others in scratch: (register, lane, warp) ->
/// offset, in elements. `natural` is the layout of the result (getReducedLayout), `warps` has the bits of the warp's
/// number that move reduced dimensions. Reading, the low bits of the register are the part. The parts of an element lie
/// side by side, so that one vector reads them, unless banks would conflict; then nothing conflicts, in narrower
/// accesses.
struct PartLayouts {
  layout::LinearLayout write, read;
};
PartLayouts getPartLayouts(const layout::LinearLayout &natural, uint64_t warps, unsigned elementBits);

/// `part`, the layout of a smaller tile, as one of the tile of `whole`; nothing if it is larger.
std::optional<layout::LinearLayout> embedLayout(const layout::LinearLayout &part, const layout::LinearLayout &whole);

} // namespace weft::schedule

#endif // WEFT_SCHEDULE_DERIVEDLAYOUTS_H

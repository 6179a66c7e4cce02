// What tk.dot becomes where it is no wgmma: mma.sync or FMA, and the register layouts of one step along k, which follow
// from the accumulator's layout.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SCHEDULE_MMA_H
#define WEFT_SCHEDULE_MMA_H

#include "weft/Dialect/TileKernel/IR/TileKernel.h"
#include "weft/Dialect/TileKernel/Layout/Builders.h"

namespace weft::schedule {

/// An instruction mma.sync.mMnNkK.
struct MmaForm {
  unsigned m, n, k;
  layout::ElementType type;
};
/// The widest instruction for the dot's element type and extents: f16 and bf16 m16n8k16, f32 with `tf32` m16n8k8, 8-bit
/// integers with sums of 32 bits m16n8k32, f64 m8n8k4. Nothing if there is none or the dot's engine is simt:
/// then it is FMA.
std::optional<MmaForm> getMmaForm(tk::DotOp dot);
/// The same from the element type of the operands and of the sums, and the extents of the tile.
std::optional<MmaForm> getMmaForm(mlir::Type element, mlir::Type sum, bool isTf32, int64_t m, int64_t n, int64_t k);

/// Extents and element of a tile in registers or shared memory.
llvm::ArrayRef<int64_t> getTileShape(mlir::Type type);
mlir::Type getTileElement(mlir::Type type);

/// The accumulator of mma.sync over `warps` warps, split so that warps read the least of shared memory; with
/// `keepsRows` each warp holds whole rows. Of `slices`, as many groups of warps have sums of the whole tile, along a
/// third dimension. Warps that find no work repeat others'. Where only the first `live` columns are read, warps have
/// an instruction's columns in turn, so that each has its part of them. Nothing if an extent is below the
/// instruction's.
std::optional<layout::LinearLayout> makeMmaAccumulator(const MmaForm &form, int64_t m, int64_t n, int64_t warps,
                                                       bool keepsRows, int64_t slices, int64_t live);
/// The accumulator of FMA: each thread has rows and columns in vectors of `vectorM` and `vectorN` contiguous elements.
std::optional<layout::LinearLayout> makeFmaAccumulator(int64_t m, int64_t n, int64_t warps, int64_t vectorM,
                                                       int64_t vectorN);

/// How the register index of an accumulator counts: `fragmentBits` low bits within an instruction's fragment, the
/// others along m or n.
struct AccumulatorBits {
  unsigned fragmentBits = 0;
  llvm::SmallVector<unsigned> m, n; ///< Positions of bits of the register index, from the lowest bit of the tile's.
  /// The register index of repetition (i, j).
  unsigned getRegister(unsigned i, unsigned j) const;
};
/// Nothing if `acc` does not begin with the instruction's fragment (`form` null: with nothing), or a register, lane or
/// warp moves along both dimensions.
std::optional<AccumulatorBits> getAccumulatorBits(const layout::LinearLayout &acc, const MmaForm *form);

/// How a dot that is no wgmma is computed: by which instruction (none: FMA), how its accumulator's registers count, and
/// how much of k a step takes. Nothing if the accumulator is of another instruction.
struct DotStep {
  std::optional<MmaForm> form;
  AccumulatorBits bits;
  int64_t depth = 1;
};
std::optional<DotStep> getDotStep(tk::DotOp dot);

/// Words of operands that a thread holds at once where they are unpacked in the registers that multiply.
inline constexpr int64_t mostUnpackedWords = 160;

/// The position of a tile along k that the instructions count as `deep`: `order` of its bits (tk.dot's `depth_order`;
/// empty: the same).
uint64_t reorderDepth(uint64_t deep, llvm::ArrayRef<int64_t> order);

/// The registers of an operand over `depth` elements of k, `k` of which the tile has, where a warp's slice begins:
/// (register, lane, warp) -> [m, k] or [k, n]. Registers count within the fragment (FMA: along k), then along k
/// fragment by fragment, then as the accumulator's along m or n. Nothing if `acc` is no accumulator of `form`.
std::optional<layout::LinearLayout> makeOperandStep(const layout::LinearLayout &acc, const MmaForm *form,
                                                    layout::Operand operand, int64_t depth, int64_t k,
                                                    llvm::ArrayRef<int64_t> order = {});

} // namespace weft::schedule

#endif // WEFT_SCHEDULE_MMA_H

// What wgmma (sm_90a) takes: which dots, on which register layouts, from which shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dot [m, k] x [k, n] on `warps` warps has warps / 4 warpgroups. They divide m in blocks of 64 rows, in turn, and
// what is left of them divides n. A warpgroup executes instructions of 64 x min(n, 256) x 32 bytes of k.
#ifndef WEFT_SCHEDULE_WGMMA_H
#define WEFT_SCHEDULE_WGMMA_H

#include "weft/Dialect/TileKernel/IR/TileKernel.h"

namespace weft::schedule {

/// On a tk.store_box: blocks that each warpgroup of the CTA has passed through the same buffer in this tile before.
constexpr llvm::StringLiteral passedAttr = "tk.passed";

/// Bytes of k of one instruction.
inline constexpr int64_t wgmmaDepthBytes = 32;

/// Whether wgmma computes the dot: its engine says so, the element types are f16, bf16, i8, or f32 with
/// tf32, the tile has at least 64 rows, 8 columns and 32 bytes of k. Layouts and memory may still refuse.
bool isWgmma(tk::DotOp dot);

/// How a dot is divided.
struct WgmmaTiling {
  int64_t rowGroups = 1, columnGroups = 1; ///< Warpgroups along m and n; the former have the lower warp numbers.
  int64_t columns = 8;                     ///< Of an instruction.
  int64_t rowSteps = 1, columnSteps = 1;   ///< Instructions of a warpgroup along m and n.

  /// First row (column) of a warpgroup's instruction number `step`; `group` is its number along m (n).
  int64_t row(int64_t group, int64_t step) const { return 64 * (group + rowGroups * step); }
  int64_t column(int64_t group, int64_t step) const { return columns * (step + columnSteps * group); }
};
/// Nothing if m is not 64 times a power of two, n is too small for the warpgroups or not what their instructions cover,
/// or warps are no multiple of 4.
std::optional<WgmmaTiling> getWgmmaTiling(int64_t m, int64_t n, int64_t warps);

/// (register, lane, warp) -> [m, n] of the accumulator. Registers in the order of the instruction's, then columnSteps,
/// then rowSteps.
std::optional<layout::LinearLayout> getWgmmaAccumulator(int64_t m, int64_t n, int64_t warps);
/// (register, lane, warp) -> [m, k] of the left operand from registers, for a dot with n columns. Registers in the
/// order of the instruction's, then steps of k, then rowSteps.
std::optional<layout::LinearLayout> getWgmmaLhs(int64_t m, int64_t k, unsigned elementBits, int64_t n, int64_t warps);
/// Shared memory of a tile of two dimensions as TMA writes and wgmma reads it: `inner` is the contiguous dimension, in
/// panels as wide as the swizzle, which is the widest that fits. Nothing for fewer than 32 bytes along `inner`.
std::optional<layout::LinearLayout> getWgmmaBuffer(llvm::ArrayRef<int64_t> shape, unsigned inner, unsigned elementBits);

/// An operand in shared memory. Line is a row of M or N (K-major), or a k (MN-major); the bytes of a line are cut in
/// panels of `span` bytes.
struct WgmmaOperand {
  bool isMnMajor = false;
  unsigned span = 128; ///< Of the swizzle, in bytes: 128, 64 or 32.
  int64_t lines = 0;   ///< Of a panel.
  int64_t elementBytes = 2;

  int64_t panelBytes() const { return lines * span; }
  /// Bytes from the buffer's start to element `mn` of M or N and `k`, before swizzling. In multiples of an
  /// instruction's extents.
  int64_t offset(int64_t mn, int64_t k) const;
  /// The matrix descriptor less its start address.
  uint64_t descriptor() const;
};
/// `mnDim` is 0 for the left operand, 1 for the right one. Nothing if the layout is none of getWgmmaBuffer's, or M-
/// (N-) major with elements of other than 16 bits.
std::optional<WgmmaOperand> getWgmmaOperand(tk::SharedType buffer, unsigned mnDim);

/// Whether dots alone wrote the registers of `sums`: a dot's result, waited for or not, or a tile that nobody wrote.
bool isOfDots(mlir::Value sums);

} // namespace weft::schedule

#endif // WEFT_SCHEDULE_WGMMA_H

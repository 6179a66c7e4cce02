// What layouts answer: vector widths, bank conflicts, whether ldmatrix applies, the conversion between two register
// layouts, the best swizzle between two. Register layouts are (register, lane, warp, block) -> tile, memory layouts
// offset (in elements) -> tile, one to one. Questions about layouts that do not fit together (different tiles, memory
// that is no bijection) have no answer: nothing, or nothing applies.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEKERNEL_LAYOUT_ANALYSIS_H
#define WEFT_DIALECT_TILEKERNEL_LAYOUT_ANALYSIS_H

#include "weft/Dialect/TileKernel/Layout/LinearLayout.h"

namespace weft::layout {

/// The offset of every (register, lane, warp, block) in memory.
std::optional<LinearLayout> getOffsets(const LinearLayout &registers, const LinearLayout &memory);

struct VectorWidth {
  unsigned elements = 1; ///< Contiguous, aligned elements of one access of every thread.
  /// The registers of a vector, in the order of memory: bit i of the position adds (XOR) registerBits[i] to the
  /// register index.
  Vectors registerBits;
};
/// The widest access of at most `maxBits` bits (128 for PTX); memory is taken to be aligned to that.
std::optional<VectorWidth> getVectorWidth(const LinearLayout &registers, const LinearLayout &memory,
                                          unsigned elementBits, unsigned maxBits = 128);

/// One access of a warp to shared memory with 32 banks of 4 bytes. Accesses of 8 and 16 bytes pass by halves and
/// quarters of the warp. In a pass the lanes touch 2^wordRank words in 2^bankRank banks, evenly, so that it takes
/// 2^(wordRank - bankRank) wavefronts: equal ranks are the proof of conflict freedom. (Loads whose neighbouring lanes
/// all agree take half the passes; that is not modelled.)
struct BankConflicts {
  unsigned passes = 1, wordRank = 0, bankRank = 0;
  unsigned wavefronts() const { return passes << (wordRank - bankRank); }
  bool isFree() const { return wordRank == bankRank; }
};
/// For accesses of `vector` elements as getVectorWidth finds them; nothing if the access cannot be that wide.
std::optional<BankConflicts> getBankConflicts(const LinearLayout &registers, const LinearLayout &memory,
                                              unsigned elementBits, unsigned vector);

/// How ldmatrix or stmatrix (the same fragments) moves a fragment.
struct MatrixAccess {
  unsigned matrices; ///< 1, 2 or 4.
  bool isTransposed;
};
/// The widest form that applies, if one does: every row of eight 16-bit units is contiguous and aligned in memory, and
/// the lanes are those of the instruction. Transposed needs 16-bit elements. For stmatrix broadcast registers are
/// stored several times.
std::optional<MatrixAccess> getMatrixAccess(const LinearLayout &registers, const LinearLayout &memory,
                                            unsigned elementBits);

/// The offsets, in elements, of the three bits of the row's number in a matrix of `access`, which getMatrixAccess gave
/// for layouts with these `offsets` (getOffsets).
Vectors getMatrixRows(const LinearLayout &offsets, const MatrixAccess &access);
/// Of ldmatrix and stmatrix: a matrix, eight rows of 16 bytes, is a pass. Nothing if they do not apply.
std::optional<BankConflicts> getMatrixConflicts(const LinearLayout &registers, const LinearLayout &memory,
                                                unsigned elementBits);
/// Of a hardware unit that reads eight rows of 16 bytes in a pass (wgmma): `rows` are the offsets, in elements, of the
/// three bits of the row's number.
BankConflicts getRowConflicts(const Vectors &rows, unsigned elementBits);

enum class ConversionKind { none, withinThread, shuffles, shared, acrossBlocks };
const char *getName(ConversionKind kind);

/// `source` as (register, lane, warp, block) of the result -> the same of the operand, with as few changes as the kind
/// says.
struct Conversion {
  ConversionKind kind = ConversionKind::none;
  LinearLayout source;
};
/// The cheapest way to bring a tile from `from` to `to`; nothing if the tiles differ or `from` does not hold all of it.
/// Missing dimensions among register, lane, warp and block count as dimensions of no bits.
std::optional<Conversion> classifyConversion(const LinearLayout &from, const LinearLayout &to);

/// One lane's part in a round: it receives in dstRegister what srcLane sends from srcRegister.
struct LaneExchange {
  unsigned lane, dstRegister, srcLane, srcRegister;
};
/// In a round each lane receives at most one value and sends one register only: one shfl.sync.idx, or moves when every
/// lane receives from itself.
using ShuffleRound = std::vector<LaneExchange>;
/// The rounds of a conversion within warps, for one warp of one block; empty for conversions of other kinds and
/// above 4,096 registers. When all source lanes are
/// needed, as many rounds as the result has registers.
std::vector<ShuffleRound> planShuffles(const Conversion &conversion, uint64_t warp = 0, uint64_t block = 0);

/// The shared-memory layout through which `writer` stores and `reader` loads the same tile: both without bank conflicts
/// at the returned width, the widest that both can have. Any two register layouts have one, because two subspaces of
/// equal dimension have a common complement. Nothing for different tiles, tiles above 2^30 elements, or elements that
/// are not 8 to 128 bits.
struct SwizzleChoice {
  LinearLayout memory;
  unsigned vector = 1; ///< Elements.
};
std::optional<SwizzleChoice> chooseSwizzle(const LinearLayout &writer, const LinearLayout &reader,
                                           unsigned elementBits);

} // namespace weft::layout

#endif // WEFT_DIALECT_TILEKERNEL_LAYOUT_ANALYSIS_H

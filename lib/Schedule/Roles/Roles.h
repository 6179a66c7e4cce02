// Parts of --weft-tk-roles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_SCHEDULE_ROLES_ROLES_H
#define WEFT_LIB_SCHEDULE_ROLES_ROLES_H

#include "weft/Dialect/TileKernel/IR/TileKernel.h"

namespace weft::schedule {

/// A channel of TMA copies, and where it is used: all its ops lie in one block, the body of a loop or of tk.for_tiles.
struct ChannelUse {
  tk::MakeChannelOp channel;
  llvm::SetVector<mlir::Value> buffers; ///< What its copies fill.
};

/// The channels of `tiles`; nothing if not every copy is TMA's through a channel, a channel's ops lie in several
/// blocks, or a buffer has several channels.
std::optional<llvm::SmallVector<ChannelUse>> findTmaChannels(tk::ForTilesOp tiles);
/// The block of `tiles` that holds the channel's ops, null if there are none.
mlir::Block *findBlock(tk::ForTilesOp tiles, const ChannelUse &use);

/// Numbers the iterations of the channels from the role's cursor on, so that they go on over the tiles of a CTA, and
/// makes the slots of the channels' buffers those of the iterations. `tiles` is the loop of one role.
void numberIterations(tk::ForTilesOp tiles, llvm::ArrayRef<ChannelUse> uses);

/// Builds the producer's loop: copies, what they are addressed by, and the control flow around them. Null if that
/// depends on tiles.
tk::ForTilesOp buildProducer(mlir::OpBuilder &builder, tk::ForTilesOp tiles);

/// In loops whose last dot's left operand is computed in registers from the first dot's result: the last dot of an
/// iteration runs beside the first one of the next, with the waits for both. Iterations are numbered already. With
/// `inTurns` the warpgroups issue the two in turns. Whether there is such a loop.
bool overlapDots(tk::ForTilesOp tiles, llvm::ArrayRef<ChannelUse> uses, bool inTurns);
/// One slot more for each channel that overlapDots will give back an iteration later, as far as `bytes` of shared
/// memory last. Iterations are not numbered yet.
void addLateSlots(tk::ForTilesOp tiles, llvm::ArrayRef<ChannelUse> uses, int64_t bytes);

/// Asynchronous dots: in a loop that only accumulates, slots are given back one iteration later, when the dots of the
/// iteration before are over; elsewhere each dot is waited for. Also starts accumulators from zero without writing
/// them.
void waitForDots(tk::ForTilesOp tiles, llvm::ArrayRef<ChannelUse> uses);

/// Whether warpgroups hold whole blocks of 64 rows and lines of 128 bytes of the stored tile.
bool canStoreBox(tk::StoreOp store, int64_t warps);
/// Stores of accumulators that are boxes become tk.store_box, as far as `sharedBytes` of shared memory last; buffers
/// are made before `before`. `warps` of the role. `shares` above 1: each CTA of a cluster of so many stores its share.
void storeBoxes(tk::ForTilesOp tiles, mlir::Operation *before, int64_t warps, int64_t sharedBytes, int64_t shares);
/// Where CTAs that have parts of a tile's steps (tk.part_sum) do nothing with their sums but to store boxes, each adds
/// up and stores a share of the tile.
void sharePartSums(tk::ForTilesOp tiles);

/// Divides the loop of a tile's dots among the CTAs of a cluster: every s-th step from r on goes to the CTA with number
/// r of s, and sums pass through the buffer of an operand (tk.cluster_sum). False, with nothing changed, where the
/// kernel is not one such loop with stores of its sums: `warps` of the consumers, `parts` CTAs.
bool splitLoop(tk::ForTilesOp tiles, llvm::ArrayRef<ChannelUse> uses, int64_t warps, int64_t parts);

/// Gives the CTAs of a cluster tiles side by side, along the dimension in which they have most to read in common, and
/// marks the copies of that (multicastAttr). False, with nothing changed, if there are none.
bool shareTiles(tk::ForTilesOp tiles, int64_t ctas);

/// Whether the loop runs at least once, whatever its operands.
bool runsAtLeastOnce(mlir::Operation *loop);

} // namespace weft::schedule

#endif // WEFT_LIB_SCHEDULE_ROLES_ROLES_H

// What TMA and mbarriers share: tensor maps of a kernel, offsets of a channel's barriers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_LOWER_TILEKERNELTONVVM_TMA_H
#define WEFT_LIB_LOWER_TILEKERNELTONVVM_TMA_H

#include "KernelInfo.h"
#include "mlir/Transforms/DialectConversion.h"

namespace weft::gpu {

/// Which dimension of the tile each dimension of the tensor follows (-1: none), in the tensor's order.
llvm::SmallVector<int64_t> getBoxDims(mlir::AffineMap map, unsigned tileRank);

/// Bytes of the swizzle with which TMA fills a buffer whose contiguous dimension is `inner` (0: none); nothing if TMA
/// cannot.
std::optional<unsigned> getTmaSwizzle(tk::SharedType buffer, unsigned inner);

/// Gives `kernel` a parameter for each tensor map that its copies and tk.store_box need, and records them in `info`.
/// Fails with a diagnostic at a copy that TMA cannot do.
mlir::LogicalResult addTensorMaps(mlir::func::FuncOp kernel, KernelInfo &info);
/// The parameter of an op, inside its kernel.
mlir::Value getTensorMap(const KernelInfo &info, mlir::Operation *op, mlir::ConversionPatternRewriter &rewriter);

/// Coordinates of a box, innermost first, as i32: `map` at `dims`.
llvm::SmallVector<mlir::Value> emitCoordinates(IndexArithmetic &forms, mlir::OpBuilder &builder, mlir::Location loc,
                                               mlir::AffineMap map, llvm::ArrayRef<LinearForm> dims,
                                               llvm::ArrayRef<LinearForm> symbols);

/// Whether a channel's arrivals are counted by mbarriers.
bool isTma(mlir::Value channel);
/// Whether a slot of a channel is free only when it is in all CTAs of the cluster, because copies go to all of them.
bool isMulticast(mlir::Value channel);
/// The mbarriers of one slot of a channel; `channel` is its address. `full` completes when the copies have arrived,
/// `empty` when all consumers have given the slot back.
struct SlotBarriers {
  mlir::Value full, empty; ///< !llvm.ptr<3>
  mlir::Value phase;       ///< i32, 0 or 1: parity of the iteration's phase.
};
SlotBarriers getSlotBarriers(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value channel, mlir::Value iteration,
                             int64_t slots);

/// tk.cursor and tk.advance become a variable for each role and channel. Before the conversion.
void lowerCursors(mlir::func::FuncOp kernel);
/// 16-bit states of loops that are read in pairs become vectors of two. After the conversion.
void packLoopState(mlir::func::FuncOp kernel);

/// The CTA's number in its cluster, as i32.
mlir::Value emitClusterRank(mlir::OpBuilder &builder, mlir::Location loc);
/// The address of a position of this CTA's shared memory, as i32.
mlir::Value emitAddress(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value pointer);
/// The address (i32) that `address`, in shared memory of this CTA, has in CTA `cta` (i32) of the cluster.
mlir::Value emitMapped(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value address, mlir::Value cta);
/// A barrier of the cluster's threads that have not ended. What they wrote before is not ordered by it but for
/// mbarriers, whose initialisation has a fence of its own: a release would wait for all of the thread's writes, 0.44 us
/// on an H100 instead of 0.05.
void emitMeeting(mlir::OpBuilder &builder, mlir::Location loc);
/// Arrivals at the mbarrier that the CTAs 0 to `ctas` - 1 have where `barrier` is in this one: lane i at CTA i's.
void emitClusterArrival(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value barrier, mlir::Value lane,
                        int64_t ctas);
/// Until the phase of parity `phase` (i32) of an mbarrier is over.
void emitPhaseWait(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value barrier, mlir::Value phase);
/// Number of the warpgroup in its role, as i32, the same for all lanes as ptxas sees it.
mlir::Value emitWarpgroup(mlir::OpBuilder &builder, mlir::Location loc, int64_t firstWarp);
/// Number of the warp in its warpgroup, likewise.
mlir::Value emitWarpOfGroup(mlir::OpBuilder &builder, mlir::Location loc);

} // namespace weft::gpu

#endif // WEFT_LIB_LOWER_TILEKERNELTONVVM_TMA_H

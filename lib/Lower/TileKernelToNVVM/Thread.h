// Where a thread stands: its number among the threads that hold a tile, the coordinates of its registers, barriers and
// shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_LOWER_TILEKERNELTONVVM_THREAD_H
#define WEFT_LIB_LOWER_TILEKERNELTONVVM_THREAD_H

#include "KernelInfo.h"

namespace weft::gpu {

/// `index` values; in a role counted from the role's first thread.
struct Thread {
  mlir::Value id, lane, warp;
};
Thread getThread(mlir::OpBuilder &builder, mlir::Location loc, const Role &role);

/// All threads of the role (or CTA) meet; their accesses of shared memory are ordered.
void emitBarrier(mlir::OpBuilder &builder, mlir::Location loc, const Role &role);

/// !llvm.ptr<3> at `offset` bytes of dynamic shared memory. The kernel has some (KernelInfo::shared).
mlir::Value getSharedPointer(mlir::OpBuilder &builder, mlir::Location loc, const KernelInfo &info, int64_t offset);

/// Registers of a tile with this layout.
unsigned countRegisters(const layout::LinearLayout &layout);
/// The flat image of a register's index (lane and warp 0).
uint64_t getRegisterImage(const layout::LinearLayout &layout, unsigned reg);
/// The images of the thread's bits: five of the lane, then those of the warp, as flat outputs; zero where the layout
/// lacks them.
layout::Vectors getThreadBases(const layout::LinearLayout &layout);
/// The bits of the thread's number (lane, then warps' bits up to `warps`) that do not move the tile's index: threads
/// that differ in them hold the same elements.
uint64_t getReplicatedBits(const layout::LinearLayout &layout, int64_t warps);

/// Whether this thread is the first of those that hold the same elements.
Predicate isFirstHolder(mlir::OpBuilder &builder, mlir::Location loc, const Thread &thread, uint64_t replicatedBits);

/// The indices of a tile's elements, register by register: coordinates are linear in the bits of the thread's number,
/// so they are sums of its bit fields and, for each register, a constant.
class TileIndices {
public:
  /// `layout` maps (register, lane, warp) to the tile. `symbols` are the values of an access's symbols, `facts` what is
  /// known of them, `indices` its index tiles as one value (an integer or index) for each register.
  TileIndices(mlir::OpBuilder &builder, mlir::Location loc, const layout::LinearLayout &layout, const Role &role,
              mlir::ValueRange symbols = {}, llvm::ArrayRef<SymbolFacts> facts = {},
              llvm::ArrayRef<mlir::ValueRange> indices = {});

  /// The coordinates in the tile of a register, then its index tiles' values.
  llvm::SmallVector<LinearForm> getDims(unsigned reg);
  LinearForm evaluate(mlir::AffineExpr expr, unsigned reg) { return forms.evaluate(expr, getDims(reg), symbols); }
  Predicate evaluate(mlir::IntegerSet set, unsigned reg) { return forms.evaluate(set, getDims(reg), symbols); }
  IndexArithmetic &arithmetic() { return forms; }
  const Thread &getThread() const { return thread; }

private:
  /// A coordinate: a sum of bit fields of the thread's number, and, in the bits `mixed`, the XOR of what several bits
  /// of the thread and the register say, in multiples of `unit`.
  struct Coordinate {
    LinearForm plain;
    uint64_t mixed = 0, unit = 0;
    std::map<uint64_t, mlir::Value> values; ///< The thread's part of `mixed` XOR the register's, by the register's.
  };
  Coordinate makeCoordinate(unsigned dim);
  LinearForm getCoordinate(Coordinate &coordinate, uint64_t place);
  mlir::Value extractBits(unsigned first, unsigned count);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  layout::LinearLayout layout;
  IndexArithmetic forms;
  Thread thread;
  unsigned threadBits;
  llvm::SmallVector<LinearForm> symbols;
  llvm::SmallVector<mlir::ValueRange> indices;
  llvm::SmallVector<Coordinate> coordinates;
};

} // namespace weft::gpu

#endif // WEFT_LIB_LOWER_TILEKERNELTONVVM_THREAD_H

// Tiles in shared memory: the address of each register of a layout, and the widest instruction that moves them. The
// offset of an element is linear over F2 in the bits of register, lane and warp, so an address is the thread's offset
// XOR a constant. Bits of the constant that no thread's offset has are added instead, as an immediate of the
// instruction; what remains differs between few registers and does not depend on loops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_LOWER_TILEKERNELTONVVM_SHARED_H
#define WEFT_LIB_LOWER_TILEKERNELTONVVM_SHARED_H

#include "Thread.h"
#include "weft/Dialect/TileKernel/Layout/Analysis.h"

namespace weft::gpu {

/// base + thread's offset XOR a constant, in bytes.
class ThreadAddresses {
public:
  /// `columns`: the byte offset of each bit of the thread's number, lane first. `base` is a !llvm.ptr<3>, a multiple of
  /// all offsets' range.
  ThreadAddresses(mlir::OpBuilder &builder, mlir::Location loc, const Role &role, mlir::Value base,
                  llvm::ArrayRef<uint64_t> columns);

  struct Address {
    mlir::Value pointer; ///< !llvm.ptr<3>
    int64_t immediate;   ///< Bytes to add.
  };
  Address get(uint64_t constant);

private:
  mlir::Value emitThreadOffset(llvm::ArrayRef<uint64_t> columns);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  Role role;
  mlir::Value base, threadOffset; ///< i32; null: zero.
  uint64_t used = 0;              ///< Bits that some thread's offset has.
  llvm::DenseMap<uint64_t, mlir::Value> pointers;
};

/// Loads of the part of a tile that a layout describes, from one slot of shared memory.
class SharedReader {
public:
  /// `registers` and `memory` map to the same tile. Elements are `elementBits` wide.
  SharedReader(mlir::OpBuilder &builder, mlir::Location loc, const Role &role, mlir::Value base,
               const layout::LinearLayout &registers, const layout::LinearLayout &memory, unsigned elementBits);

  bool isValid() const { return offsets.has_value(); }
  /// The 32-bit words of all registers (64-bit ones for 64-bit elements; elements of one register each if the layout
  /// does not hold whole words), `place` (a flat position of the tile, outside of the layout's) further on. Of as many
  /// equal parts of the registers as `live` has entries those that are not may be null.
  llvm::SmallVector<mlir::Value> readWords(uint64_t place = 0, llvm::ArrayRef<bool> live = {});
  /// The registers one by one.
  llvm::SmallVector<mlir::Value> readElements(mlir::Type element, uint64_t place = 0);

private:
  llvm::SmallVector<mlir::Value> readMatrices(uint64_t constant, llvm::ArrayRef<bool> live);
  uint64_t getConstant(uint64_t place) const { return layout::combine(inverse, place); }

  mlir::OpBuilder &builder;
  mlir::Location loc;
  std::optional<layout::LinearLayout> offsets;
  layout::Vectors inverse; ///< Of the memory layout: offsets, in elements, of the tile's bits.
  unsigned elementBits;
  std::optional<layout::MatrixAccess> matrix;
  layout::VectorWidth width;
  std::optional<ThreadAddresses> addresses;
};

/// Stores a register tile: stmatrix where the target has it and the layouts fit, else vectors.
mlir::LogicalResult writeShared(mlir::OpBuilder &builder, mlir::Location loc, const KernelInfo &info, const Role &role,
                                mlir::Value base, mlir::ValueRange values, const layout::LinearLayout &registers,
                                const layout::LinearLayout &memory);

} // namespace weft::gpu

#endif // WEFT_LIB_LOWER_TILEKERNELTONVVM_SHARED_H

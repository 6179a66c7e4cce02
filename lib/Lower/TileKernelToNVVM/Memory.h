// Vectors of registers in memory: packed into words, loaded and stored, with a predicate where not all of a tile lies
// inside its tensor. A false predicate touches no memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_LOWER_TILEKERNELTONVVM_MEMORY_H
#define WEFT_LIB_LOWER_TILEKERNELTONVVM_MEMORY_H

#include "Thread.h"

namespace weft::gpu {

/// Where in a tensor (row-major, over the kernel's symbols) the registers of a tile are.
class TensorOffsets {
public:
  /// `symbols`: the kernel's. `indices` outlives this.
  TensorOffsets(TileIndices &indices, mlir::RankedTensorType tensor, mlir::AffineMap map,
                llvm::ArrayRef<mlir::Value> symbols);
  /// Elements from the tensor's first.
  LinearForm get(unsigned reg);

private:
  TileIndices &indices;
  mlir::AffineMap map;
  llvm::SmallVector<LinearForm> strides;
};

/// One access of memory: these registers, in the order of memory.
struct AccessVector {
  llvm::SmallVector<unsigned> registers;
  Terms terms;          ///< Elements from the tensor's first, without ...
  int64_t constant = 0; ///< ... this constant part.
  Predicate predicate;
};

/// Groups the registers of a tile into vectors of at most `maxBits` bits. `offsets` and `predicates` are those of each
/// register. A vector's elements are contiguous, aligned to its size, and have one predicate. Registers of equal offset
/// and predicate are one element of a vector: `equal` maps a register to the one that stands for it.
llvm::SmallVector<AccessVector> groupRegisters(llvm::ArrayRef<LinearForm> offsets, llvm::ArrayRef<Predicate> predicates,
                                               unsigned elementBits, llvm::SmallVectorImpl<unsigned> &equal,
                                               unsigned maxBits = 128);

/// How a load of global memory may be done.
struct LoadOptions {
  bool isReadOnly = false; ///< Nobody writes the tensor while the kernel runs: ld.global.nc.
};

/// `count` elements of type `element` at `base` (a !llvm.ptr<1>) + `byteOffset`, naturally aligned; elements are
/// `fill` where the predicate is false.
llvm::SmallVector<mlir::Value> emitGlobalLoad(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value base,
                                              int64_t byteOffset, mlir::Type element, unsigned count,
                                              const Predicate &predicate, mlir::Value fill, const LoadOptions &options);
void emitGlobalStore(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value base, int64_t byteOffset,
                     mlir::ValueRange values, const Predicate &predicate);

/// Combines elements with those in global memory, each atomically and relaxed; 16-bit floats in pairs where the target
/// can.
void emitGlobalCombine(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef target, tg::Monoid kind,
                       bool isUnsigned, mlir::Value base, int64_t byteOffset, mlir::ValueRange values,
                       const Predicate &predicate);

/// Elements in shared memory, at `base` (a !llvm.ptr<3>) + `byteOffset`, naturally aligned. i1 takes a byte.
llvm::SmallVector<mlir::Value> emitSharedLoad(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value base,
                                              int64_t byteOffset, mlir::Type element, unsigned count);
void emitSharedStore(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value base, int64_t byteOffset,
                     mlir::ValueRange values);

/// Elements as words of 32 bits (or one of 8, 16; words of 64 for 64-bit elements), low element first, and back.
llvm::SmallVector<mlir::Value> packWords(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange values);
llvm::SmallVector<mlir::Value> unpackWords(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange words,
                                           mlir::Type element, unsigned count);

/// base[index] for elements of `bytes` bytes; `index` (index type) may be null: 0.
mlir::Value offsetPointer(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value base, mlir::Value index,
                          unsigned bytes);

/// An inline assembly statement without results or with one or several.
llvm::SmallVector<mlir::Value> emitAsm(mlir::OpBuilder &builder, mlir::Location loc, mlir::TypeRange results,
                                       mlir::ValueRange operands, llvm::StringRef text, llvm::StringRef constraints,
                                       bool hasSideEffects);

} // namespace weft::gpu

#endif // WEFT_LIB_LOWER_TILEKERNELTONVVM_MEMORY_H

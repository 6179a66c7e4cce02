// What patterns need to know of the kernel as it was before the conversion: operations move and lose their parents
// while it runs, so facts about loops and roles are taken first and found by operation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_LOWER_TILEKERNELTONVVM_KERNELINFO_H
#define WEFT_LIB_LOWER_TILEKERNELTONVVM_KERNELINFO_H

#include "IndexForms.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Transforms/DialectConversion.h"
#include "weft/Dialect/TileKernel/IR/TileKernel.h"

namespace weft::gpu {

/// The warps that execute an operation: of one region of tk.roles, or of the CTA.
struct Role {
  int64_t number = 0; ///< 0: no role; region i of tk.roles has number i + 1. It is also its named barrier.
  int64_t firstWarp = 0, warps = 1;
  bool isPart = false; ///< No role, but not all warps of the CTA either: those of a task of a launch.
};

/// What a task of a launch has of it.
struct LaunchFrame {
  int64_t warps = 1;    ///< Of the CTA.
  bool repeats = false; ///< A CTA runs several tasks, one after the other.
  mlir::BlockArgument cta,
      ctas; ///< Of the task's function, i32: the number of the CTA among its kernel's, and how many.
  llvm::DenseSet<mlir::Value> written; ///< Tensors that other tasks of the launch write.
};

/// Of an index operand of an access.
struct SymbolFacts {
  Bounds bounds;
  unsigned depth = 0; ///< Loops around its definition.
};

class KernelInfo {
public:
  /// Reads `kernel`; makes the module's dynamic shared memory if the kernel uses any.
  /// `dependentLaunch`: the kernel may start while the one before it still runs (DependentLaunch.h).
  /// `frame`: of the launch that it is a task of, if it is.
  explicit KernelInfo(mlir::func::FuncOp kernel, bool dependentLaunch = false,
                      std::optional<LaunchFrame> frame = std::nullopt);

  mlir::ModuleOp module;
  llvm::StringRef target;
  int64_t warps = 1;                                      ///< Of the CTA, or of the task.
  int64_t cluster = 1;                                    ///< CTAs that compute a tile together.
  int64_t sharedBytes = 0;                                ///< Dynamic shared memory, scratch included.
  mlir::LLVM::GlobalOp shared;                            ///< Null if sharedBytes is 0.
  llvm::SmallVector<mlir::BlockArgument> symbolArguments; ///< The kernel's symbols.
  unsigned indexBits = 64;                                ///< 32 if every offset of every tensor is below 2^31 bytes.
  bool waitsForGrids = false; ///< Whether it may start early, and waits before it touches what other kernels write.
  llvm::SmallVector<int64_t> steadyArguments; ///< Tensors that no kernel of the program writes, where that is known.
  /// The barriers of a channel of TMA: one full and one empty for each slot, from `offset` in shared memory on.
  struct ChannelBarriers {
    int64_t offset, slots, consumers;
  };
  llvm::SmallVector<ChannelBarriers> barriers; ///< Of all channels; they are initialised at the first one.
  mlir::Operation *firstChannel = nullptr;
  bool hasMulticast = false; ///< CTAs of the cluster arrive at each other's barriers.
  bool hasCopies = false;    ///< A channel of copies: not all of them are what tk.cluster_open sends sums on.

  std::optional<LaunchFrame> frame; ///< None: a kernel of its own.
  /// The number of the CTA in its kernel, and how many that has, as i32.
  mlir::Value makeCta(mlir::ConversionPatternRewriter &rewriter, mlir::Location loc) const;
  mlir::Value makeCtas(mlir::ConversionPatternRewriter &rewriter, mlir::Location loc) const;
  /// All warps of the kernel.
  Role getCta() const { return {0, 0, warps, frame && frame->warps > warps}; }

  Role getRole(mlir::Operation *op) const;
  /// Facts of the `symbols` of an access, in order.
  llvm::ArrayRef<SymbolFacts> getSymbols(mlir::Operation *op) const;
  /// Whether nobody writes the tensor that a tk.load reads while the kernel runs, even before it has waited.
  bool isReadOnly(mlir::Operation *op) const { return readOnly.contains(op); }
  /// Whether a tk.copy by TMA reads what the L2 cache need not keep (Streams.h).
  bool isStream(mlir::Operation *op) const { return streams.contains(op); }
  /// Offset of an op's scratch in dynamic shared memory; -1 if it has none.
  int64_t getScratch(mlir::Operation *op) const;

  /// The tensor map parameters of copies and stores by TMA (Tma.h), and their records in order.
  llvm::DenseMap<mlir::Operation *, mlir::BlockArgument> tensorMaps;
  llvm::SmallVector<mlir::Attribute> tensorMapRecords;
  /// The dots that wgmma computes, and those of them whose accumulator other instructions have written.
  llvm::DenseSet<mlir::Operation *> wgmmaDots, writtenSums;
  /// For each tk.dot_wait: which of its values are ready behind it, by position, and the dots that then have read their
  /// left operands from registers.
  struct FinishedDots {
    llvm::SmallVector<unsigned> ready;
    llvm::SmallVector<mlir::Operation *> readers;
    llvm::SmallVector<llvm::SmallVector<bool>> live; ///< By value and register: what dots wrote; empty: all.
  };
  llvm::DenseMap<mlir::Operation *, FinishedDots> finishedDots;
  /// The words of the left operand in registers of a dot that was lowered: they stay as they are until it is waited
  /// for.
  mutable llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>> heldWords;

  /// 32 when every tensor is static and below 2^31 bytes, so that no offset needs more.
  static unsigned findIndexBits(mlir::func::FuncOp kernel);

private:
  bool isSteady(mlir::Value tensor) const;
  void recordFacts(mlir::func::FuncOp kernel);
  void placeScratch(mlir::func::FuncOp kernel);

  llvm::DenseMap<mlir::Operation *, Role> roles;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<SymbolFacts>> symbols;
  llvm::DenseSet<mlir::Operation *> readOnly, streams;
  llvm::DenseMap<mlir::Operation *, int64_t> scratch;
};

} // namespace weft::gpu

#endif // WEFT_LIB_LOWER_TILEKERNELTONVVM_KERNELINFO_H

// Patterns of --weft-lower-tk by family, and what they share. Types: a tile is one scalar for each register, in
// register order; a global tensor is !llvm.ptr<1>; a shared buffer is !llvm.ptr<3> to its first byte; a channel is
// !llvm.ptr<3> to its mbarriers (null for cp.async).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_LOWER_TILEKERNELTONVVM_PATTERNS_H
#define WEFT_LIB_LOWER_TILEKERNELTONVVM_PATTERNS_H

#include "KernelInfo.h"
#include "Thread.h"
#include "mlir/Transforms/DialectConversion.h"

namespace weft::gpu {

/// A pattern that knows the kernel.
template <typename OpTy> class TilePattern : public mlir::OpConversionPattern<OpTy> {
public:
  TilePattern(const mlir::TypeConverter &converter, const KernelInfo &info)
      : mlir::OpConversionPattern<OpTy>(converter, info.module->getContext()), info(info) {}

protected:
  const KernelInfo &info;
};

template <typename... PatternTypes>
void addTilePatterns(mlir::RewritePatternSet &patterns, const mlir::TypeConverter &converter, const KernelInfo &info) {
  (patterns.add(std::make_unique<PatternTypes>(converter, info)), ...);
}

/// The kernel's symbols as they are now.
inline llvm::SmallVector<mlir::Value> getKernelSymbols(mlir::ConversionPatternRewriter &rewriter,
                                                       const KernelInfo &info) {
  return llvm::map_to_vector(info.symbolArguments,
                             [&](mlir::BlockArgument argument) { return rewriter.getRemappedValue(argument); });
}

/// tk.for_tiles and its body.
void populateControlPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                             const KernelInfo &info);
/// tk.constant, splat, map, affine, guard.
void populateElementPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                             const KernelInfo &info);
/// tk.load, tk.store.
void populateGlobalPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                            const KernelInfo &info);
/// tk.convert, tk.broadcast.
void populateConversionPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                                const KernelInfo &info);
/// tk.reduce.
void populateReductionPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                               const KernelInfo &info);
/// tk.scan, tk.sort.
void populateScanPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                          const KernelInfo &info);

/// tk.alloc, slot, local_load, local_store, barrier.
void populateSharedMemoryPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                                  const KernelInfo &info);
/// tk.copy by cp.async, channels of such copies.
void populateCpAsyncPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                             const KernelInfo &info);
/// tk.dot by mma.sync or FMA.
void populateDotPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                         const KernelInfo &info);

/// tk.roles.
void populateRolePatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                          const KernelInfo &info);
/// tk.cluster_rank, cluster_sum.
void populateClusterPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                             const KernelInfo &info);
/// Channels of TMA copies.
void populateMbarrierPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                              const KernelInfo &info);
/// tk.copy by TMA, tk.store_box.
void populateTmaPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                         const KernelInfo &info);
/// tk.dot by wgmma, tk.dot_wait, tk.fence_async.
void populateWgmmaPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                           const KernelInfo &info);
/// Finds the dots that wgmma computes.
void recordDots(mlir::func::FuncOp kernel, KernelInfo &info);

/// Copies the one-block region of a tile op, with `arguments` for its arguments; what it yields.
llvm::SmallVector<mlir::Value> inlineScalars(mlir::OpBuilder &builder, mlir::Region &region,
                                             mlir::ValueRange arguments);

/// The registers of a tile in another layout; `scratch` (bytes of dynamic shared memory, -1: none) is where they pass
/// if they must. Fails, with a diagnostic, if `from` does not hold the tile or there is no scratch.
mlir::FailureOr<llvm::SmallVector<mlir::Value>> convertRegisters(mlir::OpBuilder &builder, mlir::Location loc,
                                                                 const KernelInfo &info, const Role &role,
                                                                 mlir::ValueRange values,
                                                                 const layout::LinearLayout &from,
                                                                 const layout::LinearLayout &to, int64_t scratch);

} // namespace weft::gpu

#endif // WEFT_LIB_LOWER_TILEKERNELTONVVM_PATTERNS_H

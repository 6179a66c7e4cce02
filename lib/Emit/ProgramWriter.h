// One program as an entry of a bundle.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_EMIT_PROGRAMWRITER_H
#define WEFT_LIB_EMIT_PROGRAMWRITER_H

#include "BundleData.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "weft/Emit/Ptx.h"

namespace weft::emit {

/// Writes @main of one program; see ProgramWriter.cpp.
class ProgramWriter {
public:
  /// `architecture`: of a GPU, or empty for the CPU.
  ProgramWriter(mlir::ModuleOp program, llvm::StringRef architecture, bundle::Builder &builder, BundleData &data);

  llvm::Error write();
  /// Kernels for Builder::addPtx, after `write`. A kernel that nothing dispatches has none.
  std::vector<bundle::Builder::GpuKernel> getGpuKernels(llvm::ArrayRef<unsigned> registers) const;
  /// All but the bytes of code.
  ProgramStatistics measure() const;

private:
  /// How the kernels of one module are started.
  struct Kernel {
    bundle::KernelId id;
    mlir::AffineMap grid;                   ///< The number of grid points is the least of its results.
    mlir::AffineMap scalars;                ///< Null: the symbols.
    mlir::AffineExpr scratch;               ///< Null: none.
    std::optional<GpuKernel> gpu;           ///< Of GPU kernels.
    std::vector<bundle::DType> bufferTypes; ///< Of the first dispatch.
  };

  llvm::Error addSignature(mlir::func::FuncOp main);
  llvm::Error addKernels(mlir::func::FuncOp main);
  llvm::Expected<Kernel> readKernel(mlir::ModuleOp module) const;
  llvm::Error addOp(mlir::Operation &op);
  llvm::Error addWeight(tg::WeightOp op);
  llvm::Error addConstant(tg::ConstantOp op);
  llvm::Error addDispatch(tg::DispatchOp op);
  llvm::Error checkSignature(tg::DispatchOp op, const Kernel &kernel) const;
  void addResults(mlir::func::FuncOp main);

  bundle::Reg reg(mlir::AffineExpr expr, llvm::ArrayRef<bundle::Reg> symbolRegs);
  bundle::Reg reg(mlir::AffineExpr expr) { return reg(expr, symbols); }
  std::vector<bundle::Reg> extents(mlir::Type type);

  mlir::ModuleOp program;
  std::string architecture;
  bundle::Builder &builder;
  BundleData &data;
  bundle::EntryBuilder &entry;
  std::vector<bundle::Reg> symbols;
  llvm::DenseMap<mlir::Value, bundle::BufferId> buffers; ///< By storage.
  llvm::DenseMap<mlir::Value, unsigned> outputOf;        ///< Storage that is written as output number N.
  std::vector<bundle::BufferId> outputs;
  llvm::MapVector<mlir::StringAttr, Kernel> kernels; ///< In order of their ids.
  uint64_t dispatches = 0;
};

} // namespace weft::emit

#endif // WEFT_LIB_EMIT_PROGRAMWRITER_H

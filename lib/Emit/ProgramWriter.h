// One program as an entry of a bundle.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_EMIT_PROGRAMWRITER_H
#define WEFT_LIB_EMIT_PROGRAMWRITER_H

#include "BundleData.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "weft/Dialect/TileGraph/IR/Program.h"
#include "weft/Emit/Ptx.h"

namespace weft::emit {

/// The bundle's element type of a tensor.
llvm::Expected<bundle::DType> dtype(mlir::Type tensor);
/// The value whose buffer `value` shares.
mlir::Value storageOf(mlir::Value value);

/// Whether a kernel writes `storage` where its reader wants it: the result of a dispatch or of an update in place.
bool isStoredByKernel(mlir::Value storage);

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
  llvm::Error addKernels();
  llvm::Expected<Kernel> readKernel(mlir::ModuleOp module) const;
  /// The ops of a block in the order of its stages.
  llvm::Error addBlock(mlir::Block &block);
  llvm::Error addOp(mlir::Operation &op);
  llvm::Error addWeight(tg::WeightOp op);
  llvm::Error addConstant(tg::ConstantOp op);
  llvm::Error addDispatch(tg::DispatchOp op);
  /// The buffer that a dispatch's result is written to.
  llvm::Expected<bundle::BufferId> addResult(mlir::OpResult result);
  void addAliases(mlir::func::FuncOp main);
  llvm::Error checkSignature(tg::DispatchOp op, const Kernel &kernel) const;
  llvm::Error addResults(mlir::func::FuncOp main);

  // ProgramControl.cpp
  llvm::Error addBind(tg::BindSymbolsOp op);
  llvm::Error addLoop(tg::LoopOp op);
  llvm::Error addLoopTurn(tg::LoopOp op, llvm::ArrayRef<bundle::BufferId> carried, bundle::BufferId condition,
                          llvm::ArrayRef<bundle::BufferId> collected);
  llvm::Error addIf(tg::IfOp op);
  // ProgramCollectives.cpp
  llvm::Error addCollective(mlir::Operation &op);
  /// Where its result goes.
  llvm::Expected<bundle::EntryBuilder::Argument> placeCollective(mlir::Operation &op);
  llvm::Error checkJoined(tg::ConcatOp op) const;
  /// What is written next begins when those collectives are done whose results `op` reads: all, for ops of bodies.
  void awaitOperands(mlir::Operation &op);
  void awaitCollectives(uint64_t number);
  // ProgramControl.cpp
  llvm::Error addVariants(tg::VariantsOp op);
  llvm::Error addVariant(tg::VariantsOp op, size_t number, bundle::Reg turns);
  /// The ops of function `body` of these arguments, here; the buffers of what it returns.
  llvm::Expected<std::vector<bundle::BufferId>> addBody(mlir::FlatSymbolRefAttr body,
                                                        llvm::ArrayRef<bundle::BufferId> arguments);
  llvm::Expected<bundle::BufferId> bufferOf(mlir::Value value) const;
  llvm::Expected<bundle::BufferId> addCopy(mlir::Value value);
  llvm::Expected<bundle::BufferId> addTransient(mlir::Type type);
  /// Copies all of `to`'s bytes; nothing if they are one buffer.
  void copyWhole(bundle::BufferId from, bundle::BufferId to);

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
  llvm::DenseMap<uint32_t, unsigned> updates; ///< By output buffer: in how many bodies of the program it is an update.
  llvm::DenseMap<mlir::Value, uint64_t>
      besides;                       ///< By storage: the number of the collective that makes it beside others.
  uint64_t started = 0, awaited = 0; ///< So many of these collectives.
  unsigned bodies = 1;               ///< Variants.
  llvm::MapVector<mlir::StringAttr, Kernel> kernels; ///< In order of their ids.
  uint64_t dispatches = 0;
};

} // namespace weft::emit

#endif // WEFT_LIB_EMIT_PROGRAMWRITER_H

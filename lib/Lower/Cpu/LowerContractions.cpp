// weft-cpu-contract: contractions on memory become packed panels and register tiles (MicroKernel.cpp), or vectors
// streamed in place where rows are few (StreamContraction.cpp), which may turn out when the kernel runs; what does not
// suit stays a generic.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Epilogue.h"
#include "MicroKernel.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "weft/Lower/Cpu/Passes.h"

namespace weft::cpu {
#define GEN_PASS_DEF_LOWERCONTRACTIONS
#include "weft/Lower/Cpu/Passes.h.inc"
} // namespace weft::cpu

using namespace mlir;
using weft::cpu::Contraction;

namespace {

/// Rows that are streamed one after the other in less time than panels of columns are packed in.
constexpr int64_t mostStreamedRows = 3;

/// The number of rows, where it is known only when the kernel runs; else null.
Value countRows(OpBuilder &b, linalg::GenericOp op, const Contraction &contraction) {
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  if (llvm::none_of(contraction.m, [&](unsigned d) { return ShapedType::isDynamic(ranges[d]); }))
    return {};
  SmallVector<Range> loops = cast<linalg::LinalgOp>(op.getOperation()).createLoopRanges(b, op.getLoc());
  Value rows;
  for (unsigned d : contraction.m) {
    Value extent = getValueOrCreateConstantIndexOp(b, op.getLoc(), loops[d].size);
    rows = rows ? b.createOrFold<arith::MulIOp>(op.getLoc(), rows, extent) : extent;
  }
  return rows;
}

/// Where rows are counted at run time: a branch that streams a copy of `op`, with what surrounds it, while they are
/// few; `op` goes on in the other one.
void branchOnRows(linalg::GenericOp op, const Contraction &contraction, weft::cpu::RegisterTile tile) {
  weft::cpu::Surroundings around = weft::cpu::findSurroundings(op);
  OpBuilder b(around.epilogue ? around.epilogue : op);
  Location loc = op.getLoc();
  Value rows = contraction.adjacentRows ? Value() : countRows(b, op, contraction);
  if (!rows)
    return;
  Value most = arith::ConstantIndexOp::create(b, loc, mostStreamedRows);
  Value isFew = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ule, rows, most);
  auto branch = scf::IfOp::create(b, loc, isFew, /*withElseRegion=*/true);
  IRMapping mapping;
  OpBuilder then = branch.getThenBodyBuilder();
  if (around.epilogue) // Sums of its own, which registers take the place of.
    then.clone(*op.getDpsInits()[0].getDefiningOp(), mapping);
  SmallVector<Operation *> moved;
  for (linalg::GenericOp part : {around.zero, op, around.epilogue})
    if (part)
      moved.push_back(part);
  linalg::GenericOp copy;
  for (Operation *part : moved) {
    Operation *one = then.clone(*part, mapping);
    if (part == op)
      copy = cast<linalg::GenericOp>(one);
  }
  std::optional<Contraction> few = weft::cpu::matchContraction(copy);
  if (!few || failed(weft::cpu::streamContraction(copy, *few, tile, /*eachRow=*/true)))
    return branch.erase();
  for (Operation *part : moved)
    part->moveBefore(branch.elseBlock()->getTerminator());
}

class LowerContractions : public weft::cpu::impl::LowerContractionsBase<LowerContractions> {
public:
  using LowerContractionsBase::LowerContractionsBase;

private:
  void runOnOperation() override {
    if (vectorBits < 128 || vectorBits > 512 || !llvm::isPowerOf2_32(vectorBits) || registerRows == 0 ||
        registerRows > 14) {
      getOperation().emitError("expected vector-bits 128, 256 or 512 and register-rows from 1 to 14, got ")
          << vectorBits.getValue() << " and " << registerRows.getValue();
      return signalPassFailure();
    }
    SmallVector<linalg::GenericOp> ops;
    getOperation().walk([&](linalg::GenericOp op) {
      // An op that a contraction takes in is none itself.
      if (op.hasPureBufferSemantics() && weft::cpu::matchContraction(op))
        ops.push_back(op);
    });
    weft::cpu::RegisterTile tile{vectorBits, registerRows, addsQuads};
    for (linalg::GenericOp op : ops) {
      std::optional<weft::cpu::Contraction> contraction = weft::cpu::matchContraction(op);
      if (!contraction || (contraction->fewRows && succeeded(weft::cpu::streamContraction(op, *contraction, tile))))
        continue;
      branchOnRows(op, *contraction, tile);
      (void)weft::cpu::lowerContraction(op, *contraction, tile);
    }
  }
};

} // namespace

// weft-cpu-contract: contractions on memory become packed panels and register tiles (MicroKernel.cpp), or vectors
// streamed in place where rows are few (StreamContraction.cpp); what does not suit stays a generic.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "MicroKernel.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "weft/Lower/Cpu/Passes.h"

namespace weft::cpu {
#define GEN_PASS_DEF_LOWERCONTRACTIONS
#include "weft/Lower/Cpu/Passes.h.inc"
} // namespace weft::cpu

using namespace mlir;

namespace {

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
      (void)weft::cpu::lowerContraction(op, *contraction, tile);
    }
  }
};

} // namespace

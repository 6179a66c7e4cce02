// weft-cpu-record: what later passes need of the `tg` form of a kernel is written down before it is lowered to linalg.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Kernel.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Lower/Cpu/Passes.h"
#include "weft/Target/KernelAttributes.h"

namespace weft::cpu {
#define GEN_PASS_DEF_RECORDSHAPES
#include "weft/Lower/Cpu/Passes.h.inc"
} // namespace weft::cpu

using namespace mlir;

namespace {

class RecordShapes : public weft::cpu::impl::RecordShapesBase<RecordShapes> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    func::FuncOp func = weft::cpu::getKernelFunc(module);
    if (!func) {
      module.emitError("expected one public function in a kernel module");
      return signalPassFailure();
    }
    unsigned symbols = weft::cpu::getSymbols(func).size();
    module->setAttr(weft::cpu::operandDimsAttr, record(func.getArgumentTypes(), symbols));
    SmallVector<Type> results(func.getResultTypes());
    if (auto into = module->getAttrOfType<DictionaryAttr>(weft::gpu::intoAttr)) {
      auto number = into.getAs<IntegerAttr>("result");
      auto type = into.getAs<TypeAttr>("type");
      if (number && type && uint64_t(number.getInt()) < results.size())
        results[number.getInt()] = type.getValue(); // The memory that the result is an update of.
    }
    module->setAttr(weft::cpu::resultDimsAttr, record(results, symbols));
    SmallVector<Attribute> ops;
    func.walk([&](Operation *op) {
      if (op->getDialect() && op->getName().getDialectNamespace() == "tg" && !isa<weft::tg::ConstantOp>(op))
        ops.push_back(StringAttr::get(&getContext(), op->getName().stripDialect()));
    });
    module->setAttr(weft::cpu::opsAttr, ArrayAttr::get(&getContext(), ops));
  }

  /// Extents of the tensors among `types` in the form in which kernels take them: sub-byte elements are packed in one
  /// dimension of bytes.
  ArrayAttr record(TypeRange types, unsigned symbols) {
    SmallVector<Attribute> maps;
    for (Type type : types) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor)
        continue;
      int64_t bits = weft::tg::getElementBits(tensor.getElementType());
      weft::tg::Dims dims = weft::tg::getDims(tensor);
      if (bits < 8)
        dims = {weft::tg::simplify((weft::tg::getNumElements(tensor) * bits).ceilDiv(8))};
      maps.push_back(AffineMapAttr::get(AffineMap::get(0, symbols, dims, &getContext())));
    }
    return ArrayAttr::get(&getContext(), maps);
  }
};

} // namespace

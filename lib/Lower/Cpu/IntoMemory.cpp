// What IntoMemory.h says.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "IntoMemory.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "weft/Target/KernelAttributes.h"

using namespace mlir;

namespace weft::cpu {

std::optional<IntoMemory> readInto(ModuleOp module) {
  auto attribute = module->getAttrOfType<DictionaryAttr>(gpu::intoAttr);
  if (!attribute)
    return std::nullopt;
  auto result = attribute.getAs<IntegerAttr>("result"), indices = attribute.getAs<IntegerAttr>("indices");
  auto updates = attribute.getAs<TypeAttr>("updates");
  auto dataMap = attribute.getAs<AffineMapAttr>("data_map");
  auto indexMaps = attribute.getAs<ArrayAttr>("index_maps");
  auto type = updates ? dyn_cast<RankedTensorType>(updates.getValue()) : RankedTensorType();
  if (!result || !indices || !type || !dataMap || !indexMaps)
    return std::nullopt;
  return IntoMemory{unsigned(result.getInt()), unsigned(indices.getInt()), type, dataMap.getValue(),
                    llvm::map_to_vector(indexMaps, [](Attribute map) { return cast<AffineMapAttr>(map).getValue(); })};
}

/// The index that symbol `number` of the data map stands for at `place`, from the end if negative.
static Value loadIndex(OpBuilder &b, Location loc, const IntoMemory &into, unsigned number, Value indices,
                       ValueRange place, Value extent) {
  SmallVector<Value> entry;
  for (AffineExpr expr : into.indexMaps[number].getResults())
    entry.push_back(affine::AffineApplyOp::create(b, loc, AffineMap::get(place.size(), 0, expr), place));
  Value told = arith::IndexCastOp::create(b, loc, b.getIndexType(), memref::LoadOp::create(b, loc, indices, entry));
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value isNegative = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, told, zero);
  return arith::SelectOp::create(b, loc, isNegative, arith::AddIOp::create(b, loc, told, extent), told);
}

void storeRows(OpBuilder &builder, Location loc, const IntoMemory &into, Value rows, Value indices, Value memory,
               ValueRange extents) {
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0), one = arith::ConstantIndexOp::create(builder, loc, 1);
  SmallVector<Value> lowers(extents.size(), zero), steps(extents.size(), one);
  scf::buildLoopNest(builder, loc, lowers, extents, steps, [&](OpBuilder &b, Location loc, ValueRange place) {
    SmallVector<Value> target;
    Value exists = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
    for (auto [d, expr] : llvm::enumerate(into.dataMap.getResults())) {
      auto symbol = dyn_cast<AffineSymbolExpr>(expr);
      if (!symbol) {
        target.push_back(affine::AffineApplyOp::create(b, loc, AffineMap::get(place.size(), 0, expr), place));
        continue;
      }
      Value extent = memref::DimOp::create(b, loc, memory, d);
      target.push_back(loadIndex(b, loc, into, symbol.getPosition(), indices, place, extent));
      // A negative index is a huge unsigned one.
      Value isWithin = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, target.back(), extent);
      exists = arith::AndIOp::create(b, loc, exists, isWithin);
    }
    auto branch = scf::IfOp::create(b, loc, exists, /*withElseRegion=*/false);
    OpBuilder inner = branch.getThenBodyBuilder();
    memref::StoreOp::create(inner, loc, tensor::ExtractOp::create(inner, loc, rows, place), memory, target);
  });
}

} // namespace weft::cpu

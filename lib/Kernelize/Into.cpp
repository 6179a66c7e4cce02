// Results that are stored into memory of the caller's, at indices that an operand has.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel is planned over its result, the new rows. Where an element of that is stored is known at the store alone:
// its coordinates as the updates', and of these by the scatter's maps those of the memory, some of which are read from
// the indices. An index outside of the memory is not stored.
#include "Kernelizer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "weft/Target/KernelAttributes.h"

using namespace mlir;

namespace weft::kernelize {

void Kernelizer::readInto() {
  auto attribute = source->getParentOfType<ModuleOp>()->getAttrOfType<DictionaryAttr>(gpu::intoAttr);
  if (!attribute)
    return;
  auto number = attribute.getAs<IntegerAttr>("result"), indices = attribute.getAs<IntegerAttr>("indices");
  auto type = attribute.getAs<TypeAttr>("type"), updates = attribute.getAs<TypeAttr>("updates");
  auto places = attribute.getAs<TypeAttr>("places");
  auto dataMap = attribute.getAs<AffineMapAttr>("data_map");
  auto indexMaps = attribute.getAs<ArrayAttr>("index_maps");
  Operation *terminator = source.getBody().front().getTerminator();
  bool isWhole = number && indices && type && updates && places && dataMap && indexMaps;
  if (!isWhole || number.getInt() < 0 || number.getInt() >= terminator->getNumOperands() || indices.getInt() < 0 ||
      indices.getInt() >= source.getNumArguments()) {
    source.emitError("expected ") << gpu::intoAttr << " to name a result and an operand, got " << attribute;
    failed = true;
    return;
  }
  into = Into{unsigned(number.getInt()),
              type.getValue(),
              updates.getValue(),
              places.getValue(),
              terminator->getOperand(unsigned(number.getInt())).getType(),
              dataMap.getValue(),
              llvm::map_to_vector(indexMaps, [](Attribute map) { return cast<AffineMapAttr>(map).getValue(); }),
              source.getArgument(unsigned(indices.getInt()))};
}

std::pair<Exprs, std::optional<Tile>> Kernelizer::placesInto(ArrayRef<AffineExpr> at) {
  Exprs update = reshaped(into->updates, into->own, at), places;
  std::optional<Tile> within;
  auto conjoin = [](OpBuilder &inner, Location loc, ValueRange args) -> Value {
    return arith::AndIOp::create(inner, loc, args[0], args[1]);
  };
  for (auto [expr, extent] : llvm::zip_equal(into->dataMap.getResults(), tg::getDims(into->type))) {
    auto symbol = dyn_cast<AffineSymbolExpr>(expr);
    if (!symbol) {
      places.push_back(space.simplify(expr.replaceDims(update)));
      continue;
    }
    Exprs told = composed(into->indexMaps[symbol.getPosition()], update);
    Exprs entry = reshaped(into->indices.getType(), into->places, told);
    Tile raw = wrapped(into->indices, entry, extent, /*clamps=*/false);
    Tile isHere = map({raw, affine(extent, raw.element())}, builder.getI1Type(),
                      [](OpBuilder &inner, Location loc, ValueRange args) -> Value { // A negative one is huge.
                        return arith::CmpIOp::create(inner, loc, arith::CmpIPredicate::ult, args[0], args[1]);
                      });
    within = within ? map({*within, isHere}, builder.getI1Type(), conjoin) : isHere;
    Tile index = wrapped(into->indices, entry, extent, /*clamps=*/true);
    places.push_back(
        space.getIndex(index.value, index.lanes, extent, scopeFor(into->indices, canonical(into->indices, entry))));
  }
  return {places, within};
}

} // namespace weft::kernelize

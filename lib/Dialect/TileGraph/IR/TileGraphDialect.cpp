// Registration of the dialect, its attributes, and constant access.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/IR/DialectImplementation.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft::tg;

#include "weft/Dialect/TileGraph/IR/TileGraphDialect.cpp.inc"
#include "weft/Dialect/TileGraph/IR/TileGraphEnums.cpp.inc"
#include "weft/Dialect/TileGraph/IR/TileGraphInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "weft/Dialect/TileGraph/IR/TileGraphAttrs.cpp.inc"

void TileGraphDialect::initialize() {
  weightStore = std::make_shared<WeightStore>();
  registerAttributes();
  registerOps();
}

void TileGraphDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "weft/Dialect/TileGraph/IR/TileGraphAttrs.cpp.inc"
      >();
}

Operation *TileGraphDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, elements);
}

LogicalResult DimsAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                                       function_ref<InFlightDiagnostic()> emitError) const {
  AffineMap map = getMap();
  if (map.getNumDims() != 0)
    return emitError() << "expected a map of symbols only, got " << map.getNumDims() << " dimensions";
  if (map.getNumResults() != shape.size())
    return emitError() << "expected one extent for each of " << shape.size() << " dimensions, got "
                       << map.getNumResults();
  for (auto [d, extent] : llvm::enumerate(map.getResults())) {
    std::optional<int64_t> constant = getConstant(extent);
    if (constant.value_or(ShapedType::kDynamic) != shape[d])
      return emitError() << "extent of dimension " << d << " disagrees with the tensor type";
  }
  return success();
}

LogicalResult DataAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef source, int64_t offset,
                               int64_t size) {
  if (offset < 0 || size < 0)
    return emitError() << "expected offset and size not below 0, got " << offset << " and " << size;
  return success();
}

/// Whether every entry is a power of two.
static bool arePowersOfTwo(ArrayRef<int64_t> values) {
  return llvm::all_of(values, [](int64_t value) { return value > 0 && llvm::isPowerOf2_64(value); });
}

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> tile,
                                   ArrayRef<int64_t> stream, Engine, int64_t warps, int64_t stages, StringRef, bool,
                                   int64_t split) {
  if (!arePowersOfTwo(tile) || !arePowersOfTwo(stream))
    return emitError() << "expected powers of two in `tile` and `stream`, got [" << tile << "] and [" << stream << "]";
  if (warps < 1 || warps > 32 || !llvm::isPowerOf2_64(warps))
    return emitError() << "expected 1 to 32 warps, a power of two, got " << warps;
  if (stages < 1 || stages > 16)
    return emitError() << "expected 1 to 16 stages, got " << stages;
  if (split < 1)
    return emitError() << "expected a split of at least 1, got " << split;
  return success();
}

SmallVector<std::string> weft::tg::getSymbolNames(Operation *module) {
  SmallVector<std::string> names;
  if (auto array = module->getAttrOfType<ArrayAttr>(TileGraphDialect::symbolsAttrName))
    for (Attribute name : array)
      if (auto text = dyn_cast<StringAttr>(name))
        names.push_back(text.str());
  return names;
}

ElementsAttr weft::tg::getConstantElements(Value value, int64_t maxBytes) {
  if (auto constant = value.getDefiningOp<ConstantOp>())
    return constant.getValue();
  auto weight = value.getDefiningOp<WeightOp>();
  if (!weight || weight.getOrder() || weight.getData().getSize() > maxBytes)
    return {};
  DataAttr data = weight.getData();
  auto *dialect = cast<TileGraphDialect>(weight->getDialect());
  auto bytes = dialect->getWeightStore().lookup(data.getSource(), data.getOffset(), data.getSize());
  auto type = cast<RankedTensorType>(value.getType());
  Type element = type.getElementType();
  // Booleans are a byte each in a weight but packed in a DenseElementsAttr; sub-byte types are packed in a weight only.
  if (!bytes || !type.hasStaticShape())
    return {};
  if (element.isInteger(1)) {
    SmallVector<bool> bits;
    for (char byte : *bytes)
      bits.push_back(byte != 0);
    return DenseElementsAttr::get(type, bits);
  }
  if (element.getIntOrFloatBitWidth() < 8)
    return {};
  bool splat = false;
  if (!DenseElementsAttr::isValidRawBuffer(type, *bytes, splat))
    return {};
  // A buffer of one element's size is valid for any type and would be taken as a splat: only the exact size is meant
  // here.
  if (splat && type.getNumElements() != 1)
    return {};
  return DenseElementsAttr::getFromRawBuffer(type, *bytes);
}

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

/// The fields of a schedule that are printed where they are set: `, multicast = 2`, `, turns = true`.
static ParseResult parseClusters(AsmParser &parser, int64_t &multicast, bool &turns) {
  multicast = 1, turns = false;
  while (succeeded(parser.parseOptionalComma())) {
    StringRef name;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&name))
      return failure();
    if (name != "multicast" && name != "turns")
      return parser.emitError(loc, "expected multicast or turns, got '") << name << "'";
    if (parser.parseEqual())
      return failure();
    if (name == "multicast") {
      if (parser.parseInteger(multicast))
        return failure();
      continue;
    }
    StringRef value;
    if (parser.parseKeyword(&value))
      return failure();
    if (value != "true" && value != "false")
      return parser.emitError(loc, "expected turns = true or false, got '") << value << "'";
    turns = value == "true";
  }
  return success();
}

static void printClusters(AsmPrinter &printer, int64_t multicast, bool turns) {
  if (multicast != 1)
    printer << ", multicast = " << multicast;
  if (turns)
    printer << ", turns = true";
}

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

LogicalResult DomainAttr::verify(function_ref<InFlightDiagnostic()> emitError, AffineMap extents, int64_t numParallel,
                                 ArrayRef<int64_t> along) {
  int64_t rank = extents.getNumResults();
  if (extents.getNumDims() != 0 || numParallel < 0 || numParallel > rank || int64_t(along.size()) != rank)
    return emitError() << "expected parallel dimensions before reduced ones, and extents of symbols only";
  for (auto [d, other] : llvm::enumerate(along))
    if (other < 0 || other > int64_t(d) || along[other] != other || (int64_t(d) < numParallel && other != int64_t(d)))
      return emitError() << "expected d" << d
                         << " to run along itself or, if it is reduced, an earlier dimension that does, got d" << other;
  return success();
}

void DomainAttr::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleaveComma(llvm::enumerate(getExtents().getResults()), printer, [&](auto dim) {
    int64_t d = dim.index();
    printer << 'd' << d << ": " << dim.value() << (d < getNumParallel() ? " parallel" : " reduce");
    if (getAlong()[d] != d)
      printer << " along d" << getAlong()[d];
  });
  printer << '>';
}

/// `dN` as N.
static ParseResult parseDim(AsmParser &parser, int64_t &number) {
  StringRef word;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  if (!word.consume_front("d") || word.getAsInteger(10, number))
    return parser.emitError(loc, "expected a dimension, such as d0");
  return success();
}

Attribute DomainAttr::parse(AsmParser &parser, Type) {
  constexpr unsigned mostSymbols = 256;
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (unsigned s = 0; s < mostSymbols; ++s)
      list.push_back("s" + std::to_string(s));
    return list;
  }();
  SmallVector<std::pair<StringRef, AffineExpr>> symbols;
  for (auto [s, name] : llvm::enumerate(names))
    symbols.emplace_back(name, getAffineSymbolExpr(s, parser.getContext()));
  SmallVector<AffineExpr> extents;
  SmallVector<int64_t> along;
  int64_t numParallel = 0;
  SMLoc begin = parser.getCurrentLocation();
  auto parseOne = [&]() -> ParseResult {
    int64_t number = 0, other = int64_t(extents.size());
    StringRef kind;
    SMLoc loc = parser.getCurrentLocation();
    if (parseDim(parser, number) || parser.parseColon() || parser.parseAffineExpr(symbols, extents.emplace_back()) ||
        parser.parseKeyword(&kind))
      return failure();
    if (number != other || (kind != "parallel" && kind != "reduce") || (kind == "parallel" && numParallel != other))
      return parser.emitError(loc, "expected d") << other << ", parallel (before reduced ones) or reduce";
    numParallel += kind == "parallel";
    if (succeeded(parser.parseOptionalKeyword("along")) && parseDim(parser, other))
      return failure();
    along.push_back(other);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseOne))
    return {};
  return parser.getChecked<DomainAttr>(begin, parser.getContext(), getSymbolMap(extents, parser.getContext()),
                                       numParallel, along);
}

/// Whether every entry is a power of two.
static bool arePowersOfTwo(ArrayRef<int64_t> values) {
  return llvm::all_of(values, [](int64_t value) { return value > 0 && llvm::isPowerOf2_64(value); });
}

/// Whether every entry is a power of two, or whole columns of a matrix instruction.
static bool areTiles(ArrayRef<int64_t> tile, Engine engine) {
  constexpr int64_t columns = 8;
  int64_t behind = 1; // Elements of this dimension and those behind it.
  return llvm::all_of(llvm::reverse(tile), [&](int64_t extent) {
    behind = extent * behind % columns;
    return arePowersOfTwo(extent) || (extent > 0 && behind == 0 && engine != Engine::Simt);
  });
}

/// Beside the longest step of wgmma others take any number of elements: each is a product of its own.
static bool areSteps(ArrayRef<int64_t> stream, Engine engine) {
  if (engine != Engine::Wgmma || stream.empty())
    return arePowersOfTwo(stream);
  return arePowersOfTwo(*llvm::max_element(stream)) && llvm::all_of(stream, [](int64_t step) { return step > 0; });
}

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> tile,
                                   ArrayRef<int64_t> stream, Engine engine, int64_t warps, int64_t stages, StringRef,
                                   bool, int64_t split, int64_t multicast, bool turns) {
  constexpr int64_t mostMulticast = 16; // CTAs of a cluster.
  if (!areTiles(tile, engine))
    return emitError() << "expected powers of two in `tile`, or multiples of 8 where engine = wgmma or mma, got ["
                       << tile << "] and " << stringifyEngine(engine);
  if (!areSteps(stream, engine))
    return emitError() << "expected powers of two in `stream`, got [" << stream << "]";
  if (warps < 1 || warps > 32 || !llvm::isPowerOf2_64(warps))
    return emitError() << "expected 1 to 32 warps, a power of two, got " << warps;
  if (stages < 1 || stages > 16)
    return emitError() << "expected 1 to 16 stages, got " << stages;
  if (split < 1)
    return emitError() << "expected a split of at least 1, got " << split;
  if (multicast < 1 || multicast > mostMulticast || !llvm::isPowerOf2_64(multicast))
    return emitError() << "expected a multicast to 1 to " << mostMulticast << " CTAs, a power of two, got "
                       << multicast;
  if ((multicast > 1 || turns) && engine != Engine::Wgmma)
    return emitError() << "expected engine = wgmma with " << (turns ? "turns" : "a multicast") << ", got "
                       << stringifyEngine(engine);
  if (multicast > 1 && split > 1)
    return emitError() << "expected a split or a multicast, got split = " << split << " and multicast = " << multicast;
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

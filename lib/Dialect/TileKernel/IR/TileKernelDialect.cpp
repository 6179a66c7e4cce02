// The `tk` dialect: registration, attributes, types.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/IR/DialectImplementation.h"
#include "weft/Dialect/TileKernel/IR/TileKernel.h"
#include "weft/Dialect/TileKernel/Layout/Text.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft::tk;

#include "weft/Dialect/TileKernel/IR/TileKernelDialect.cpp.inc"
#include "weft/Dialect/TileKernel/IR/TileKernelEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "weft/Dialect/TileKernel/IR/TileKernelAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "weft/Dialect/TileKernel/IR/TileKernelTypes.cpp.inc"

void TileKernelDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "weft/Dialect/TileKernel/IR/TileKernelAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "weft/Dialect/TileKernel/IR/TileKernelTypes.cpp.inc"
      >();
  registerOps();
}

unsigned weft::tk::getElementBits(Type element) { return element.isInteger(1) ? 8 : element.getIntOrFloatBitWidth(); }

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  std::string text;
  if (parser.parseLess())
    return {};
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseString(&text) || parser.parseGreater())
    return {};
  std::string error;
  std::optional<weft::layout::LinearLayout> value = weft::layout::parseLayout(text, error);
  if (!value) {
    parser.emitError(loc, "expected a layout, got `") << text << "`: " << error;
    return {};
  }
  return get(parser.getContext(), *value);
}

void LayoutAttr::print(AsmPrinter &printer) const { printer << "<\"" << layout::printLayout(getValue()) << "\">"; }

//===-- Types: `[slots x] 4x8xf16[, layout]` ----------------------------------------------------------------------===//

/// `pitch`: where a tile may have one.
static ParseResult parseTile(AsmParser &parser, SmallVectorImpl<int64_t> &shape, Type &element, LayoutAttr &layout,
                             int64_t *pitch = nullptr) {
  if (parser.parseDimensionList(shape, /*allowDynamic=*/false) || parser.parseType(element))
    return failure();
  while (succeeded(parser.parseOptionalComma())) {
    if (pitch && succeeded(parser.parseOptionalKeyword("pitch"))) {
      if (parser.parseEqual() || parser.parseInteger(*pitch))
        return failure();
      break;
    }
    if (layout || parser.parseAttribute(layout))
      return failure();
  }
  return parser.parseGreater();
}

static void printTile(AsmPrinter &printer, ArrayRef<int64_t> shape, Type element, LayoutAttr layout,
                      int64_t pitch = 0) {
  for (int64_t extent : shape)
    printer << extent << 'x';
  printer << element;
  if (layout)
    printer << ", " << layout;
  if (pitch)
    printer << ", pitch = " << pitch;
  printer << '>';
}

Type TileType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type element;
  LayoutAttr layout;
  if (parser.parseLess() || parseTile(parser, shape, element, layout))
    return {};
  return getChecked([&] { return parser.emitError(parser.getNameLoc()); }, parser.getContext(), shape, element, layout);
}

void TileType::print(AsmPrinter &printer) const {
  printer << '<';
  printTile(printer, getShape(), getElementType(), getLayout());
}

Type SharedType::parse(AsmParser &parser) {
  int64_t slots = 0;
  SmallVector<int64_t> shape;
  Type element;
  LayoutAttr layout;
  int64_t pitch = 0;
  if (parser.parseLess() || parser.parseInteger(slots) || parser.parseKeyword("x") ||
      parseTile(parser, shape, element, layout, &pitch))
    return {};
  return getChecked([&] { return parser.emitError(parser.getNameLoc()); }, parser.getContext(), slots, shape, element,
                    layout, pitch);
}

void SharedType::print(AsmPrinter &printer) const {
  printer << '<' << getSlots() << " x ";
  printTile(printer, getShape(), getElementType(), getLayout(), getPitch());
}

/// The largest tile: 2^20 elements, more than the registers or the shared memory of an SM hold.
constexpr int64_t maxTileElements = int64_t(1) << 20;

/// What tiles in registers and in shared memory have in common; `input` is the dimension a layout may start from.
static LogicalResult verifyTile(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape, Type element,
                                LayoutAttr layout, bool isMemory) {
  if (!element.isSignlessIntOrFloat() ||
      !llvm::is_contained({1u, 8u, 16u, 32u, 64u}, element.getIntOrFloatBitWidth()) ||
      (isa<FloatType>(element) && !element.isF16() && !element.isBF16() && !element.isF32() && !element.isF64()))
    return emitError()
           << "expected a signless integer of 1, 8, 16, 32 or 64 bits, f16, bf16, f32 or f64 as element, got "
           << element;
  int64_t elements = 1;
  for (int64_t extent : shape) {
    if (extent < 1 || extent > maxTileElements || !llvm::isPowerOf2_64(extent))
      return emitError() << "expected extents that are powers of two, got " << extent;
    elements *= extent;
    if (elements > maxTileElements)
      return emitError() << "expected at most " << maxTileElements << " elements in a tile";
  }
  if (!layout)
    return success();
  const weft::layout::LinearLayout &value = layout.getValue();
  bool fits = value.outs().size() == shape.size();
  for (auto [i, extent] : llvm::enumerate(shape))
    fits = fits && value.outs()[i].name == "dim" + std::to_string(i) && value.outs()[i].bits == llvm::Log2_64(extent);
  if (!fits)
    return emitError() << "expected a layout of the tile's extents, got `" << weft::layout::printLayout(value) << "`";
  for (const weft::layout::Dim &in : value.ins())
    if (isMemory ? in.name != "offset" : in.name != "register" && in.name != "lane" && in.name != "warp")
      return emitError() << "expected a layout from " << (isMemory ? "`offset`" : "`register`, `lane` and `warp`")
                         << ", got `" << in.name << "`";
  if (!value.isSurjective() || (isMemory && !value.isInjective()))
    return emitError() << "expected a layout that holds every element" << (isMemory ? " once" : "") << ", got `"
                       << weft::layout::printLayout(value) << "`";
  return success();
}

LogicalResult TileType::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape, Type element,
                               LayoutAttr layout) {
  return verifyTile(emitError, shape, element, layout, /*isMemory=*/false);
}

/// Slots begin where swizzled panels may.
static constexpr int64_t slotAlignment = 1024;

static int64_t tileBytes(ArrayRef<int64_t> shape, Type element) {
  return llvm::product_of(shape) * weft::tk::getElementBits(element) / 8;
}

LogicalResult SharedType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t slots, ArrayRef<int64_t> shape,
                                 Type element, LayoutAttr layout, int64_t pitch) {
  if (slots < 1 || slots > 256)
    return emitError() << "expected 1 to 256 slots, got " << slots;
  if (failed(verifyTile(emitError, shape, element, layout, /*isMemory=*/true)))
    return failure();
  int64_t whole = tileBytes(shape, element);
  if (pitch && (pitch < 0 || pitch >= whole || pitch % slotAlignment))
    return emitError() << "expected a pitch that is a multiple of " << slotAlignment << " below the tile's " << whole
                       << " bytes, got " << pitch;
  return success();
}

int64_t TileType::getNumElements() const { return llvm::product_of(getShape()); }
int64_t SharedType::getTileBytes() const { return tileBytes(getShape(), getElementType()); }

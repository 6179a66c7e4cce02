// See the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "MaskTables.h"
#include "GraphBuilder.h"
#include "weft/Reference/Reference.h"

using namespace mlir;

namespace weft::tg {

/// Elements of a mask that are looked at, at most.
static constexpr int64_t mostElements = int64_t(1) << 24;

double toDouble(APFloat number) {
  bool loses = false;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
  return number.convertToDouble();
}

double largestOf(Value value) {
  auto element = dyn_cast<FloatType>(GraphBuilder::elementOf(value));
  return element ? toDouble(APFloat::getLargest(element.getFloatSemantics())) : std::numeric_limits<double>::infinity();
}

/// The first and the last position that row `i` keeps; first > last if there is none.
static std::pair<int64_t, int64_t> findEnds(ArrayRef<uint8_t> row) {
  int64_t first = 0, last = int64_t(row.size()) - 1;
  while (first <= last && !row[first])
    ++first;
  while (last > first && !row[last])
    --last;
  return {first, last};
}

/// The band and the empty row of `table`, whose positions `keeps` has row by row.
static void describe(Table &table, ArrayRef<uint8_t> keeps) {
  Band band;
  band.isSlanted = table.rows > 1;
  for (int64_t i = 0; i < table.rows; ++i) {
    auto [first, last] = findEnds(keeps.slice(i * table.places, table.places));
    int64_t row = band.isSlanted ? i : 0;
    if (first > last)
      table.emptyRow = table.emptyRow ? table.emptyRow : i;
    else if (first > 0 && !band.low)
      band.low = first - row;
    if (first <= last && last < table.places - 1 && !band.high)
      band.high = last - row;
  }
  if (!band.low && !band.high)
    return;
  for (int64_t i = 0; i < table.rows; ++i)
    for (int64_t j = 0; j < table.places; ++j) {
      int64_t distance = j - (band.isSlanted ? i : 0);
      bool isIn = (!band.low || distance >= *band.low) && (!band.high || distance <= *band.high);
      if (isIn != bool(keeps[i * table.places + j]))
        return;
    }
  table.band = band;
}

std::optional<Table> Tables::readNumbers(Value value) {
  auto [it, isNew] = known.try_emplace({value, 0u}, std::nullopt);
  if (isNew && isa<FloatType>(GraphBuilder::elementOf(value)))
    it->second = makeNumbers(value);
  return it->second;
}

std::optional<Table> Tables::readBooleans(Value condition, bool kept) {
  auto [it, isNew] = known.try_emplace({condition, unsigned(kept)}, std::nullopt);
  if (isNew)
    it->second = makeBooleans(condition, kept);
  return it->second;
}

/// Rows and positions of a mask whose other extents are 1; none of another form.
std::optional<Table> Tables::readShape(RankedTensorType type) {
  if (!type.hasStaticShape() || type.getRank() < 1 || type.getNumElements() < 2 || type.getNumElements() > mostElements)
    return std::nullopt;
  Table table;
  table.places = type.getShape().back();
  table.rows = type.getRank() > 1 ? type.getDimSize(type.getRank() - 2) : 1;
  if (table.rows * table.places != type.getNumElements())
    return std::nullopt;
  return table;
}

DenseElementsAttr Tables::evaluate(Value value) {
  reference::Limits limits = reference::foldLimits();
  limits.sharedWork = &workLeft;
  auto elements = dyn_cast_or_null<DenseElementsAttr>(reference::foldToConstant(value, limits));
  if (!elements || elements.isSplat() || workLeft < elements.getNumElements())
    return {};
  workLeft -= elements.getNumElements();
  return elements;
}

std::optional<Table> Tables::makeNumbers(Value value) {
  std::optional<Table> table = readShape(cast<RankedTensorType>(value.getType()));
  DenseElementsAttr elements = table ? evaluate(value) : DenseElementsAttr();
  unsigned width = GraphBuilder::elementOf(value).getIntOrFloatBitWidth() / 8;
  if (!elements || width < 2 || int64_t(elements.getRawData().size()) != elements.getNumElements() * width)
    return std::nullopt;
  ArrayRef<char> bytes = elements.getRawData(), other;
  auto isZero = [&](ArrayRef<char> number) { // Either zero.
    return llvm::all_of(number.drop_back(), [](char c) { return c == 0; }) && (number.back() & 0x7f) == 0;
  };
  std::vector<uint8_t> keeps;
  int64_t place = 0;
  for (int64_t i = 0; i < elements.getNumElements(); ++i) {
    ArrayRef<char> number = bytes.slice(i * width, width);
    keeps.push_back(isZero(number));
    if (keeps.back())
      continue;
    if (other.empty()) {
      place = i;
      other = number;
    }
    if (number != other)
      return std::nullopt;
  }
  table->masked = toDouble(*(elements.getValues<APFloat>().begin() + place));
  if (!(table->masked <= greatestMask))
    return std::nullopt;
  describe(*table, keeps);
  return table;
}

std::optional<Table> Tables::makeBooleans(Value condition, bool kept) {
  if (!GraphBuilder::elementOf(condition).isIntOrFloat())
    return std::nullopt;
  std::optional<Table> table = readShape(cast<RankedTensorType>(condition.getType()));
  DenseElementsAttr elements = table ? evaluate(condition) : DenseElementsAttr();
  if (!elements)
    return std::nullopt;
  std::vector<uint8_t> keeps;
  if (isa<FloatType>(elements.getElementType()))
    for (const APFloat &each : elements.getValues<APFloat>())
      keeps.push_back(each.isNonZero() == kept);
  else
    for (const APInt &each : elements.getValues<APInt>())
      keeps.push_back(each.isZero() != kept);
  describe(*table, keeps);
  return table;
}

} // namespace weft::tg

// Bytes of constants and weights, and new ones in their place.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "StoredBytes.h"

using namespace mlir;

namespace weft::plan {

/// Larger constants are weights, whose bytes are not in the IR.
static constexpr int64_t maxConstantBytes = 64 * 1024;

std::optional<StoredBytes> findStoredBytes(Value value) {
  std::optional<int64_t> size = tg::getByteSize(value.getType());
  if (!size)
    return std::nullopt;
  if (auto constant = value.getDefiningOp<tg::ConstantOp>()) {
    auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!elements)
      return std::nullopt;
    return StoredBytes{elements.getRawData(), elements.isSplat(), false};
  }
  auto weight = value.getDefiningOp<tg::WeightOp>();
  if (!weight || weight.getOrder())
    return std::nullopt;
  auto *dialect = weight->getContext()->getLoadedDialect<tg::TileGraphDialect>();
  tg::DataAttr data = weight.getData();
  auto bytes = dialect->getWeightStore().lookup(data.getSource(), data.getOffset(), data.getSize());
  if (!bytes || int64_t(bytes->size()) != *size)
    return std::nullopt;
  return StoredBytes{*bytes, false, true};
}

Value createStored(OpBuilder &builder, Location loc, RankedTensorType type, std::string bytes) {
  if (int64_t(bytes.size()) <= maxConstantBytes)
    return tg::ConstantOp::create(builder, loc, DenseElementsAttr::getFromRawBuffer(type, bytes));
  auto *dialect = builder.getContext()->getLoadedDialect<tg::TileGraphDialect>();
  int64_t size = bytes.size();
  std::string source = dialect->getWeightStore().addBuffer(std::move(bytes));
  return tg::WeightOp::create(builder, loc, type, tg::DataAttr::get(builder.getContext(), source, 0, size));
}

} // namespace weft::plan

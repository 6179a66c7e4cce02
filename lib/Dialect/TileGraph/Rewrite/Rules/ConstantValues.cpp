// Results of folding as ops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ConstantValues.h"
#include "weft/Reference/Reference.h"

using namespace mlir;

namespace weft::tg {

bool isConstantOrWeight(Value value) { return isa_and_nonnull<ConstantOp, WeightOp>(value.getDefiningOp()); }

Value buildConstant(OpBuilder &builder, Location loc, DenseElementsAttr elements, int64_t maxConstantBytes) {
  if (elements.isSplat() || *getByteSize(elements.getType()) <= maxConstantBytes)
    return ConstantOp::create(builder, loc, elements);
  auto tensor = reference::Tensor::fromElements(elements, std::numeric_limits<int64_t>::max());
  std::vector<char> bytes = tensor->toPacked();
  auto *dialect = builder.getContext()->getLoadedDialect<TileGraphDialect>();
  std::string source = dialect->getWeightStore().addBuffer(std::string(bytes.begin(), bytes.end()));
  auto data = DataAttr::get(builder.getContext(), source, 0, int64_t(bytes.size()));
  return WeightOp::create(builder, loc, elements.getType(), data);
}

} // namespace weft::tg

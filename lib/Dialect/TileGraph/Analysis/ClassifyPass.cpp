// --weft-classify: the classification as attributes, to read and to test.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/Analysis/Classify.h"
#include "weft/Dialect/TileGraph/Analysis/Passes.h"
#include "weft/Dialect/TileGraph/Analysis/Properties.h"

using namespace mlir;

namespace weft::tg {

#define GEN_PASS_DEF_CLASSIFY
#include "weft/Dialect/TileGraph/Analysis/Passes.h.inc"

namespace {

std::string describeEdge(OpOperand &operand) {
  std::optional<Combination> combination = combine(operand);
  if (!combination)
    return "none";
  if (combination->verdict == Verdict::Refuse)
    return "refuse";
  return (stringifyVerdict(combination->verdict) + ": " + stringifyMappingClass(combination->result)).str();
}

DictionaryAttr describeOp(Operation *op) {
  Builder b(op->getContext());
  SmallVector<NamedAttribute> entries;
  auto add = [&](StringRef name, Attribute value) { entries.push_back(b.getNamedAttr(name, value)); };
  auto texts = [&](ArrayRef<std::string> values) {
    return b.getStrArrayAttr(SmallVector<StringRef>(values.begin(), values.end()));
  };
  add("mapping", b.getStringAttr(stringifyMappingType(getMappingType(op))));
  if (auto tile = dyn_cast<TileOpInterface>(op)) {
    SmallVector<std::string> operands;
    for (unsigned i = 0, end = op->getNumOperands(); i < end; ++i)
      operands.push_back(stringifyMappingType(tile.getMappingType(i)).str());
    add("operands", texts(operands));
  }
  SmallVector<std::string> edges;
  for (OpOperand &operand : op->getOpOperands())
    edges.push_back(describeEdge(operand));
  if (!edges.empty())
    add("edges", texts(edges));
  if (std::optional<int64_t> bytes = getByteSize(op->getResult(0).getType()))
    add("irs", b.getI64IntegerAttr(*bytes));
  if (llvm::all_of(op->getResults(), isRemovable))
    add("removable", b.getUnitAttr());
  if (SmallVector<std::string> properties = describeProperties(op); !properties.empty())
    add("properties", texts(properties));
  return b.getDictionaryAttr(entries);
}

struct Classify : impl::ClassifyBase<Classify> {
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      if (isClassified(op))
        op->setAttr("tg.class", describeOp(op));
    });
  }
};

} // namespace
} // namespace weft::tg

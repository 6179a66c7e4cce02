// The canonical name of a subgraph.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands stand before their readers, from the results on; values get their numbers from that order. Extents are in
// the shapes alone, so that kernels of other sizes are found beside it. The hash is XXH3 of the text.
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Plan/KernelAccess.h"
#include "weft/Plan/Passes.h"
#include "weft/Plan/Records.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace weft::plan {

/// Ops of the group in front of `op`, then `op`.
static void visit(Operation *op, const Group &group, Group &ordered) {
  SmallVector<std::pair<Operation *, bool>> work{{op, false}};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!work.empty()) {
    auto [next, isDone] = work.pop_back_val();
    if (isDone) {
      ordered.insert(next);
      continue;
    }
    if (ordered.contains(next) || !seen.insert(next).second)
      continue;
    work.push_back({next, true});
    SmallVector<Value> used = usedValues(next); // Outlives the range that goes through it.
    for (Value value : llvm::reverse(used))
      if (Operation *maker = value.getDefiningOp(); maker && group.contains(maker))
        work.push_back({maker, false});
  }
}

static std::string textOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  std::string text;
  llvm::raw_string_ostream os(text);
  if (!tensor) {
    os << type;
    return text;
  }
  for (AffineExpr extent : tg::getDims(tensor)) {
    os << extent;
    if (!isa<AffineConstantExpr>(extent)) // What it is planned for.
      os << '~' << estimateExtent(extent);
    os << 'x';
  }
  os << tensor.getElementType();
  return text;
}

namespace {

/// The text of ops with their attributes, without the extents of what they compute: values by numbers in the order of
/// their use, types by rank and element.
class StructureText {
public:
  explicit StructureText(llvm::raw_ostream &os) : os(os) {}

  unsigned number(Value value) { return numbers.try_emplace(value, numbers.size()).first->second; }
  bool knows(Value value) const { return numbers.contains(value); }

  void write(Operation *op) {
    os << op->getName() << ' ' << op->getAttrDictionary();
    for (Value operand : op->getOperands())
      os << " %" << number(operand);
    for (Region &region : op->getRegions())
      for (Block &block : region) {
        os << " {";
        writeTypes(block.getArguments());
        for (Operation &inner : block)
          write(&inner);
        os << '}';
      }
    writeTypes(op->getResults());
    os << '\n';
  }

  void writeTypes(ValueRange values) {
    for (Value value : values) {
      os << " %" << number(value) << ':';
      if (auto tensor = dyn_cast<RankedTensorType>(value.getType()))
        os << tensor.getRank() << 'x' << tensor.getElementType();
      else
        os << value.getType();
    }
  }

private:
  llvm::raw_ostream &os;
  llvm::DenseMap<Value, unsigned> numbers;
};

} // namespace

SubgraphKey describeSubgraph(const Group &group) {
  Group ordered;
  SmallVector<Operation *> sinks = findSinks(group);
  for (Operation *sink : sinks)
    visit(sink, group, ordered);
  SubgraphKey key;
  if (ordered.empty())
    return key;
  std::string text;
  llvm::raw_string_ostream os(text);
  StructureText structure(os);
  for (Operation *op : ordered) {
    for (Value value : usedValues(op)) {
      if (structure.knows(value))
        continue;
      auto constant = value.getDefiningOp<tg::ConstantOp>();
      if (constant && isa<SplatElementsAttr>(constant.getValueAttr())) {
        os << "splat " << cast<SplatElementsAttr>(constant.getValueAttr()).getSplatValue<Attribute>();
        structure.writeTypes(value);
        continue;
      }
      os << "read";
      structure.writeTypes(value);
      key.shapes.push_back(textOf(value.getType()));
    }
    structure.write(op);
  }
  for (Operation *sink : sinks)
    for (Value result : sink->getResults()) {
      os << "write %" << structure.number(result);
      key.shapes.push_back(textOf(result.getType()));
    }
  llvm::XXH128_hash_t hash = llvm::xxh3_128bits(llvm::arrayRefFromStringRef(text));
  llvm::raw_string_ostream(key.name) << llvm::format_hex_no_prefix(hash.high64, 16)
                                     << llvm::format_hex_no_prefix(hash.low64, 16);
  return key;
}

void nameSubgraph(Operation *kernel, const SubgraphKey &key) {
  Builder builder(kernel->getContext());
  SmallVector<Attribute> shapes;
  for (const std::string &shape : key.shapes)
    shapes.push_back(builder.getStringAttr(shape));
  kernel->setAttr(subgraphAttr, builder.getStringAttr(key.name));
  kernel->setAttr(shapesAttr, builder.getArrayAttr(shapes));
}

} // namespace weft::plan

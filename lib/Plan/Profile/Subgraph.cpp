// The canonical name of a subgraph.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops are cloned into a function, operands before their readers from the results on, and printed without locations:
// values get their numbers from that order. The hash is XXH3 of the text.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Plan/Passes.h"
#include "weft/Plan/Profile.h"
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
  for (AffineExpr extent : tg::getDims(tensor))
    os << extent << "x";
  os << tensor.getElementType();
  return text;
}

SubgraphKey describeSubgraph(const Group &group) {
  Group ordered;
  SmallVector<Operation *> sinks = findSinks(group);
  for (Operation *sink : sinks)
    visit(sink, group, ordered);
  SubgraphKey key;
  if (ordered.empty())
    return key;
  MLIRContext *context = ordered.front()->getContext();
  Location loc = UnknownLoc::get(context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  OpBuilder builder(context);
  builder.setInsertionPointToEnd(module->getBody());
  auto func = func::FuncOp::create(builder, loc, "subgraph", builder.getFunctionType({}, {}));
  Block *body = func.addEntryBlock();
  builder.setInsertionPointToEnd(body);
  IRMapping mapping;
  for (Operation *op : ordered) {
    for (Value value : usedValues(op)) {
      if (mapping.contains(value))
        continue;
      auto constant = value.getDefiningOp<tg::ConstantOp>();
      if (constant && (isa<SplatElementsAttr>(constant.getValueAttr()))) {
        builder.clone(*constant, mapping);
        continue;
      }
      mapping.map(value, body->addArgument(value.getType(), loc));
      key.shapes.push_back(textOf(value.getType()));
    }
    builder.clone(*op, mapping);
  }
  SmallVector<Value> results;
  for (Operation *sink : sinks)
    for (Value result : sink->getResults()) {
      results.push_back(mapping.lookup(result));
      key.shapes.push_back(textOf(result.getType()));
    }
  func::ReturnOp::create(builder, loc, results);
  func.setFunctionType(builder.getFunctionType(body->getArgumentTypes(), ValueRange(results).getTypes()));
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os, OpPrintingFlags().printGenericOpForm().useLocalScope());
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

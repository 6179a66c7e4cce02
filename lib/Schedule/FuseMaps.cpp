// --weft-tk-fuse-maps: chains of tk.map become one, so that code for them is emitted element by element.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "weft/Dialect/TileKernel/IR/TileKernel.h"
#include "weft/Schedule/Passes.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace weft::schedule {

#define GEN_PASS_DEF_TKFUSEMAPS
#include "weft/Schedule/Passes.h.inc"

namespace {

/// The map that only `user` reads, if `operand` comes from one in the same block.
tk::MapOp onlyReadBy(tk::MapOp user, Value operand) {
  auto producer = operand.getDefiningOp<tk::MapOp>();
  bool isOnly = producer && producer->getBlock() == user->getBlock() &&
                llvm::all_of(producer->getUsers(), [&](Operation *other) { return other == user; });
  return isOnly ? producer : tk::MapOp();
}

/// The scalars that the region of `map` yields, its ops copied to `inner`.
SmallVector<Value> inlineBody(tk::MapOp map, ArrayRef<Value> arguments, OpBuilder &inner) {
  IRMapping mapping;
  mapping.map(map.getBody().front().getArguments(), arguments);
  for (Operation &op : map.getBody().front().without_terminator())
    inner.clone(op, mapping);
  return llvm::map_to_vector(map.getBody().front().getTerminator()->getOperands(),
                             [&](Value value) { return mapping.lookupOrDefault(value); });
}

/// One map under construction, in place of `user` and of the maps that it takes in.
class Fusion {
public:
  explicit Fusion(tk::MapOp user) : user(user), inner(user.getContext()) {}

  /// The number of maps taken in.
  unsigned run() {
    bool hasWork = llvm::any_of(user.getInputs(), [&](Value operand) {
      return onlyReadBy(user, operand) || operand.getDefiningOp<tk::ConstantOp>();
    });
    if (!hasWork)
      return 0;
    Region body;
    inner.setInsertionPointToEnd(&body.emplaceBlock());
    SmallVector<Value> arguments;
    for (Value operand : user.getInputs())
      arguments.push_back(scalarOf(operand, onlyReadBy(user, operand)));
    SmallVector<Value> yields = inlineBody(user, arguments, inner);
    tk::YieldOp::create(inner, user.getLoc(), yields);
    OpBuilder builder(user);
    auto fused = tk::MapOp::create(builder, user.getLoc(), user.getResultTypes(), operands.getArrayRef());
    fused.getBody().takeBody(body);
    user.replaceAllUsesWith(fused);
    user.erase();
    for (tk::MapOp map : merged)
      map.erase();
    return merged.size();
  }

private:
  /// The element of `operand` inside the fused region; `producer`: the map to take in, if there is one.
  Value scalarOf(Value operand, tk::MapOp producer) {
    if (Value known = scalars.lookup(operand))
      return known;
    if (auto constant = operand.getDefiningOp<tk::ConstantOp>())
      return scalars[operand] = arith::ConstantOp::create(inner, constant.getLoc(), constant.getValueAttr());
    if (producer) {
      SmallVector<Value> arguments;
      for (Value input : producer.getInputs())
        arguments.push_back(scalarOf(input, {}));
      merged.push_back(producer);
      for (auto [result, value] : llvm::zip_equal(producer.getResults(), inlineBody(producer, arguments, inner)))
        scalars[result] = value;
      return scalars[operand];
    }
    operands.insert(operand);
    Type element = cast<tk::TileType>(operand.getType()).getElementType();
    return scalars[operand] = inner.getBlock()->addArgument(element, user.getLoc());
  }

  tk::MapOp user;
  OpBuilder inner;
  llvm::SetVector<Value> operands; ///< Of the fused map.
  llvm::DenseMap<Value, Value> scalars;
  SmallVector<tk::MapOp> merged;
};

class TkFuseMaps : public impl::TkFuseMapsBase<TkFuseMaps> {
  void runOnOperation() override {
    // In program order, so that a map has taken in its producers before its reader takes it.
    SmallVector<tk::MapOp> maps;
    getOperation()->walk([&](tk::MapOp op) { maps.push_back(op); });
    for (tk::MapOp op : maps)
      numFused += Fusion(op).run();
  }
};

} // namespace
} // namespace weft::schedule

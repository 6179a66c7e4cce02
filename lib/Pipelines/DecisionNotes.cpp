// Remarks of passes, as ops of the plan.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DecisionNotes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "weft/Dialect/TileGraph/IR/NodeNames.h"
#include "weft/Plan/Decisions.h"
#include "llvm/ADT/StringMap.h"
#include <numeric>

using namespace mlir;

namespace weft {

static constexpr size_t mostEdges = 1 << 17, mostRemarks = 1 << 14;

//===--- Groups and dispatches ---===//

/// What a location is made of.
static llvm::SmallSetVector<Location, 8> leavesOf(Location location) {
  llvm::SmallSetVector<Location, 8> leaves;
  location->walk([&](Location part) {
    if (!isa<FusedLoc>(part))
      leaves.insert(part);
    return WalkResult::advance();
  });
  return leaves;
}

std::vector<int64_t> mapToDispatches(ModuleOp module, NumbersByLocation numbers) {
  std::vector<int64_t> dispatchOf;
  auto assign = [&](int64_t number, int64_t dispatch) {
    if (number < 0)
      return;
    dispatchOf.resize(std::max(dispatchOf.size(), size_t(number) + 1), -1);
    dispatchOf[number] = dispatch;
  };
  llvm::DenseMap<Location, SmallVector<int64_t, 2>> dispatchesWith;
  int64_t place = 0;
  for (auto main : module.getOps<func::FuncOp>())
    for (tg::DispatchOp dispatch : main.getOps<tg::DispatchOp>()) {
      SmallVector<int64_t, 1> &waiting = numbers[dispatch.getLoc()];
      if (!waiting.empty()) {
        assign(waiting.front(), place);
        waiting.erase(waiting.begin());
      }
      for (Location leaf : leavesOf(dispatch.getLoc()))
        dispatchesWith[leaf].push_back(place);
      ++place;
    }
  for (auto &[location, waiting] : numbers) {
    if (waiting.empty())
      continue;
    auto leaves = leavesOf(location);
    for (int64_t candidate : dispatchesWith.lookup(leaves.empty() ? location : leaves.front()))
      if (llvm::all_of(leaves,
                       [&](Location leaf) { return llvm::is_contained(dispatchesWith.lookup(leaf), candidate); })) {
        for (int64_t number : waiting)
          assign(number, candidate);
        break;
      }
  }
  return dispatchOf;
}

//===--- What remarks say ---===//

static StringRef findArgument(const remark::detail::Remark &remark, StringRef key) {
  for (const remark::detail::Remark::Arg &argument : remark.getArgs())
    if (argument.key == key)
      return argument.val;
  return "";
}

static int64_t toNumber(StringRef text, int64_t otherwise) {
  int64_t value;
  return text.getAsInteger(10, value) ? otherwise : value;
}

static double toReal(StringRef text) {
  double value = 0;
  return text.getAsDouble(value) ? 0 : value;
}

/// All arguments, the text first. A schedule is a field of the plan.
static std::string printArguments(const remark::detail::Remark &remark) {
  std::string text = findArgument(remark, "Remark").str();
  for (const remark::detail::Remark::Arg &argument : remark.getArgs())
    if (argument.key != "Remark" && argument.key != "schedule")
      text += (text.empty() ? "" : ", ") + argument.key + "=" + argument.val;
  return text;
}

void DecisionNotes::add(const remark::detail::Remark &remark) {
  Builder builder(remark.getLocation()->getContext());
  auto argument = [&](StringRef key) { return builder.getStringAttr(findArgument(remark, key)); };
  StringRef name = remark.getRemarkName();
  bool isFusion = remark.getCategoryName() == "fusion", isFused = name == "fused";
  if (isFusion && (isFused || name == "not-fused")) {
    if (edges.size() >= mostEdges) {
      ++edgesLeftOut;
      return;
    }
    auto [first, second] = findArgument(remark, "kernels").split(',');
    Edge edge{argument("producer-node"),
              argument("consumer-node"),
              argument("producer"),
              argument("consumer"),
              isFused ? StringAttr() : argument("Remark"),
              toNumber(isFused ? findArgument(remark, "kernel") : first, -1),
              toNumber(second, -1),
              toNumber(findArgument(remark, "bytes"), -1),
              toNumber(findArgument(remark, "saved-bytes"), -1),
              !findArgument(remark, "inside").empty()};
    if (isFused)
      edge.consumerGroup = edge.producerGroup;
    edges.push_back(edge);
  } else if (isFusion && name == "kernel") {
    groups[remark.getLocation()].push_back(toNumber(findArgument(remark, "kernel"), -1));
  } else if (isFusion && name == "planner") {
    if (remark.getFunction() == "main")
      planner = {argument("planner"), toNumber(findArgument(remark, "ops"), 0),
                 toNumber(findArgument(remark, "groups"), 0), toReal(findArgument(remark, "us")),
                 toReal(findArgument(remark, "unfused-us"))};
  } else if (remark.getCategoryName() == "levels") {
    levels.add(remark.getFunction(), {tg::findNodeName(remark.getLocation()).str(), findArgument(remark, "op").str(),
                                      findArgument(remark, "readers").str(), findArgument(remark, "level").str(),
                                      findArgument(remark, "reason").str(), toNumber(findArgument(remark, "bytes"), -1),
                                      toNumber(findArgument(remark, "tensor-bytes"), -1)});
  } else {
    auto text = [&](const Twine &each) { return builder.getStringAttr(each); };
    remarks.insert({text(remark.getRemarkTypeString()), text(name), text(remark.getCombinedCategoryName()),
                    text(remark.getFunction()), text(tg::findNodeName(remark.getLocation())),
                    text(printArguments(remark))});
  }
}

void DecisionNotes::finishOutline(ModuleOp outlined) { levels.mapGroups(outlined, mapToDispatches(outlined, groups)); }

//===--- As ops ---===//

void DecisionNotes::writeEdges(ModuleOp planned, OpBuilder &builder) const {
  std::vector<int64_t> dispatchOf = mapToDispatches(planned, groups);
  auto dispatch = [&](int64_t group) {
    return builder.getI64IntegerAttr(size_t(group) < dispatchOf.size() ? dispatchOf[group] : -1);
  };
  auto number = [&](int64_t value) { return builder.getI64IntegerAttr(value); };
  for (const Edge &edge : edges) {
    const LevelNote *found = nullptr;
    if (!edge.reason && edge.bytes >= 0)
      found = levels.find(edge.producerGroup, edge.producerNode, edge.producer, edge.consumer, edge.bytes);
    tg::EdgeOp::create(builder, builder.getUnknownLoc(), edge.producer, edge.producerNode, dispatch(edge.producerGroup),
                       edge.consumer, edge.consumerNode, dispatch(edge.consumerGroup), number(edge.bytes),
                       number(edge.savedBytes), edge.reason, found ? builder.getStringAttr(found->level) : StringAttr(),
                       found ? number(found->bytes) : IntegerAttr(),
                       found ? builder.getStringAttr(found->reason) : StringAttr(),
                       edge.isInFold ? builder.getUnitAttr() : UnitAttr());
  }
}

OwningOpRef<tg::DecisionsOp> DecisionNotes::write(ModuleOp planned, const DecisionNotes &shared,
                                                  const plan::UnfusedFacts &unfused, int64_t nodes) {
  OpBuilder builder(planned.getContext());
  auto whole = [](double number) { return int64_t(std::min(number, 0x1p62)); };
  auto decisions = tg::DecisionsOp::create(builder, builder.getUnknownLoc(), /*program=*/FlatSymbolRefAttr(), nodes,
                                           unfused.ops, whole(unfused.flops), whole(unfused.bytes),
                                           whole(unfused.intermediateBytes), int64_t(edgesLeftOut));
  builder.createBlock(&decisions.getBody());
  if (planner)
    tg::PlannerOp::create(builder, builder.getUnknownLoc(), planner->name, builder.getI64IntegerAttr(planner->groups),
                          builder.getI64IntegerAttr(planner->ops), builder.getF64FloatAttr(planner->microseconds),
                          builder.getF64FloatAttr(planner->alone));
  writeEdges(planned, builder);
  llvm::SmallSetVector<Remark, 16> own = std::exchange(remarks, shared.remarks);
  remarks.insert_range(own);
  append(planned, decisions);
  return decisions;
}

/// Kernels are planned side by side: their remarks go by the kernels' positions, each kernel's as they came; those that
/// name no kernel go by what they say, so that two compiles give equal bytes.
void DecisionNotes::append(ModuleOp planned, tg::DecisionsOp decisions) {
  llvm::StringMap<size_t> place;
  for (ModuleOp kernel : planned.getOps<ModuleOp>())
    place[kernel.getSymName().value_or("")] = place.size() + 1;
  auto key = [&](size_t i) {
    const auto &[kind, name, category, function, node, text] = remarks[i];
    bool hasKernel = place.count(function) || function == "main";
    auto say = [&](StringAttr what) { return hasKernel ? StringRef() : what.getValue(); };
    return std::tuple(place.lookup(function), say(node), say(text), say(function), i);
  };
  std::vector<size_t> order(remarks.size() - written);
  std::iota(order.begin(), order.end(), written);
  llvm::sort(order, [&](size_t a, size_t b) { return key(a) < key(b); });
  size_t room = mostRemarks - std::min(mostRemarks, written);
  decisions.setRemarksLeftOut(decisions.getRemarksLeftOut() + int64_t(order.size() - std::min(order.size(), room)));
  OpBuilder builder = OpBuilder::atBlockEnd(&decisions.getBody().front());
  for (size_t i : ArrayRef(order).take_front(room)) {
    const auto &[kind, name, category, function, node, text] = remarks[i];
    tg::RemarkOp::create(builder, builder.getUnknownLoc(), kind, name, category, function, node, text);
  }
  written = remarks.size();
}

} // namespace weft

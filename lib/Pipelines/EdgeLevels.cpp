// Finding edges of the plan among the values of planned kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EdgeLevels.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"

using namespace mlir;

namespace weft {

static std::vector<StringRef> nodesOf(tg::DispatchOp dispatch) {
  std::vector<StringRef> nodes;
  if (auto list = dispatch->getAttrOfType<ArrayAttr>("tg.nodes"))
    for (Attribute node : list)
      nodes.push_back(cast<StringAttr>(node).getValue());
  return nodes;
}

void EdgeLevels::mapGroups(ModuleOp outlined, ArrayRef<int64_t> dispatchOf) {
  std::vector<Planned> dispatches;
  llvm::StringMap<std::vector<StringRef>> firstNodes; // A kernel's ops are those of its first dispatch.
  for (auto main : outlined.getOps<func::FuncOp>())
    for (tg::DispatchOp dispatch : main.getOps<tg::DispatchOp>()) {
      Planned &one = dispatches.emplace_back();
      one.kernel = dispatch.getCallee().getRootReference().getValue().str();
      std::vector<StringRef> nodes = nodesOf(dispatch);
      const std::vector<StringRef> &own = firstNodes.try_emplace(one.kernel, nodes).first->second;
      for (size_t i = 0; i < nodes.size() && own.size() == nodes.size(); ++i)
        one.nodes[nodes[i]] = own[i].str();
    }
  planned.assign(dispatchOf.size(), {});
  for (auto [group, dispatch] : llvm::enumerate(dispatchOf))
    if (dispatch >= 0 && size_t(dispatch) < dispatches.size())
      planned[group] = dispatches[dispatch];
}

const LevelNote *EdgeLevels::find(int64_t group, StringRef node, StringRef op, StringRef reader, int64_t bytes) const {
  if (group < 0 || size_t(group) >= planned.size())
    return nullptr;
  auto list = notes.find(planned[group].kernel);
  if (list == notes.end())
    return nullptr;
  auto named = planned[group].nodes.find(node);
  StringRef own = named == planned[group].nodes.end() ? node : StringRef(named->second);
  // Of several the one with the reader, of these that of the size: ops and types may have been rewritten.
  const LevelNote *found = nullptr;
  int best = -1;
  for (const LevelNote &note : list->second) {
    if (note.node != own || note.op != op)
      continue;
    SmallVector<StringRef> readers;
    StringRef(note.readers).split(readers, ',');
    int fit = 2 * int(llvm::is_contained(readers, reader)) + int(note.whole == bytes);
    if (fit > best) {
      best = fit;
      found = &note;
    }
  }
  return found;
}

} // namespace weft

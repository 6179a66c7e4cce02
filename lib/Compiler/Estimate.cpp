// What a model is worth: the work of its nodes one by one, and of the program that they become.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "weft/Compiler/Compilation.h"
#include "weft/Dialect/TileGraph/IR/NodeNames.h"
#include "weft/Plan/Facts.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace weft {

static bool hasWork(Operation &op) {
  return !isa<tg::ReshapeOp, tg::BitcastOp, tg::WeightOp, func::ReturnOp>(op) &&
         !op.hasTrait<OpTrait::ConstantLike>() && op.getNumResults() > 0;
}

/// Work of ops by the nodes that they came from.
static void measureNodes(ModuleOp module, ModelEstimate &result) {
  llvm::MapVector<StringRef, NodeEstimate> nodes;
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main || main.isExternal())
    return;
  for (Operation &op : main.front()) {
    StringRef name = hasWork(op) ? tg::findNodeName(op.getLoc()) : "";
    if (name.empty())
      continue;
    NodeEstimate &node = nodes[name];
    node.name = name.str();
    node.operations += plan::estimateFlops(&op);
    for (Value operand : op.getOperands())
      node.bytes += plan::takenBytes(operand, [&](Operation *reader) { return reader == &op; });
    for (Value value : op.getResults())
      node.bytes += plan::estimateBytes(value);
  }
  for (auto &entry : nodes)
    result.nodes.push_back(std::move(entry.second));
}

bool Compilation::estimate(ModelEstimate &result) {
  if (!parseFlags())
    return false;
  importOptions.needWeights = false;
  setUpThreads();
  beginActivity("import");
  if (cancelled || !readInput())
    return false;
  measureNodes(*module, result);
  emission = {Emission::Mlir, Phase::Outline};
  if (from < Phase::Normalize && !runPhases(*module, from, Phase::Normalize, nullptr))
    return failPass();
  plan::UnfusedFacts unfused = plan::measureUnfused(*module);
  result.operations = unfused.flops;
  result.unfusedBytes = unfused.bytes;
  result.unfusedKernels = unfused.ops;
  programs.resize(1);
  PhaseOptions options = makeOptions(programs.front().gpu);
  options.mostVariants = 1;
  if (failed(weft::runPhases(*module, Phase::Normalize, Phase::Outline, options)))
    return failPass();
  llvm::StringMap<plan::KernelFacts> kernels;
  for (ModuleOp kernel : emit::getKernels(*module))
    kernels[kernel.getSymName().value_or("")] = plan::measureKernel(kernel);
  for (const plan::DispatchFacts &dispatch : plan::measureDispatches(*module, kernels)) {
    result.fusedBytes += dispatch.readBytes + dispatch.writeBytes;
    ++result.fusedKernels;
  }
  return diagnostics.empty();
}

} // namespace weft

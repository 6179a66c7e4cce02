// Plans as files: printed, and read back for a model that they fit.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plan file is the module with its tg.kernel ops. Reading one takes over nothing but which ops share a kernel: each
// op of the file is matched, in its order, with an op of the model of the same name, attributes and types whose
// operands are matched already. So no plan can change what a model computes, and a group that breaks a rule is refused
// as any.
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "weft/Dialect/TileGraph/IR/NodeNames.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Plan/Constraints.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;

namespace weft::plan {

LogicalResult writePlan(func::FuncOp func, StringRef file) {
  std::string error;
  std::unique_ptr<llvm::ToolOutputFile> out = openOutputFile(file, &error);
  if (!out)
    return func.emitError() << "plan: " << error;
  func->getParentOfType<ModuleOp>()->print(out->os(), OpPrintingFlags().enableDebugInfo(true, /*prettyForm=*/false));
  out->keep();
  return success();
}

static std::string describe(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "'" << op->getName() << "'";
  if (StringRef node = tg::findNodeName(op->getLoc()); !node.empty())
    os << " of node `" << node << "`";
  return text;
}

namespace {

/// Matches the ops of a plan with those of a function.
class PlanMatcher {
public:
  explicit PlanMatcher(func::FuncOp model) : model(model) {
    for (Operation &op : model.getBody().front())
      if (op.getNumOperands() == 0)
        sources.push_back(&op);
  }

  /// One demand for each kernel of the plan.
  LogicalResult match(func::FuncOp plan, std::vector<FusionDemand> &demands) {
    if (failed(matchArguments(plan)))
      return failure();
    for (Operation &op : plan.getBody().front()) {
      auto kernel = dyn_cast<tg::KernelOp>(op);
      if (!kernel) {
        if (failed(matchOp(&op)))
          return failure();
        continue;
      }
      FusionDemand demand;
      demand.name = "plan: the ops of kernel \"" + kernel.getLabel().value_or("").str() + "\"";
      Operation *yield = kernel.getBody().front().getTerminator();
      for (Operation &inner : kernel.getBody().front().without_terminator()) {
        if (failed(matchOp(&inner)))
          return failure();
        demand.ops.push_back(opOf[&inner]);
      }
      for (auto [result, value] : llvm::zip_equal(kernel.getResults(), yield->getOperands()))
        valueOf[result] = valueOf.lookup(value);
      demands.push_back(std::move(demand));
    }
    for (Operation &op : model.getBody().front())
      if (!isHostOp(&op) && !used.contains(&op))
        return fail() << "op " << describe(&op) << " of the model is not in it";
    return success();
  }

private:
  InFlightDiagnostic fail() { return model.emitError() << "plan: it does not fit the model: "; }

  LogicalResult matchArguments(func::FuncOp plan) {
    if (plan.getNumArguments() != model.getNumArguments())
      return fail() << "expected " << model.getNumArguments() << " inputs, got " << plan.getNumArguments();
    for (auto [i, theirs, ours] : llvm::enumerate(plan.getArguments(), model.getArguments())) {
      if (theirs.getType() != ours.getType())
        return fail() << "input " << i << ": expected " << ours.getType() << ", got " << theirs.getType();
      valueOf[theirs] = ours;
    }
    return success();
  }

  /// A weight is the same where its bytes lie at the same offset; files may have been renamed, each to one other.
  bool isSameWeight(tg::WeightOp theirs, tg::WeightOp ours) {
    tg::DataAttr a = theirs.getData(), b = ours.getData();
    if (theirs.getType() != ours.getType() || a.getOffset() != b.getOffset() || a.getSize() != b.getSize())
      return false;
    auto [known, isNew] = fileOf.try_emplace(a.getSource(), b.getSource().str());
    return known->second == b.getSource();
  }

  bool isSame(Operation *theirs, Operation *ours) {
    if (used.contains(ours) || theirs->getName() != ours->getName())
      return false;
    if (auto weight = dyn_cast<tg::WeightOp>(theirs))
      return isSameWeight(weight, cast<tg::WeightOp>(ours));
    llvm::DenseMap<Value, Value> inner;
    return OperationEquivalence::isEquivalentTo(
        theirs, ours,
        [&](Value a, Value b) {
          Value found = inner.lookup(a);
          return success((found ? found : valueOf.lookup(a)) == b);
        },
        [&](Value a, Value b) { inner[a] = b; }, OperationEquivalence::IgnoreLocations);
  }

  /// Ops of the model that read what `theirs` reads, or read nothing as it does.
  SmallVector<Operation *> candidatesFor(Operation *theirs) {
    SmallVector<Value> reads = usedValues(theirs);
    if (theirs->getNumOperands() == 0 && reads.empty())
      return sources;
    SmallVector<Operation *> found;
    Value read = valueOf.lookup(reads.front());
    if (!read)
      return found;
    for (Operation *user : read.getUsers())
      if (Operation *place = model.getBody().front().findAncestorOpInBlock(*user);
          place && !llvm::is_contained(found, place))
        found.push_back(place);
    llvm::sort(found, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    return found;
  }

  LogicalResult matchOp(Operation *theirs) {
    SmallVector<Operation *> candidates = candidatesFor(theirs);
    auto ours = llvm::find_if(candidates, [&](Operation *op) { return isSame(theirs, op); });
    if (ours == candidates.end())
      return explain(theirs, candidates);
    used.insert(*ours);
    opOf[theirs] = *ours;
    for (auto [a, b] : llvm::zip_equal(theirs->getResults(), (*ours)->getResults()))
      valueOf[a] = b;
    return success();
  }

  LogicalResult explain(Operation *theirs, ArrayRef<Operation *> candidates) {
    if (auto weight = dyn_cast<tg::WeightOp>(theirs))
      return fail() << "other weights: it reads " << weight.getData().getSize() << " bytes at "
                    << weight.getData().getOffset() << " of '" << weight.getData().getSource() << "' as "
                    << weight.getType() << describeNode(theirs) << ", which the model has not";
    if (theirs->hasTrait<OpTrait::IsTerminator>())
      return fail() << "it returns other values";
    for (Operation *ours : candidates) {
      if (used.contains(ours) || ours->getName() != theirs->getName())
        continue;
      if (ours->getResultTypes() != theirs->getResultTypes() && ours->getNumResults() == 1 &&
          theirs->getNumResults() == 1)
        return fail() << "op " << describe(theirs) << ": expected a result of " << ours->getResult(0).getType()
                      << ", got " << theirs->getResult(0).getType();
      return fail() << "op " << describe(theirs) << " has other attributes or operands than the model's "
                    << describe(ours);
    }
    return fail() << "op " << describe(theirs) << " of the plan is not in the model";
  }

  static std::string describeNode(Operation *op) {
    StringRef node = tg::findNodeName(op->getLoc());
    return node.empty() ? "" : (" (`" + node + "`)").str();
  }

  func::FuncOp model;
  SmallVector<Operation *> sources; ///< Ops without operands.
  llvm::DenseMap<Value, Value> valueOf;
  llvm::DenseMap<Operation *, Operation *> opOf;
  llvm::SmallPtrSet<Operation *, 32> used;
  llvm::StringMap<std::string> fileOf;
};

} // namespace

LogicalResult FusionConstraints::readPlan(func::FuncOp func, StringRef file) {
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> text = openInputFile(file, &error);
  if (!text)
    return func.emitError() << "plan: " << error;
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(text), llvm::SMLoc());
  OwningOpRef<ModuleOp> module;
  {
    ScopedDiagnosticHandler handler(func.getContext(), [&](Diagnostic &diagnostic) {
      if (error.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
        error = diagnostic.str();
      return success();
    });
    module = parseSourceFile<ModuleOp>(sources, ParserConfig(func.getContext()));
  }
  if (!module)
    return func.emitError() << "plan: '" << file << "' is not a module of Weft: " << error;
  auto plan = module->lookupSymbol<func::FuncOp>(func.getName());
  if (!plan || plan.isExternal())
    return func.emitError() << "plan: '" << file << "' has no function @" << func.getName();
  return PlanMatcher(func).match(plan, demands);
}

} // namespace weft::plan

// weft-overlap-collectives: kernels beside collectives.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A simulation of two queues chooses the order: one of kernels, one of the collectives that may run beside them. First
// all may that can; those that hide too little are then done in the kernels' order, and the rest is simulated again.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"
#include "weft/Dialect/TileGraph/Analysis/Stages.h"
#include "weft/Dialect/TileGraph/IR/KernelAccess.h"
#include "weft/Dialect/TileGraph/IR/Program.h"
#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"
#include "weft/Dialect/TileGraph/Rewrite/LayoutRates.h"
#include "weft/Plan/BlockOps.h"
#include "weft/Plan/Facts.h"
#include "weft/Plan/LevelPasses.h"
#include "weft/Plan/Resolution.h"
#include "weft/Target/ContextDevices.h"
#include "llvm/Support/FormatVariadic.h"

namespace weft::plan {
#define GEN_PASS_DEF_OVERLAPCOLLECTIVES
#include "weft/Plan/LevelPasses.h.inc"
} // namespace weft::plan

using namespace mlir;
using namespace weft;
using namespace weft::plan;

namespace {

/// Between two ops of the program that stand still: nothing moves across loops, branches and bound symbols.
bool standsStill(Operation *op) { return isa<tg::BindSymbolsOp, tg::LoopOp, tg::IfOp, tg::VariantsOp>(op); }

bool isMessage(Operation *op) { return tg::isCollective(op) && !isa<tg::OwnPartOp>(op); }

Value getStorage(Value value) {
  while (isa_and_nonnull<tg::ReshapeOp, tg::BitcastOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

struct Node {
  Operation *op = nullptr;
  SmallVector<unsigned> needs; ///< Numbers of nodes.
  double seconds = 0;
  bool isBeside = false;
  double hidden = 0; ///< Of a collective: seconds in which kernels run.
};

struct Schedule {
  SmallVector<unsigned> order;
  double seconds = 0;
};

class Overlap {
public:
  Overlap(ModuleOp program, func::FuncOp main, const tg::LayoutRates &rates)
      : symbols(program), block(main.front()), rates(rates) {}

  void run(bool isEverywhere);

private:
  void collect();
  double estimateKernel(tg::DispatchOp dispatch);
  Schedule simulate();
  void apply(const Schedule &schedule);
  void note(const Schedule &schedule, double inTurn) const;

  SymbolTable symbols;
  Block &block;
  const tg::LayoutRates &rates;
  std::vector<Node> nodes;
  llvm::DenseMap<Operation *, double> kernels;
};

} // namespace

/// Its bytes or its operations, and its launch. Tables are read where indices say.
double Overlap::estimateKernel(tg::DispatchOp dispatch) {
  auto module = symbols.lookup<ModuleOp>(dispatch.getCallee().getRootReference());
  auto kernel = module ? module.lookupSymbol<func::FuncOp>("kernel") : func::FuncOp();
  if (!kernel || kernel.isExternal())
    return rates.kernelSeconds;
  auto [known, isNew] = kernels.try_emplace(module, 0);
  if (!isNew)
    return known->second;
  tg::LikelyExtents likely(module);
  double bytes = 0, arithmetic = 0;
  for (Value result : kernel.getBody().front().getTerminator()->getOperands())
    bytes += estimateBytes(result);
  for (BlockArgument argument : kernel.getArguments())
    bytes += takenBytes(argument, [](Operation *) { return true; });
  kernel.walk([&](Operation *op) { arithmetic += tg::estimateArithmetic(op, rates); });
  return kernels[module] = std::max(bytes / rates.bytes, arithmetic) + rates.kernelSeconds;
}

void Overlap::collect() {
  llvm::DenseMap<Operation *, unsigned> numbers;
  std::optional<unsigned> last; ///< That stands still.
  for (Operation *op : tg::Stages(block).order()) {
    if (op->hasTrait<OpTrait::IsTerminator>())
      continue;
    unsigned number = nodes.size();
    Node &node = nodes.emplace_back();
    node.op = op;
    for (Value value : usedValues(op))
      if (Operation *maker = value.getDefiningOp())
        if (auto found = numbers.find(maker); found != numbers.end())
          node.needs.push_back(found->second);
    if (last)
      node.needs.push_back(*last);
    if (standsStill(op)) {
      for (unsigned i = last.value_or(0); i < number; ++i)
        node.needs.push_back(i);
      last = number;
    }
    numbers[op] = number;
    if (auto dispatch = dyn_cast<tg::DispatchOp>(op))
      node.seconds = estimateKernel(dispatch);
    node.isBeside = isMessage(op) && !isa<BlockArgument>(getStorage(op->getOperand(0)));
    if (isMessage(op))
      node.seconds = tg::estimateCollective(op, rates);
    else if (isa<tg::OwnPartOp>(op)) // A copy.
      node.seconds = 2 * estimateBytes(op->getResult(0)) / rates.bytes + rates.kernelSeconds;
  }
}

/// Along the program; what needs a collective that is under way lets others go first.
Schedule Overlap::simulate() {
  Schedule schedule;
  SmallVector<bool> isDone(nodes.size(), false);
  SmallVector<double> ready(nodes.size(), 0);
  SmallVector<std::pair<double, double>> busy;   // When kernels ran.
  SmallVector<std::pair<unsigned, double>> sent; // Collectives beside kernels, and when each began.
  double now = 0, links = 0;
  unsigned first = 0;
  while (first < nodes.size()) {
    std::optional<unsigned> next;
    double soonest = std::numeric_limits<double>::infinity();
    for (unsigned i = first; i < nodes.size(); ++i) {
      if (isDone[i] || !llvm::all_of(nodes[i].needs, [&](unsigned need) { return isDone[need]; }))
        continue;
      double begin = 0;
      for (unsigned need : nodes[i].needs)
        begin = std::max(begin, ready[need]);
      if (begin < soonest) {
        soonest = begin;
        next = i;
      }
      if (begin <= now || nodes[i].seconds == 0) { // Views and constants wait for nobody.
        next = i;
        soonest = begin;
        break;
      }
    }
    Node &node = nodes[*next];
    isDone[*next] = true;
    schedule.order.push_back(*next);
    if (node.seconds == 0) {
      ready[*next] = soonest;
    } else if (node.isBeside) {
      now = std::max(now, soonest);
      double begin = std::max(links, now);
      sent.emplace_back(*next, begin);
      links = begin + node.seconds;
      ready[*next] = links + rates.kernelSeconds; // What another stream costs.
    } else {
      double begin = std::max({now, soonest, isMessage(node.op) ? links : 0});
      ready[*next] = now = begin + node.seconds;
      if (!isMessage(node.op))
        busy.emplace_back(begin, now);
    }
    while (first < nodes.size() && isDone[first])
      ++first;
  }
  schedule.seconds = std::max(now, sent.empty() ? 0 : links + rates.kernelSeconds);
  for (auto [number, begin] : sent) {
    nodes[number].hidden = 0;
    for (auto [from, to] : busy)
      nodes[number].hidden += std::max(0.0, std::min(to, begin + nodes[number].seconds) - std::max(from, begin));
  }
  return schedule;
}

void Overlap::apply(const Schedule &schedule) {
  Operation *terminator = block.getTerminator();
  for (unsigned number : schedule.order) {
    Operation *op = nodes[number].op;
    op->moveBefore(terminator);
    if (nodes[number].isBeside)
      op->setAttr(tg::overlapAttr, UnitAttr::get(op->getContext()));
  }
}

static constexpr double micro = 1e6;

static auto makeRemark(StringRef name) { return remark::RemarkOpts::name(name).category("overlap").function("main"); }

void Overlap::note(const Schedule &schedule, double inTurn) const {
  for (const Node &node : nodes) {
    if (!isMessage(node.op))
      continue;
    StringRef kind = node.op->getName().stripDialect();
    if (node.isBeside) {
      remark::passed(node.op->getLoc(), makeRemark("beside")) << remark::add(
          "'{0}' beside kernels: {1} us, {2} of them hidden", kind, llvm::formatv("{0:F1}", node.seconds * micro).str(),
          llvm::formatv("{0:F1}", node.hidden * micro).str());
      continue;
    }
    std::string reason =
        isa<BlockArgument>(getStorage(node.op->getOperand(0))) ? std::string("it reads an argument of the program")
        : node.hidden == 0 ? std::string("no kernel that does not need it is left to run meanwhile")
        : node.hidden > rates.kernelSeconds
            ? llvm::formatv("kernels beside it would hide {0:F1} us, less than estimates of the run resolve",
                            node.hidden * micro)
                  .str()
            : llvm::formatv("kernels beside it would hide {0:F1} us, another stream is taken to cost {1:F1} us",
                            node.hidden * micro, rates.kernelSeconds * micro)
                  .str();
    remark::missed(node.op->getLoc(), makeRemark("alone"))
        << remark::add("'{0}' in turn, {1} us: {2}", kind, llvm::formatv("{0:F1}", node.seconds * micro).str(), reason);
  }
  if (llvm::any_of(nodes, [](const Node &node) { return node.isBeside; }))
    remark::passed(block.getParentOp()->getLoc(), makeRemark("order")) << remark::add(
        "a run takes {0} us by the model, {1} us with collectives in turn",
        llvm::formatv("{0:F1}", schedule.seconds * micro).str(), llvm::formatv("{0:F1}", inTurn * micro).str());
}

void Overlap::run(bool isEverywhere) {
  collect();
  double inTurn = 0;
  for (const Node &node : nodes)
    inTurn += node.seconds;
  Schedule schedule = simulate();
  if (!isEverywhere) {
    bool isChanged = false;
    for (Node &node : nodes)
      if (node.isBeside && node.hidden <= rates.kernelSeconds) {
        node.isBeside = false;
        isChanged = true;
      }
    if (isChanged)
      schedule = simulate();
    if (!isSlower(inTurn, schedule.seconds))
      for (Node &node : nodes)
        node.isBeside = false;
    if (llvm::none_of(nodes, [](const Node &node) { return node.isBeside; }))
      schedule = {llvm::to_vector(llvm::seq<unsigned>(0, nodes.size())), inTurn};
  }
  apply(schedule);
  note(schedule, inTurn);
}

namespace {
struct OverlapCollectivesPass : weft::plan::impl::OverlapCollectivesBase<OverlapCollectivesPass> {
  using Base::Base;

  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (mode == "off" || !main || main.isExternal() || !main.getBody().hasOneBlock() ||
        llvm::none_of(main.front(), [](Operation &op) { return isMessage(&op); }))
      return;
    tg::LikelyExtents likely(getOperation());
    const Device *device = target.empty() ? nullptr : findDevice(&getContext(), target);
    tg::LayoutRates rates = tg::LayoutRates::get(device, linkRate, linkLatency);
    Overlap(getOperation(), main, rates).run(/*isEverywhere=*/mode != "on");
  }
};
} // namespace

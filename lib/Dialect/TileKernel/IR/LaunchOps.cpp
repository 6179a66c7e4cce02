// tk.launch and tk.task: what is proved of launches of several kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OpImplementation.h"
#include "weft/Dialect/TileGraph/IR/Shapes.h"
#include "weft/Dialect/TileKernel/IR/Launches.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace weft;
using namespace weft::tk;

//===-- #tk.await -------------------------------------------------------------------------------------------------===//

static constexpr std::pair<llvm::StringLiteral, unsigned> awaitFields[] = {
    {"ctas", 0}, {"step", 1}, {"first", 2}, {"last", 3}, {"written", 4}};

Attribute AwaitAttr::parse(AsmParser &parser, Type) {
  StringRef word;
  int64_t task = 0, numbers[5] = {};
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeyword(&word) || parser.parseKeyword("of") || parser.parseInteger(task))
    return {};
  std::optional<SignalPolicy> policy = symbolizeSignalPolicy(word);
  if (!policy) {
    parser.emitError(loc, "expected a policy (all, row, row_block, consecutive, window or strided), got `")
        << word << "`";
    return {};
  }
  if (*policy != SignalPolicy::All)
    for (auto [name, place] : awaitFields)
      if (parser.parseComma() || parser.parseKeyword(name) || parser.parseEqual() ||
          parser.parseInteger(numbers[place]))
        return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<AwaitAttr>(loc, parser.getContext(), *policy, task, numbers[0], numbers[1], numbers[2],
                                      numbers[3], numbers[4]);
}

void AwaitAttr::print(AsmPrinter &printer) const {
  printer << '<' << stringifySignalPolicy(getPolicy()) << " of " << getTask();
  int64_t numbers[] = {getCtas(), getStep(), getFirst(), getLast(), getWritten()};
  if (getPolicy() != SignalPolicy::All)
    for (auto [name, place] : awaitFields)
      printer << ", " << name << " = " << numbers[place];
  printer << '>';
}

SignalPolicy weft::tk::namePolicy(int64_t step, int64_t first, int64_t last, int64_t written) {
  if (last - first >= step && step < written && written % step == 0 && first >= 0 && last < written)
    return SignalPolicy::Consecutive;
  bool isAligned = step % written == 0 && first >= 0 && last < step;
  if (isAligned) {
    int64_t counters = last / written - first / written + 1, period = step / written;
    return counters < period ? SignalPolicy::Strided : counters == 1 ? SignalPolicy::Row : SignalPolicy::RowBlock;
  }
  return written % step == 0 && first >= 0 && last < step ? SignalPolicy::Consecutive : SignalPolicy::Window;
}

LogicalResult AwaitAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, SignalPolicy policy, int64_t task,
                                int64_t ctas, int64_t step, int64_t first, int64_t last, int64_t written) {
  if (task < 0)
    return emitError() << "expected the number of a task, got " << task;
  if (policy == SignalPolicy::All)
    return success();
  if (ctas <= 0 || step <= 0 || last < first || written <= 0)
    return emitError() << "expected positive ctas, step and written, and last from first on, got " << ctas << ", "
                       << step << ", " << written << " and " << first << " to " << last;
  if (SignalPolicy named = namePolicy(step, first, last, written); named != policy)
    return emitError() << "expected the policy that the numbers say, " << stringifySignalPolicy(named) << ", got "
                       << stringifySignalPolicy(policy);
  return success();
}

CounterRange weft::tk::findCounters(AwaitAttr await, int64_t block, int64_t counters) {
  if (await.getPolicy() == SignalPolicy::All)
    return {0, counters - 1};
  auto find = [&](int64_t offset) {
    int64_t place = std::max<int64_t>(block * await.getStep() + offset, 0) / await.getWritten();
    return std::min(place, counters - 1);
  };
  return {find(await.getFirst()), find(await.getLast())};
}

//===-- tk.task ---------------------------------------------------------------------------------------------------===//

std::optional<int64_t> TaskOp::getStaticCtas() {
  std::optional<int64_t> least;
  for (AffineExpr expr : getCtas().getResults()) {
    auto constant = dyn_cast<AffineConstantExpr>(simplifyAffineExpr(expr, 0, getCtas().getNumSymbols()));
    if (!constant)
      return std::nullopt;
    least = std::min(least.value_or(constant.getValue()), constant.getValue());
  }
  return least;
}

LogicalResult TaskOp::verify() {
  unsigned symbols = llvm::count_if(getOperandTypes(), [](Type type) { return type.isIndex(); });
  if (getCtas().getNumDims() || getCtas().getNumSymbols() != symbols || getCtas().getNumResults() == 0)
    return emitOpError("expected `ctas` without dimensions, with ")
           << symbols << " symbols and a result, got " << getCtasAttr();
  if (std::optional<int64_t> ctas = getStaticCtas(); ctas && *ctas <= 0)
    return emitOpError("expected a positive number of CTAs, got ") << *ctas;
  if (getSignal() && int64_t(*getSignal()) <= 0)
    return emitOpError("expected a counter for a positive number of CTAs, got ") << int64_t(*getSignal());
  return success();
}

LogicalResult TaskOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto callee = symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, getCalleeAttr());
  if (!callee || callee.getNumResults())
    return emitOpError("expected a function of the module without results, got ") << getCalleeAttr();
  if (callee.getNumArguments() != getNumOperands())
    return emitOpError("expected ") << callee.getNumArguments() << " operands as " << getCalleeAttr() << " takes, got "
                                    << getNumOperands();
  for (auto [i, types] : llvm::enumerate(llvm::zip_equal(callee.getArgumentTypes(), getOperandTypes()))) {
    auto [taken, given] = types;
    auto takenGlobal = dyn_cast<GlobalType>(taken), givenGlobal = dyn_cast<GlobalType>(given);
    bool isOfType = takenGlobal && givenGlobal
                        ? takenGlobal.getTensor().getElementType() == givenGlobal.getTensor().getElementType()
                        : taken == given;
    if (!isOfType)
      return emitOpError("expected operand ") << i << " of type " << taken << ", got " << given;
  }
  return success();
}

//===-- tk.launch -------------------------------------------------------------------------------------------------===//

namespace {

/// Where the tasks of a launch's ops stand in its order.
class TaskOrder {
public:
  explicit TaskOrder(std::optional<ArrayRef<int64_t>> turns) : turns(turns) {}

  /// A number that grows along the order, of CTA `cta` of op `number`.
  std::pair<int64_t, int64_t> find(unsigned number, int64_t cta) const {
    if (!turns)
      return {number, cta};
    int64_t each = (*turns)[number], group = std::min(cta / each, (*turns)[2] - 1);
    return {2 * group + number, cta};
  }

private:
  std::optional<ArrayRef<int64_t>> turns;
};

} // namespace

/// Each CTA of `reader` waits only for what comes before it in the order, and for counters that there are.
static LogicalResult verifyAwait(unsigned number, ArrayRef<TaskOp> tasks, AwaitAttr await, const TaskOrder &order) {
  TaskOp reader = tasks[number];
  if (await.getTask() >= int64_t(number))
    return reader.emitOpError("expected to wait for an earlier task of the launch, got ") << await;
  TaskOp writer = tasks[await.getTask()];
  if (!writer.getSignal())
    return reader.emitOpError("expected to wait for a task that signals, got ") << await;
  std::optional<int64_t> written = writer.getStaticCtas(), read = reader.getStaticCtas();
  if (await.getPolicy() == SignalPolicy::All && !reader->getParentOfType<LaunchOp>().getTurns())
    return success(); // Tasks come one op after the other.
  if (!written || !read)
    return reader.emitOpError("expected to wait for all of a task whose CTAs depend on symbols, got ") << await;
  int64_t each = *writer.getSignal(), counters = llvm::divideCeil(*written, each);
  int64_t ctas = await.getPolicy() == SignalPolicy::All ? 1 : await.getCtas();
  for (int64_t block = 0; block * ctas < *read; ++block) {
    CounterRange range = findCounters(await, block, counters);
    int64_t last = std::min((range.last + 1) * each, *written) - 1;
    if (order.find(await.getTask(), last) >= order.find(number, block * ctas))
      return reader.emitOpError("expected an order in which tasks come behind those they wait for, got CTA ")
             << block * ctas << " of task " << number << " in front of CTA " << last << " of task " << await.getTask();
  }
  return success();
}

LogicalResult LaunchOp::verifyRegions() {
  SmallVector<TaskOp> tasks;
  for (Operation &op : getBody().front()) {
    if (!isa<TaskOp>(op))
      return op.emitOpError("expected nothing but `tk.task` in a `tk.launch`");
    tasks.push_back(cast<TaskOp>(op));
  }
  if (tasks.empty())
    return emitOpError("expected a task");
  std::optional<ArrayRef<int64_t>> turns = getTurns();
  if (turns && (tasks.size() != 2 || turns->size() != 3 || llvm::any_of(*turns, [](int64_t n) { return n <= 0; }) ||
                llvm::any_of(tasks, [](TaskOp task) { return !task.getStaticCtas(); })))
    return emitOpError("expected `turns` of three positive numbers for two tasks with known numbers of CTAs");
  TaskOrder order(turns);
  bool waits = false;
  for (auto [number, task] : llvm::enumerate(tasks))
    for (Attribute await : task.getAwaits() ? task.getAwaitsAttr() : ArrayAttr::get(getContext(), {})) {
      waits = true;
      if (failed(verifyAwait(number, tasks, cast<AwaitAttr>(await), order)))
        return failure();
    }
  if (waits != bool(getResident()))
    return emitOpError("expected `resident` CTAs if and only if tasks wait for each other");
  if (getResident() && int64_t(*getResident()) <= 0)
    return emitOpError("expected a positive number of resident CTAs, got ") << int64_t(*getResident());
  return success();
}

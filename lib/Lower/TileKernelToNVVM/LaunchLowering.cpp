// The function of a launch's tasks: branches, or a loop over tasks with counters.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "LaunchLowering.h"
#include "IndexForms.h"
#include "Memory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Dialect/TileKernel/IR/Launches.h"
#include "weft/Lower/TileKernelToNVVM/Passes.h"
#include "weft/Target/Device.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace weft;
using namespace weft::gpu;

/// Of a counter: a sector of its own.
static constexpr int64_t counterBytes = 32, wordBytes = 4;
/// Where all threads of a CTA meet between tasks: those that a task has not are there while it uses barriers 0 to 14.
static constexpr int64_t taskBarrier = 15;

LaunchLowering::LaunchLowering(func::FuncOp kernel, tk::LaunchOp launch)
    : kernel(kernel), launch(launch), builder(kernel), loc(kernel.getLoc()) {
  auto module = kernel->getParentOfType<ModuleOp>();
  if (auto attr = kernel->getAttrOfType<IntegerAttr>(tk::warpsAttr))
    warps = attr.getInt();
  for (tk::TaskOp op : launch.getOps<tk::TaskOp>()) {
    Task &task = tasks.emplace_back();
    task.op = op;
    task.function = module.lookupSymbol<func::FuncOp>(op.getCallee());
    task.firstCounter = counters;
    if (op.getSignal()) {
      int64_t ctas = op.getStaticCtas().value_or(1); // One counter for all of them.
      task.counters = llvm::divideCeil(ctas, *op.getSignal());
    }
    counters += task.counters;
    task.function.walk([&](Operation *inner) {
      auto copy = dyn_cast<tk::CopyOp>(inner);
      task.copiesInGroups |= copy && copy.getEngine() == tk::CopyEngine::CpAsync;
      task.storesInBulk |= isa<tk::StoreBoxOp>(inner);
      task.usesBulk |= task.storesInBulk || (copy && copy.getEngine() == tk::CopyEngine::Tma);
    });
  }
}

LaunchFrame LaunchLowering::makeFrame(unsigned number) {
  Task &task = tasks[number];
  LaunchFrame frame;
  frame.warps = warps;
  frame.repeats = bool(launch.getResident());
  DenseSet<Value> others; // What it waits for, and more.
  for (Attribute await : task.op.getAwaits() ? task.op.getAwaitsAttr() : ArrayAttr::get(kernel.getContext(), {}))
    for (Value operand : tasks[cast<tk::AwaitAttr>(await).getTask()].op.getOperands())
      others.insert(operand);
  for (auto [operand, argument] : llvm::zip_equal(task.op.getOperands(), task.function.getArguments()))
    if (others.contains(operand))
      frame.written.insert(argument);
  unsigned count = task.function.getNumArguments();
  for (unsigned i : {0u, 1u})
    if (failed(task.function.insertArgument(count + i, builder.getI32Type(), {}, loc)))
      return frame;
  frame.cta = task.function.getArgument(count);
  frame.ctas = task.function.getArgument(count + 1);
  return frame;
}

Value LaunchLowering::getCta(unsigned task) const {
  func::FuncOp function = tasks[task].function;
  return function.getArgument(tk::TaskOp(tasks[task].op)->getNumOperands());
}

void LaunchLowering::take(unsigned task, std::shared_ptr<KernelInfo> info) {
  Block &entry = tasks[task].function.getBody().front();
  tasks[task].info = std::move(info);
  tasks[task].begin = &entry.front();
  for (auto variable : entry.getOps<LLVM::AllocaOp>())
    tasks[task].begin = variable->getNextNode();
}

//===-- Code ------------------------------------------------------------------------------------------------------===//

Value LaunchLowering::makeInt(int64_t value) { return arith::ConstantIntOp::create(builder, loc, value, 32); }

Value LaunchLowering::isBelow(Value value, Value bound) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, value, bound);
}

void LaunchLowering::emit(StringRef text, ValueRange operands, StringRef constraints) {
  std::string all = constraints.str() + (constraints.empty() ? "" : ",") + "~{memory}";
  emitAsm(builder, loc, {}, operands, text, all, /*hasSideEffects=*/true);
}

Value LaunchLowering::load(StringRef text, Value address) {
  return emitAsm(builder, loc, builder.getI32Type(), address, text, "=r,l,~{memory}", /*hasSideEffects=*/true).front();
}

/// `count` (i32) times `bytes` from `address` on.
Value LaunchLowering::move(Value address, Value count, int64_t bytes) {
  Value offset = arith::MulIOp::create(builder, loc, count, makeInt(bytes));
  return LLVM::GEPOp::create(builder, loc, address.getType(), builder.getI8Type(), address,
                             ArrayRef<LLVM::GEPArg>{offset});
}

void LaunchLowering::when(Value condition, llvm::function_ref<void()> build) {
  OpBuilder::InsertionGuard guard(builder);
  auto branch = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
  build();
}

/// What the launch's own kernel takes, with pointers for tensors, and then the tensor maps of all tasks.
void LaunchLowering::makeFunction() {
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  for (Type type : kernel.getArgumentTypes())
    types.push_back(type.isIndex() ? type : LLVM::LLVMPointerType::get(kernel.getContext(), 1));
  attributes.resize(types.size());
  for (Task &task : tasks) {
    task.firstMap = types.size();
    for (unsigned i = 0; i < task.info->tensorMapRecords.size(); ++i) {
      unsigned number = task.op->getNumOperands() + 2 + i;
      types.push_back(task.function.getArgumentTypes()[number]);
      attributes.push_back(task.function.getArgAttrDict(number));
    }
  }
  builder.setInsertionPoint(kernel);
  whole = func::FuncOp::create(builder, loc, kernel.getName(), builder.getFunctionType(types, {}));
  for (auto [i, dictionary] : llvm::enumerate(attributes))
    if (dictionary)
      whole.setArgAttrs(i, dictionary);
  builder.setInsertionPointToStart(whole.addEntryBlock());
  func::ReturnOp end = func::ReturnOp::create(builder, loc);
  builder.setInsertionPoint(end);
}

/// How many CTAs each task has, from the launch's symbols.
void LaunchLowering::evaluateCtas() {
  for (Task &task : tasks) {
    if (std::optional<int64_t> known = task.op.getStaticCtas()) {
      task.ctas = makeInt(*known);
      continue;
    }
    IndexArithmetic forms(builder, loc);
    SmallVector<LinearForm> symbols;
    for (Value operand : task.op.getOperands())
      if (operand.getType().isIndex())
        symbols.push_back(forms.get(whole.getArgument(cast<BlockArgument>(operand).getArgNumber()), {1, Bounds().max}));
    for (AffineExpr expr : task.op.getCtas().getResults()) {
      Value count = forms.materialize(forms.evaluate(expr, {}, symbols));
      count = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), count);
      task.ctas = task.ctas ? arith::MinSIOp::create(builder, loc, task.ctas, count).getResult() : count;
    }
  }
}

//===-- Waits -----------------------------------------------------------------------------------------------------===//

/// Thread t takes counters first + t, first + t + threads, ...
void LaunchLowering::emitPolls(tk::AwaitAttr await, Value cta, int64_t threads) {
  const Task &writer = tasks[await.getTask()];
  Value last = makeInt(writer.counters - 1), from = makeInt(0), to = last;
  if (await.getPolicy() != tk::SignalPolicy::All) {
    auto wide = [&](int64_t value) { return arith::ConstantIntOp::create(builder, loc, value, 64); };
    Value block = arith::DivUIOp::create(builder, loc, cta, makeInt(await.getCtas()));
    block = arith::ExtUIOp::create(builder, loc, builder.getI64Type(), block);
    auto find = [&](int64_t offset) -> Value { // The counter of element step b + offset.
      Value place = arith::MulIOp::create(builder, loc, block, wide(await.getStep()));
      place = arith::AddIOp::create(builder, loc, place, wide(offset));
      place = arith::MaxSIOp::create(builder, loc, place, wide(0));
      place = arith::DivUIOp::create(builder, loc, place, wide(await.getWritten()));
      place = arith::MinSIOp::create(builder, loc, place, wide(writer.counters - 1));
      return arith::TruncIOp::create(builder, loc, builder.getI32Type(), place);
    };
    from = find(await.getFirst());
    to = find(await.getLast());
  }
  Value start = arith::AddIOp::create(builder, loc, from, thread);
  Value end = arith::AddIOp::create(builder, loc, to, makeInt(1));
  auto loop = scf::ForOp::create(builder, loc, start, end, makeInt(threads));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value number = loop.getInductionVar();
  int64_t each = *tk::TaskOp(writer.op).getSignal(); // Of the last counter, the CTAs that are left.
  Value before = makeInt((writer.counters - 1) * (writer.counters > 1 ? each : 0));
  Value rest = arith::SubIOp::create(builder, loc, writer.ctas, before);
  Value isLast = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, number, last);
  Value count =
      writer.counters > 1 ? arith::SelectOp::create(builder, loc, isLast, rest, makeInt(each)).getResult() : rest;
  Value address = move(base, arith::AddIOp::create(builder, loc, number, makeInt(writer.firstCounter)), counterBytes);
  scf::WhileOp::create(
      builder, loc, TypeRange(), ValueRange(),
      [&](OpBuilder &, Location, ValueRange) {
        Value found = load("ld.acquire.gpu.global.u32 $0, [$1];", address);
        Value isMissing = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, found, count);
        scf::ConditionOp::create(builder, loc, isMissing, ValueRange());
      },
      [&](OpBuilder &, Location, ValueRange) { scf::YieldOp::create(builder, loc); });
}

/// Until what the task's CTA reads is there for all its threads.
void LaunchLowering::emitWaits(Task &task, Value cta) {
  ArrayAttr awaits = task.op.getAwaitsAttr();
  if (!awaits || awaits.empty())
    return;
  int64_t threads = task.info->warps * 32;
  for (Attribute await : awaits)
    emitPolls(cast<tk::AwaitAttr>(await), cta, threads);
  NVVM::BarrierOp::create(builder, loc, TypeRange(), makeInt(0), makeInt(threads), NVVM::BarrierReductionAttr(),
                          Value());
  if (task.usesBulk)
    emit("fence.proxy.async.global;");
}

/// Ahead of the CTA's next task: what this one has written can be seen by who waits for it, and nobody uses its shared
/// memory any more.
void LaunchLowering::emitEnd(Task &task, Value cta) {
  bool mayShare = llvm::any_of(tasks, [](const Task &each) { return each.usesBulk; });
  when(isBelow(thread, makeInt(task.info->warps * 32)), [&] {
    if (task.copiesInGroups)
      emit("cp.async.wait_all;");
    if (task.storesInBulk)
      emit("cp.async.bulk.wait_group 0;");
    if (mayShare)
      emit("fence.proxy.async;");
  });
  // Warps come from roles of their own, and lanes from loops that one of them ran: a barrier that does not ask for
  // warps as a whole.
  std::string meet = "barrier.sync " + std::to_string(taskBarrier) + ", " + std::to_string(warps * 32) + ";";
  emit(meet);
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, thread, makeInt(0));
  when(isFirst, [&] {
    for (const KernelInfo::ChannelBarriers &each : task.info->barriers) {
      Value channel = getSharedPointer(builder, loc, *task.info, each.offset);
      for (int64_t i = 0; i < 2 * each.slots; ++i)
        NVVM::MBarrierInvalOp::create(builder, loc, move(channel, makeInt(i), 8));
    }
    if (!task.counters)
      return;
    int64_t each = *task.op.getSignal();
    Value number =
        task.counters > 1 ? arith::DivUIOp::create(builder, loc, cta, makeInt(each)).getResult() : makeInt(0);
    number = arith::AddIOp::create(builder, loc, number, makeInt(task.firstCounter));
    emit("red.release.gpu.global.add.u32 [$0], $1;", {move(base, number, counterBytes), makeInt(1)}, "l,r");
  });
  if (!task.info->barriers.empty())
    emit(meet);
}

//===-- Tasks -----------------------------------------------------------------------------------------------------===//

/// The task's operations, with the CTA's number for its parameter; variables stay in the entry, else they stay in
/// memory.
void LaunchLowering::emitBody(Task &task, Value cta) {
  Block &body = task.function.getBody().front();
  SmallVector<Value> arguments;
  for (Value operand : task.op.getOperands())
    arguments.push_back(whole.getArgument(cast<BlockArgument>(operand).getArgNumber()));
  arguments.push_back(cta);
  arguments.push_back(task.ctas);
  for (unsigned i = 0; i < task.info->tensorMapRecords.size(); ++i)
    arguments.push_back(whole.getArgument(task.firstMap + i));
  Operation *entry = thread.getDefiningOp();
  for (auto variable : llvm::make_early_inc_range(body.getOps<LLVM::AllocaOp>())) {
    if (Operation *size = variable.getArraySize().getDefiningOp())
      size->moveBefore(entry);
    variable->moveBefore(entry);
  }
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(task.begin);
    emitWaits(task, cta);
  }
  for (auto [argument, value] : llvm::zip_equal(body.getArguments(), arguments))
    argument.replaceAllUsesWith(value);
  body.getTerminator()->erase();
  builder.getInsertionBlock()->getOperations().splice(builder.getInsertionPoint(), body.getOperations());
}

void LaunchLowering::emitTask(Task &task, Value cta) {
  if (task.info->warps < warps)
    when(isBelow(thread, makeInt(task.info->warps * 32)), [&] { emitBody(task, cta); });
  else
    emitBody(task, cta);
  if (launch.getResident())
    emitEnd(task, cta);
}

/// Task `number` of the launch, which lies in op `task` or behind it.
void LaunchLowering::emitInOrder(unsigned task, Value number) {
  if (task + 1 == tasks.size())
    return emitTask(tasks[task], number);
  auto branch = scf::IfOp::create(builder, loc, isBelow(number, tasks[task].ctas), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  emitTask(tasks[task], number);
  builder.setInsertionPointToStart(branch.elseBlock());
  emitInOrder(task + 1, arith::SubIOp::create(builder, loc, number, tasks[task].ctas));
}

/// Groups of CTAs of the first op, each followed by the second one's; what is left over goes to the last group.
void LaunchLowering::emitInTurns(Value number) {
  ArrayRef<int64_t> turns = *launch.getTurns();
  auto make = [&](auto op, Value lhs, Value rhs) -> Value { return decltype(op)::create(builder, loc, lhs, rhs); };
  Value period = makeInt(turns[0] + turns[1]), writers = makeInt(turns[0]);
  Value group = make(arith::MinSIOp(), make(arith::DivUIOp(), number, period), makeInt(turns[2] - 1));
  Value place = make(arith::SubIOp(), number, make(arith::MulIOp(), group, period));
  Value before = make(arith::MulIOp(), group, writers);
  Value mine = make(arith::MinSIOp(), writers, make(arith::SubIOp(), tasks[0].ctas, before));
  auto branch = scf::IfOp::create(builder, loc, isBelow(place, mine), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  emitTask(tasks[0], make(arith::AddIOp(), before, place));
  builder.setInsertionPointToStart(branch.elseBlock());
  Value read = make(arith::MulIOp(), group, makeInt(turns[1]));
  emitTask(tasks[1], make(arith::AddIOp(), read, make(arith::SubIOp(), place, mine)));
}

/// The CTA's tasks one after the other, between the word that selects its set of counters and the clearing of the
/// other.
void LaunchLowering::emitLoop() {
  int64_t ctas = countCtas();
  OpBuilder top = OpBuilder::atBlockBegin(kernel->getParentOfType<ModuleOp>().getBody());
  int64_t setBytes = counterBytes * counters, size = 2 * setBytes + wordBytes * ctas;
  auto storage = LLVM::GlobalOp::create(top, loc, LLVM::LLVMArrayType::get(top.getI8Type(), size),
                                        /*isConstant=*/false, LLVM::Linkage::Internal, "counters",
                                        top.getZeroAttr(RankedTensorType::get({size}, top.getI8Type())),
                                        /*alignment=*/128, /*addrSpace=*/1);
  if (llvm::any_of(tasks, [](const Task &task) { return task.info->waitsForGrids; }))
    emit("griddepcontrol.wait;"); // The launch before may use the same counters.
  Value cta = NVVM::BlockIdXOp::create(builder, loc, builder.getI32Type());
  Value first = LLVM::AddressOfOp::create(builder, loc, storage);
  Value word = move(first, cta, wordBytes);
  word = move(word, makeInt(2 * counters), counterBytes);
  Value launches = load("ld.relaxed.gpu.global.u32 $0, [$1];", word);
  Value set = arith::AndIOp::create(builder, loc, launches, makeInt(1));
  base = move(first, set, setBytes);
  Value other = move(first, arith::XOrIOp::create(builder, loc, set, makeInt(1)), setBytes);
  Value total = tasks.front().ctas;
  for (const Task &task : llvm::drop_begin(tasks))
    total = arith::AddIOp::create(builder, loc, total, task.ctas);
  auto loop = scf::ForOp::create(builder, loc, cta, total, makeInt(ctas));
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    if (launch.getTurns())
      emitInTurns(loop.getInductionVar());
    else
      emitInOrder(0, loop.getInductionVar());
  }
  int64_t threads = warps * 32;
  Value number =
      arith::AddIOp::create(builder, loc, arith::MulIOp::create(builder, loc, cta, makeInt(threads)), thread);
  auto clear = scf::ForOp::create(builder, loc, number, makeInt(counters), makeInt(ctas * threads));
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(clear.getBody());
    emit("st.relaxed.gpu.global.u32 [$0], $1;", {move(other, clear.getInductionVar(), counterBytes), makeInt(0)},
         "l,r");
  }
  when(arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, thread, makeInt(0)), [&] {
    Value next = arith::AddIOp::create(builder, loc, launches, makeInt(1));
    emit("st.relaxed.gpu.global.u32 [$0], $1;", {word, next}, "l,r");
  });
}

std::optional<int64_t> LaunchLowering::countTasks() const {
  int64_t total = 0;
  for (const Task &task : tasks) {
    std::optional<int64_t> ctas = tk::TaskOp(task.op).getStaticCtas();
    if (!ctas)
      return std::nullopt;
    total += *ctas;
  }
  return total;
}

/// Of a launch with a loop.
int64_t LaunchLowering::countCtas() const {
  int64_t resident = int64_t(*tk::LaunchOp(launch).getResident());
  return std::min(resident, countTasks().value_or(resident));
}

FailureOr<func::FuncOp> LaunchLowering::finish() {
  for (const Task &task : tasks)
    if (tk::TaskOp op = task.op; !launch.getResident() && !op.getStaticCtas() && op.getCtas().getNumResults() > 1)
      return op.emitOpError("expected a number of CTAs that is known, or a product of extents, got ")
             << op.getCtasAttr();
  makeFunction();
  thread = NVVM::ThreadIdXOp::create(builder, loc, builder.getI32Type());
  evaluateCtas();
  if (launch.getResident())
    emitLoop();
  else
    emitInOrder(0, NVVM::BlockIdXOp::create(builder, loc, builder.getI32Type()));
  collectAttributes();
  for (Task &task : tasks)
    task.function.erase();
  resident = launch.getResident() ? countCtas() : 0;
  kernel.erase();
  return whole;
}

//===-- Attributes ------------------------------------------------------------------------------------------------===//

/// A tensor map's buffer has another number.
static Attribute moveMap(DictionaryAttr map, tk::TaskOp task) {
  NamedAttrList entries(map);
  Value tensor = task.getOperand(unsigned(cast<IntegerAttr>(map.get("argument")).getInt()));
  Builder builder(map.getContext());
  entries.set("argument", builder.getI64IntegerAttr(cast<BlockArgument>(tensor).getArgNumber()));
  return entries.getDictionary(map.getContext());
}

void LaunchLowering::collectAttributes() {
  auto module = kernel->getParentOfType<ModuleOp>();
  MLIRContext *context = kernel.getContext();
  unsigned symbols = llvm::count_if(kernel.getArgumentTypes(), [](Type type) { return type.isIndex(); }), next = 0;
  AffineExpr total = getAffineConstantExpr(0, context);
  int64_t shared = 0;
  unsigned bits = 32;
  SmallVector<Attribute> maps;
  auto shift = [&](AffineMap map) { return AffineMap::get(0, symbols, map.shiftSymbols(next).getResults(), context); };
  for (const Task &task : tasks) {
    tk::TaskOp op = task.op;
    std::optional<int64_t> ctas = op.getStaticCtas();
    total = total + (ctas ? getAffineConstantExpr(*ctas, context) : shift(op.getCtas()).getResult(0));
    shared = std::max(shared, task.info->sharedBytes);
    bits = std::max(bits, task.info->indexBits);
    for (Attribute record : task.info->tensorMapRecords) {
      NamedAttrList entries(cast<DictionaryAttr>(moveMap(cast<DictionaryAttr>(record), op)));
      for (StringRef name : {"extents", "strides"})
        entries.set(name, AffineMapAttr::get(shift(cast<AffineMapAttr>(entries.get(name)).getValue())));
      maps.push_back(entries.getDictionary(context));
    }
    next += op.getCtas().getNumSymbols();
  }
  if (launch.getResident()) {
    total = getAffineConstantExpr(countCtas(), context);
    module->setAttr(residentAttr, builder.getI64IntegerAttr(countCtas()));
  }
  module->setAttr(gridAttr, AffineMapAttr::get(AffineMap::get(0, symbols, total, context)));
  module->setAttr(warpsAttr, builder.getI64IntegerAttr(warps));
  module->setAttr(indexBitsAttr, builder.getI64IntegerAttr(bits));
  if (!maps.empty())
    module->setAttr(tensorMapsAttr, builder.getArrayAttr(maps));
  if (shared)
    module->setAttr(sharedBytesAttr, builder.getI64IntegerAttr(shared));
}

int64_t LaunchLowering::getCtasOfSm() const {
  auto target = whole->getParentOfType<ModuleOp>()->getAttrOfType<StringAttr>(tk::targetAttr);
  const Device *device = findDevice(target ? target.getValue() : StringRef());
  return device && resident ? int64_t(llvm::divideCeil(resident, int64_t(device->sms))) : 1;
}

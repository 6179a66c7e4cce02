// Branches, calls, exits.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bra, brx.idx, call, ret, exit, trap, brkpt, nanosleep, pragma-like no-operations. Splits are Warp's business: these
// steps only say which lanes go where.
#include "Emulator/Ops/Control.h"
#include "Emulator/Exec/Binder.h"
#include "Emulator/Exec/Machine.h"
#include "Emulator/Exec/SpecialRegister.h"

#include <algorithm>
#include <cstring>

using namespace weft;
using namespace weft::emu;
using ptx::OperandKind;
using ptx::SymbolKind;

//===--------------------------------------------------------------------------------------------------------------===//
// Branches
//===--------------------------------------------------------------------------------------------------------------===//

Outcome emu::runJump(Warp &warp, const Step &step, LaneMask mask) {
  warp.branch(mask, step.target);
  return Outcome::Jump;
}

static Outcome runUniformBranch(Warp &warp, const Step &step, LaneMask mask) {
  if (mask != warp.active())
    return warp.machine->fault(warp, step, unsigned(__builtin_ctz(mask)),
                               "the branch is .uni, but its threads do not agree");
  warp.branch(mask, step.target);
  return Outcome::Jump;
}

static void bindBra(Binder &b) {
  bool isUniform = b.accept("uni");
  b.operands(1);
  const ptx::Operand &target = b.operand(0);
  if (target.kind != OperandKind::Symbol || target.symbol != SymbolKind::Label)
    return b.fail("expected a label of this function");
  b.branchTo(target.index);
  b.flag(step_flag::Branch);
  b.run(isUniform ? runUniformBranch : runJump);
}

static Outcome runIndexed(Warp &warp, const Step &step, LaneMask mask) {
  const uint32_t *index = warp.lanes<uint32_t>(step.slots[0]);
  const FunctionCode &code = *warp.activation().code;
  LaneMask outside = 0;
  forLanes(mask, [&](unsigned lane) { outside |= LaneMask(index[lane] >= step.immediate) << lane; });
  if (outside) {
    unsigned lane = unsigned(__builtin_ctz(outside));
    return warp.machine->fault(warp, step, lane, "index %u is outside of the list of %llu targets", index[lane],
                               (unsigned long long)step.immediate);
  }
  uint32_t targets[32];
  forLanes(mask, [&](unsigned lane) { targets[lane] = code.targets[step.target + index[lane]]; });
  warp.branchMany(mask, targets);
  return Outcome::Jump;
}

static void bindBrx(Binder &b) {
  b.expect("idx");
  b.accept("uni");
  b.operands(2);
  b.use(0, Type::B32);
  const ptx::Operand &list = b.operand(1);
  if (list.kind != OperandKind::Symbol || list.symbol != SymbolKind::BranchTargets)
    return b.fail("expected the name of a .branchtargets list");
  const ptx::Function &function = b.function();
  ptx::Span<uint32_t> targets = function.branchTargets[list.index].targets.of(function.targetPool);
  std::vector<uint32_t> &pool = b.getContext().bound->targets;
  b.branchTo(uint32_t(pool.size()));
  pool.insert(pool.end(), targets.begin(), targets.end());
  b.immediate(targets.size());
  b.flag(step_flag::Branch | step_flag::Indexed);
  b.run(runIndexed);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Calls
//===--------------------------------------------------------------------------------------------------------------===//

namespace {
/// One argument or return value.
struct Passed {
  uint32_t offset = 0; ///< In the caller's parameter block, if `slot` is negative.
  uint32_t bytes = 0;
  int32_t slot = -1; ///< Index in Step::slots: the value is in a register or constant.
};

struct CallPayload {
  const ModuleCode *module = nullptr;
  const Passed *arguments = nullptr, *results = nullptr;
  uint32_t argumentCount = 0, resultCount = 0;
  uint32_t target = 0;  ///< In ptx::Module::functions.
  int32_t pointer = -1; ///< Index in Step::slots of the function's address, for indirect calls.
};

/// 32 lanes of a value, in a parameter block or a register.
struct LaneBytes {
  std::byte *first;
  size_t stride;
};
} // namespace

/// Where the caller has a passed value; `activation` is current.
static LaneBytes callerSide(const Warp &warp, const Activation &activation, const Step &call, const Passed &passed) {
  if (passed.slot < 0)
    return {activation.parameters + passed.offset, activation.code->parameterBlockBytes};
  Slot slot = call.slots[passed.slot];
  if (slot & kConstantSlot)
    return {warp.lanes<std::byte>(slot), passed.bytes}; // Arguments only: the caller is the current split's activation.
  return {activation.registers + slot, passed.bytes};
}

static LaneBytes calleeSide(const Activation &activation, const Placement &place, const std::vector<Slot> &slots,
                            uint32_t number, uint32_t bytes) {
  if (number < slots.size() && slots[number] != kNoSlot)
    return {activation.registers + slots[number], bytes};
  return {activation.parameters + place.offset, activation.code->parameterBlockBytes};
}

static void copyLanes(LaneBytes to, LaneBytes from, uint32_t bytes, LaneMask mask) {
  forLanes(mask,
           [&](unsigned lane) { std::memcpy(to.first + lane * to.stride, from.first + lane * from.stride, bytes); });
}

static Outcome enter(Warp &warp, const Step &step, uint32_t function, LaneMask mask, LaneMask repeat) {
  const CallPayload &payload = *static_cast<const CallPayload *>(step.payload);
  uint32_t index = payload.module->functionIds[function];
  if (index == ptx::kNone)
    return warp.machine->fault(warp, step, unsigned(__builtin_ctz(mask)), "the function has no body");
  const FunctionCode &callee = payload.module->functions[index];
  if (callee.parameters.size() != payload.argumentCount || callee.returns.size() != payload.resultCount)
    return warp.machine->fault(warp, step, unsigned(__builtin_ctz(mask)),
                               "%s takes %zu arguments and returns %zu, called with %u and %u", callee.name.c_str(),
                               callee.parameters.size(), callee.returns.size(), payload.argumentCount,
                               payload.resultCount);
  Activation &caller = warp.activation();
  Activation *made = warp.makeActivation(callee, step, mask);
  if (!made)
    return Outcome::Fault;
  for (uint32_t i = 0; i < payload.argumentCount; ++i) {
    const Passed &passed = payload.arguments[i];
    uint32_t bytes = uint32_t(
        std::min<uint64_t>(passed.bytes, callee.parameters[i].size ? callee.parameters[i].size : passed.bytes));
    copyLanes(calleeSide(*made, callee.parameters[i], callee.parameterSlots, i, bytes),
              callerSide(warp, caller, step, passed), bytes, mask);
  }
  warp.enter(*made, mask, repeat);
  return Outcome::Jump;
}

static Outcome runCall(Warp &warp, const Step &step, LaneMask mask) {
  return enter(warp, step, static_cast<const CallPayload *>(step.payload)->target, mask, 0);
}

/// The lanes of one target go first; the step is executed again by the others, which stay where they are.
static Outcome runIndirectCall(Warp &warp, const Step &step, LaneMask mask) {
  const CallPayload &payload = *static_cast<const CallPayload *>(step.payload);
  const uint64_t *pointers = warp.lanes<uint64_t>(step.slots[payload.pointer]);
  unsigned first = unsigned(__builtin_ctz(mask));
  uint64_t pointer = pointers[first];
  uint64_t function = functionOfAddress(pointer);
  if (function >= payload.module->functionIds.size())
    return warp.machine->fault(warp, step, first, "0x%llx is not the address of a function",
                               (unsigned long long)pointer);
  LaneMask same = 0;
  forLanes(mask, [&](unsigned lane) { same |= LaneMask(pointers[lane] == pointer) << lane; });
  return enter(warp, step, uint32_t(function), same, mask & ~same);
}

Outcome emu::runReturn(Warp &warp, const Step &, LaneMask mask) {
  Activation &callee = warp.activation();
  if (!callee.caller)
    return Outcome::Exit;
  const CallPayload &payload = *static_cast<const CallPayload *>(callee.call->payload);
  for (uint32_t i = 0; i < payload.resultCount; ++i) {
    const Passed &passed = payload.results[i];
    if (passed.slot >= 0 && callee.call->slots[passed.slot] == kNoSlot)
      continue;
    copyLanes(callerSide(warp, *callee.caller, *callee.call, passed),
              calleeSide(callee, callee.code->returns[i], callee.code->returnSlots, i, passed.bytes), passed.bytes,
              mask);
  }
  warp.leave(mask);
  return Outcome::Jump;
}

static Passed bindPassed(Binder &b, const ptx::Operand &operand, const ptx::Variable *formal, bool isResult) {
  Passed passed;
  if (operand.kind == OperandKind::Symbol) {
    SymbolAddress address;
    if (!resolveSymbol(b.getContext(), operand, address) || address.space != ptx::Space::Param ||
        (address.offset & kParamBlockBit) == 0) {
      b.fail("expected a .param variable or a register as argument");
      return passed;
    }
    passed.offset = uint32_t(address.offset & ~uint64_t(kParamBlockBit));
    passed.bytes = uint32_t(variableOf(b.getContext(), operand)->size);
    return passed;
  }
  Type type = formal && formal->type != Type::None ? formal->type : Type::None;
  if (operand.kind == OperandKind::Register)
    type = b.function().registers[operand.index].type;
  if (type == Type::None || type == Type::Pred) {
    b.fail("expected a .param variable or a register that is no predicate as argument");
    return passed;
  }
  passed.bytes = ptx::bitWidth(type) / 8;
  passed.slot = int32_t(isResult ? b.defOrSink(operand, type) : b.use(operand, type));
  return passed;
}

static const Passed *bindList(Binder &b, const ptx::Operand *list, const std::vector<ptx::Variable> *formals,
                              bool isResult, uint32_t &count) {
  ptx::Span<ptx::Operand> items = list ? b.children(*list) : ptx::Span<ptx::Operand>{};
  count = uint32_t(items.size());
  Passed *made = b.array<Passed>(count);
  if (formals && formals->size() != count) {
    b.fail("expected %zu %s, got %u", formals->size(), isResult ? "results" : "arguments", count);
    return made;
  }
  for (uint32_t i = 0; i < count; ++i)
    made[i] = bindPassed(b, items[i], formals ? &(*formals)[i] : nullptr, isResult);
  return made;
}

static void bindCall(Binder &b) {
  b.accept("uni");
  b.operands(1, 4);
  unsigned next = 0;
  const ptx::Operand *results = nullptr, *arguments = nullptr;
  if (b.operand(next).kind == OperandKind::Arguments)
    results = &b.operand(next++);
  const ptx::Operand &callee = b.operand(next++);
  if (next < b.operandCount() && b.operand(next).kind == OperandKind::Arguments)
    arguments = &b.operand(next++);
  auto *payload = b.payload<CallPayload>();
  payload->module = b.getContext().moduleCode;
  const std::vector<ptx::Variable> *formals = nullptr, *returns = nullptr;
  if (callee.kind == OperandKind::Symbol && callee.symbol == SymbolKind::Function) {
    uint32_t index = b.module().resolve(callee.index);
    const ptx::Function &function = b.module().functions[index];
    if (!function.isDefined)
      return b.fail("%s is declared only: the emulator has no such built-in function",
                    bundle::quote(b.module().names[function.name]).c_str());
    payload->target = index;
    if (b.getContext().called)
      b.getContext().called->push_back(index);
    formals = &function.parameters;
    returns = &function.returns;
    b.run(runCall);
  } else {
    payload->pointer = int32_t(b.use(callee, Type::B64));
    if (next < b.operandCount() && b.operand(next).kind == OperandKind::Symbol &&
        b.operand(next).symbol == SymbolKind::CallPrototype) {
      const ptx::Prototype &prototype = b.function().prototypes[b.operand(next).index];
      formals = &prototype.parameters;
      returns = &prototype.returns;
    }
    b.run(runIndirectCall);
  }
  payload->results = bindList(b, results, returns, true, payload->resultCount);
  payload->arguments = bindList(b, arguments, formals, false, payload->argumentCount);
}

static void bindAlloca(Binder &b) { b.fail("memory of a size known at run time is not supported"); }

//===--------------------------------------------------------------------------------------------------------------===//
// Ends
//===--------------------------------------------------------------------------------------------------------------===//

static void bindRet(Binder &b) {
  b.accept("uni");
  b.operands(0);
  b.flag(step_flag::End);
  b.run(runReturn);
}

static Outcome runExit(Warp &, const Step &, LaneMask) { return Outcome::Exit; }

static void bindExit(Binder &b) {
  b.operands(0);
  b.flag(step_flag::End);
  b.run(runExit);
}

static Outcome runTrap(Warp &warp, const Step &step, LaneMask mask) {
  return warp.machine->fault(warp, step, unsigned(__builtin_ctz(mask)), "the kernel has executed a trap");
}

static void bindTrap(Binder &b) {
  b.operands(0);
  b.flag(step_flag::End);
  b.run(runTrap);
}

static Outcome runNothing(Warp &, const Step &, LaneMask) { return Outcome::Next; }

/// Without a debugger a GPU ends the launch as well (seen on an H100).
static Outcome runBreakpoint(Warp &warp, const Step &step, LaneMask mask) {
  return warp.machine->fault(warp, step, unsigned(__builtin_ctz(mask)),
                             "the kernel has reached a breakpoint, and there is no debugger");
}

static void bindBrkpt(Binder &b) {
  b.operands(0);
  b.run(runBreakpoint);
}

static Outcome runYield(Warp &, const Step &, LaneMask) { return Outcome::Yield; }

static void bindNanosleep(Binder &b) {
  b.expect("u32");
  b.operands(1);
  b.use(0, Type::U32);
  b.run(runYield);
}

static void bindPmevent(Binder &b) {
  bool isMask = b.accept("mask");
  b.operands(1);
  b.constant(0, 0, isMask ? 0xffff : 15);
  b.run(runNothing);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Table
//===--------------------------------------------------------------------------------------------------------------===//

static const FamilyRow kRows[] = {
    {"alloca", {}, bindAlloca},
    {"bra", {}, bindBra},
    {"brkpt", {}, bindBrkpt},
    {"brx", {}, bindBrx},
    {"call", {}, bindCall},
    {"exit", {}, bindExit},
    {"nanosleep", {}, bindNanosleep},
    {"pmevent", {}, bindPmevent},
    {"ret", {}, bindRet},
    {"stackrestore", {}, bindAlloca},
    {"stacksave", {}, bindAlloca},
    {"trap", {}, bindTrap},
};
const Family emu::kControlFamily = {"control", kRows, sizeof kRows / sizeof *kRows};

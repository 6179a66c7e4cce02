// Builds one entry of a bundle.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registers with value numbering and constant folding, buffers, and launch commands of one entry function.
#include "weft/Bundle/Builder.h"
#include "weft/Bundle/DType.h"
#include "weft/Bundle/ShapeProgram.h"

#include <algorithm>
#include <deque>
#include <utility>

using namespace weft::bundle;

EntryBuilder::EntryBuilder(Builder &owner, std::string_view name) : owner(owner), name(owner.intern(name)) {}

bool EntryBuilder::checkReg(Reg reg, const char *what) {
  if (reg.value < instructions.size())
    return true;
  owner.fail(std::string(what) + ": expected a register of this entry");
  return false;
}

bool EntryBuilder::checkBuffer(BufferId buffer, const char *what) {
  if (buffer.value < buffers.size())
    return true;
  owner.fail(std::string(what) + ": expected a buffer of this entry");
  return false;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Registers
//===--------------------------------------------------------------------------------------------------------------===//

SymbolId EntryBuilder::addSymbol(std::string_view symbolName, int64_t min, int64_t max) {
  symbols.push_back({owner.intern(symbolName), 0, min, max});
  return {uint32_t(symbols.size() - 1)};
}

/// The position at which a new instruction is evaluated: its operands', or the start of an open loop that it may not
/// leave.
uint32_t EntryBuilder::placeOf(Opcode opcode, Reg a, Reg b, Reg c) const {
  bool isLoad = opcode == Opcode::Load;
  uint32_t position = isLoad ? uint32_t(commands.size()) : 0;
  for (Reg operand : {isLoad || opcode == Opcode::Symbol ? Reg{} : a, b, c})
    if (operand)
      position = std::max(position, instructions[operand.value].position);
  bool mayFail = opcode == Opcode::AssertEqual || opcode == Opcode::AssertRange;
  bool isFixed = opcode == Opcode::Constant || opcode == Opcode::Symbol;
  for (const Loop &loop : loops)
    if (mayFail || (loop.branch && !isFixed) || (opcode == Opcode::Turn && &loop == &loops.back()))
      position = std::max(position, loop.command + 1);
  return position;
}

Reg EntryBuilder::emit(Opcode opcode, Reg a, Reg b, Reg c, int64_t imm) {
  Key key(uint16_t(opcode), a.value, b.value, c.value, imm);
  // Loads are never shared: the buffer may have been written in between.
  if (auto found = known.find(key); opcode != Opcode::Load && found != known.end())
    return {found->second};
  uint32_t index = uint32_t(instructions.size()), position = placeOf(opcode, a, b, c);
  instructions.push_back({{uint16_t(opcode), 0, a.value, b.value, c.value, imm}, position});
  known.emplace(key, index);
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop)
    if (position > loop->command) {
      loop->known.push_back(key);
      break;
    }
  return {index};
}

bool EntryBuilder::isConstant(Reg reg, int64_t &value) const {
  const InstructionRecord &record = instructions[reg.value].record;
  value = record.imm;
  return Opcode(record.opcode) == Opcode::Constant;
}

Reg EntryBuilder::binary(Opcode opcode, Reg a, Reg b) {
  if (!checkReg(a, "shape program") || !checkReg(b, "shape program"))
    return {};
  int64_t x = 0, y = 0, folded;
  bool constantA = isConstant(a, x), constantB = isConstant(b, y);
  // One order for equal sums: constants last, else by age.
  bool commutes = opcode == Opcode::Add || opcode == Opcode::Mul || opcode == Opcode::Min || opcode == Opcode::Max;
  if (commutes && std::make_pair(constantB, b.value) < std::make_pair(constantA, a.value)) {
    std::swap(a, b);
    std::swap(x, y);
    std::swap(constantA, constantB);
  }
  // What overflows is left to the run, which reports it.
  if (constantA && constantB && evaluateArithmetic(opcode, x, y, folded))
    return constant(folded);
  bool dividesByOne = (opcode == Opcode::FloorDiv || opcode == Opcode::CeilDiv) && constantB && y == 1;
  bool subtractsZero = opcode == Opcode::Sub && constantB && y == 0;
  if (dividesByOne || subtractsZero)
    return a;
  bool isNeutral = (opcode == Opcode::Add && y == 0) || (opcode == Opcode::Mul && y == 1);
  if (constantB && isNeutral)
    return a;
  return emit(opcode, a, b);
}

Reg EntryBuilder::constant(int64_t value) { return emit(Opcode::Constant, {}, {}, {}, value); }

Reg EntryBuilder::symbol(SymbolId symbol) {
  if (symbol.value < symbols.size())
    return emit(Opcode::Symbol, {symbol.value}, {});
  owner.fail("shape program: expected a symbol of this entry");
  return {};
}

Reg EntryBuilder::add(Reg a, Reg b) { return binary(Opcode::Add, a, b); }
Reg EntryBuilder::sub(Reg a, Reg b) { return binary(Opcode::Sub, a, b); }
Reg EntryBuilder::mul(Reg a, Reg b) { return binary(Opcode::Mul, a, b); }
Reg EntryBuilder::floorDiv(Reg a, Reg b) { return binary(Opcode::FloorDiv, a, b); }
Reg EntryBuilder::ceilDiv(Reg a, Reg b) { return binary(Opcode::CeilDiv, a, b); }
Reg EntryBuilder::mod(Reg a, Reg b) { return binary(Opcode::Mod, a, b); }
Reg EntryBuilder::min(Reg a, Reg b) { return binary(Opcode::Min, a, b); }
Reg EntryBuilder::max(Reg a, Reg b) { return binary(Opcode::Max, a, b); }

Reg EntryBuilder::load(BufferId buffer, Reg index) {
  if (!checkBuffer(buffer, "load") || !checkReg(index, "load"))
    return {};
  return emit(Opcode::Load, {buffer.value}, index);
}

void EntryBuilder::assertEqual(Reg a, Reg b, std::string_view message) {
  if (checkReg(a, "assert") && checkReg(b, "assert") && a != b)
    emit(Opcode::AssertEqual, a, b, {}, owner.intern(message));
}

void EntryBuilder::assertRange(Reg value, Reg low, Reg high, std::string_view message) {
  if (checkReg(value, "assert") && checkReg(low, "assert") && checkReg(high, "assert"))
    emit(Opcode::AssertRange, value, low, high, owner.intern(message));
}

//===--------------------------------------------------------------------------------------------------------------===//
// Buffers
//===--------------------------------------------------------------------------------------------------------------===//

BufferId EntryBuilder::addBuffer(BufferKind kind, DType dtype, const std::vector<Reg> &extents, uint32_t source) {
  unsigned bits = getBits(dtype);
  if (!bits || extents.size() > kMaxRank) {
    owner.fail("buffer: expected a known dtype and rank at most 32, got code " + std::to_string(unsigned(dtype)) +
               " and rank " + std::to_string(extents.size()));
    return {};
  }
  Reg size = sizeOf(dtype, extents);
  if (!size)
    return {};
  buffers.push_back({{uint8_t(kind), uint8_t(dtype), uint16_t(extents.size()), 0, size.value, source, 0, 0}, extents});
  return {uint32_t(buffers.size() - 1)};
}

/// Bytes.
Reg EntryBuilder::sizeOf(DType dtype, const std::vector<Reg> &extents) {
  Reg size = constant(1);
  for (Reg extent : extents) {
    if (!checkReg(extent, "extent"))
      return {};
    size = mul(size, extent);
  }
  unsigned bits = getBits(dtype);
  return bits >= 8 ? mul(size, constant(bits / 8)) : ceilDiv(size, constant(8 / bits));
}

std::vector<Reg> EntryBuilder::constants(const std::vector<int64_t> &values) {
  std::vector<Reg> registers;
  for (int64_t value : values)
    registers.push_back(constant(value));
  return registers;
}

BufferId EntryBuilder::addInput(std::string_view portName, DType dtype, const std::vector<Reg> &extents) {
  BufferId buffer = addBuffer(BufferKind::Input, dtype, extents, kNone);
  inputs.push_back({owner.intern(portName), buffer.value});
  return buffer;
}

BufferId EntryBuilder::addOutput(std::string_view portName, DType dtype, const std::vector<Reg> &extents) {
  BufferId buffer = addBuffer(BufferKind::Output, dtype, extents, kNone);
  outputs.push_back({owner.intern(portName), buffer.value});
  return buffer;
}

BufferId EntryBuilder::addOutput(std::string_view portName, DType dtype, unsigned rank) {
  return addOutput(portName, dtype, std::vector<Reg>(rank, constant(0)));
}

void EntryBuilder::setExtents(BufferId buffer, const std::vector<Reg> &extents) {
  if (!checkBuffer(buffer, "extents"))
    return;
  Buffer &target = buffers[buffer.value];
  if (extents.size() != target.extents.size())
    return owner.fail("extents: expected " + std::to_string(target.extents.size()) + " of them");
  if (Reg size = sizeOf(DType(target.record.dtype), extents)) {
    target.record.sizeRegister = size.value;
    target.extents = extents;
  }
}

BufferId EntryBuilder::addTransient(DType dtype, const std::vector<Reg> &extents) {
  return addBuffer(BufferKind::Transient, dtype, extents, kNone);
}

BufferId EntryBuilder::addWeight(WeightId weight, DType dtype, const std::vector<int64_t> &extents) {
  return addBuffer(BufferKind::Weight, dtype, constants(extents), weight.value);
}

BufferId EntryBuilder::addConstant(ConstantId constant, DType dtype, const std::vector<int64_t> &extents) {
  return addBuffer(BufferKind::Constant, dtype, constants(extents), constant.value);
}

void EntryBuilder::addAlias(BufferId input, BufferId output) {
  auto portOf = [&](const std::vector<PortRecord> &ports, BufferId buffer) {
    auto found =
        std::find_if(ports.begin(), ports.end(), [&](const PortRecord &p) { return p.buffer == buffer.value; });
    if (found == ports.end())
      owner.fail("alias: expected an input and an output of this entry");
    return uint32_t(found - ports.begin());
  };
  aliases.push_back({portOf(outputs, output), portOf(inputs, input)});
  std::sort(aliases.begin(), aliases.end(), [](const Alias &a, const Alias &b) { return a.output < b.output; });
}

Reg EntryBuilder::getSize(BufferId buffer) const {
  return buffer.value < buffers.size() ? Reg{buffers[buffer.value].record.sizeRegister} : Reg{};
}

//===--------------------------------------------------------------------------------------------------------------===//
// Commands
//===--------------------------------------------------------------------------------------------------------------===//

void EntryBuilder::dispatch(KernelId kernel, const Dispatch &dispatch) {
  if (!checkReg(dispatch.grid, "dispatch grid") ||
      (dispatch.scratchBytes && !checkReg(dispatch.scratchBytes, "dispatch scratch")))
    return;
  uint32_t firstArgument = uint32_t(arguments.size()), firstScalar = uint32_t(scalars.size());
  for (const std::vector<Argument> *list : {&dispatch.inputs, &dispatch.outputs})
    for (const Argument &argument : *list) {
      if (!checkBuffer(argument.buffer, "dispatch") ||
          (argument.offset && !checkReg(argument.offset, "dispatch offset")))
        return;
      arguments.push_back({argument.buffer.value, argument.offset.value});
    }
  for (Reg scalar : dispatch.scalars) {
    if (!checkReg(scalar, "dispatch scalar"))
      return;
    scalars.push_back(scalar.value);
  }
  if (dispatch.inputs.size() > kMaxArguments) {
    owner.fail("dispatch: too many inputs");
    return;
  }
  commands.push_back({uint16_t(CommandKind::Dispatch), uint16_t(dispatch.inputs.size()), kernel.value,
                      dispatch.grid.value, firstArgument, uint32_t(arguments.size()) - firstArgument, firstScalar,
                      uint32_t(scalars.size()) - firstScalar, dispatch.scratchBytes.value});
}

void EntryBuilder::copy(Argument source, Argument destination, Reg bytes) {
  Reg zero = constant(0);
  Reg from = source.offset ? source.offset : zero, to = destination.offset ? destination.offset : zero;
  if (checkBuffer(source.buffer, "copy") && checkBuffer(destination.buffer, "copy") && checkReg(from, "copy") &&
      checkReg(to, "copy") && checkReg(bytes, "copy"))
    commands.push_back({uint16_t(CommandKind::Copy), 0, source.buffer.value, from.value, destination.buffer.value,
                        to.value, bytes.value, 0, 0});
}

void EntryBuilder::beginLoop(Reg trips, BufferId condition, std::string_view endless, bool branch) {
  if (!checkReg(trips, "loop") || (condition && !checkBuffer(condition, "loop")))
    return;
  known.erase(Key(uint16_t(Opcode::Turn), kNone, kNone, kNone, 0)); // That of the loop around this one.
  loops.push_back({uint32_t(commands.size()), branch, {}});
  commands.push_back({uint16_t(CommandKind::Loop), 0, trips.value, condition ? condition.value : kNone, 0,
                      endless.empty() ? kNone : owner.intern(endless), 0, 0, 0});
}

void EntryBuilder::endLoop() {
  if (loops.empty())
    return owner.fail("loop: expected an open loop to end");
  Loop loop = std::move(loops.back());
  loops.pop_back();
  for (const Key &key : loop.known)
    known.erase(key);
  CommandRecord &command = commands[loop.command];
  command.c = uint32_t(commands.size()) - loop.command - 1;
  if (command.c > 0)
    return;
  commands.pop_back(); // Nothing in it: it is not there.
  for (Instruction &instruction : instructions)
    instruction.position = std::min(instruction.position, uint32_t(commands.size()));
}

Reg EntryBuilder::turn() {
  if (!loops.empty())
    return emit(Opcode::Turn, {}, {});
  owner.fail("shape program: expected an open loop for its turn");
  return {};
}

Reg EntryBuilder::rank() { return emit(Opcode::Rank, {}, {}); }

void EntryBuilder::collective(CollectiveKind kind, Reduction reduction, BufferId source, Reg bytes,
                              BufferId destination, uint32_t ranks, std::string_view text) {
  if (checkBuffer(source, "collective") && checkBuffer(destination, "collective") && checkReg(bytes, "collective"))
    commands.push_back({uint16_t(CommandKind::Collective), uint16_t(kind), source.value, bytes.value, destination.value,
                        uint32_t(reduction), owner.intern(text), ranks, 0});
}

void EntryBuilder::collectiveBeside(CollectiveKind kind, Reduction reduction, BufferId source, Reg bytes,
                                    Argument destination, uint32_t ranks, std::string_view text) {
  if (checkBuffer(source, "collective") && checkBuffer(destination.buffer, "collective") &&
      checkReg(bytes, "collective") && (!destination.offset || checkReg(destination.offset, "collective")))
    commands.push_back({uint16_t(CommandKind::CollectiveBeside), uint16_t(kind), source.value, bytes.value,
                        destination.buffer.value, uint32_t(reduction), owner.intern(text), ranks,
                        destination.offset.value});
}

void EntryBuilder::await(uint32_t left) {
  commands.push_back({uint16_t(CommandKind::Await), 0, left, 0, 0, 0, 0, 0, 0});
}

//===--------------------------------------------------------------------------------------------------------------===//
// The finished entry
//===--------------------------------------------------------------------------------------------------------------===//

/// Registers that something needs: buffers, commands, asserts, and their operands. Operands have smaller numbers than
/// their users, so one walk backwards finds them all.
std::vector<bool> EntryBuilder::findLive() const {
  std::vector<bool> live(instructions.size());
  auto need = [&](uint32_t reg) {
    if (reg != kNone)
      live[reg] = true;
  };
  for (const Buffer &buffer : buffers) {
    need(buffer.record.sizeRegister);
    for (Reg extent : buffer.extents)
      need(extent.value);
  }
  for (const CommandRecord &command : commands) {
    if (CommandKind(command.kind) == CommandKind::Loop) {
      need(command.a);
      continue;
    }
    if (CommandKind(command.kind) == CommandKind::Await)
      continue;
    need(command.b);
    if (CommandKind(command.kind) == CommandKind::Collective)
      continue;
    if (CommandKind(command.kind) == CommandKind::Copy) {
      need(command.d);
      need(command.e);
    } else {
      need(command.g);
    }
  }
  for (const ArgumentRecord &argument : arguments)
    need(argument.offsetRegister);
  for (uint32_t scalar : scalars)
    need(scalar);
  for (uint32_t i = uint32_t(instructions.size()); i-- > 0;) {
    const InstructionRecord &record = instructions[i].record;
    auto opcode = Opcode(record.opcode);
    live[i] = live[i] || opcode == Opcode::AssertEqual || opcode == Opcode::AssertRange;
    if (!live[i])
      continue;
    if (opcode != Opcode::Symbol && opcode != Opcode::Load)
      need(record.a);
    need(record.b);
    need(record.c);
  }
  return live;
}

/// Orders instructions by the position at which they are evaluated and inserts an Eval command for each position. The
/// sort is stable and so keeps operands before their users, since a user's position is at least its operands'.
void EntryBuilder::finishRegisters(Finished &out, std::vector<uint32_t> &newRegister,
                                   std::vector<uint32_t> &newCommand) const {
  std::vector<bool> live = findLive();
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < instructions.size(); ++i)
    if (live[i])
      order.push_back(i);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::make_pair(instructions[a].position, a) < std::make_pair(instructions[b].position, b);
  });
  newRegister.assign(instructions.size(), kNone);
  for (uint32_t i = 0; i < order.size(); ++i)
    newRegister[order[i]] = i;
  auto rename = [&](uint32_t &reg) { reg = reg == kNone ? kNone : newRegister[reg]; };

  uint32_t next = 0;
  newCommand.resize(commands.size());
  for (uint32_t position = 0; position <= commands.size(); ++position) {
    uint32_t first = next;
    while (next < order.size() && instructions[order[next]].position == position)
      ++next;
    if (next != first)
      out.commands.push_back({uint16_t(CommandKind::Eval), 0, first, next - first, 0, 0, 0, 0, 0});
    if (position < commands.size()) {
      newCommand[position] = uint32_t(out.commands.size());
      out.commands.push_back(commands[position]);
    }
  }
  for (uint32_t i = 0; i < commands.size(); ++i)
    if (CommandKind(commands[i].kind) == CommandKind::Loop)
      out.commands[newCommand[i]].c = newCommand[i + commands[i].c] - newCommand[i];
  for (uint32_t index : order) {
    InstructionRecord record = instructions[index].record;
    bool ownsA = Opcode(record.opcode) == Opcode::Symbol || Opcode(record.opcode) == Opcode::Load;
    if (!ownsA)
      rename(record.a);
    rename(record.b);
    rename(record.c);
    out.instructions.push_back(record);
  }
}

namespace {
/// Live intervals of transient buffers from the commands that touch them. One that is touched inside and outside of a
/// loop lives through all its turns.
class BufferTouches {
public:
  explicit BufferTouches(std::vector<BufferRecord> &buffers) : buffers(buffers), touched(buffers.size()) {}

  void add(uint32_t index, uint32_t command) {
    BufferRecord &record = buffers[index];
    if (BufferKind(record.kind) != BufferKind::Transient)
      return;
    record.firstCommand = touched[index] ? std::min(record.firstCommand, command) : command;
    record.lastCommand = touched[index] ? std::max(record.lastCommand, command) : command;
    touched[index] = true;
  }

  /// The loop at command `first` has its body up to command `last`.
  void addLoop(uint32_t first, uint32_t last) { loops.push_back({first, last}); }

  void finish() {
    // Inner loops come after their outer ones, whose bounds an interval may only reach by them.
    for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop)
      for (uint32_t i = 0; i < buffers.size(); ++i) {
        BufferRecord &record = buffers[i];
        bool meets = touched[i] && record.firstCommand <= loop->second && record.lastCommand >= loop->first;
        bool isInside = record.firstCommand > loop->first && record.lastCommand <= loop->second;
        if (!meets || isInside)
          continue;
        record.firstCommand = std::min(record.firstCommand, loop->first);
        record.lastCommand = std::max(record.lastCommand, loop->second);
      }
  }

private:
  std::vector<BufferRecord> &buffers;
  std::vector<bool> touched;
  std::vector<std::pair<uint32_t, uint32_t>> loops;
};
} // namespace

EntryBuilder::Finished EntryBuilder::finish() const {
  Finished out;
  std::vector<uint32_t> newRegister, newCommand;
  finishRegisters(out, newRegister, newCommand);
  auto rename = [&](uint32_t &reg) { reg = reg == kNone ? kNone : newRegister[reg]; };

  for (const Buffer &buffer : buffers) {
    BufferRecord record = buffer.record;
    record.firstExtent = uint32_t(out.extents.size());
    rename(record.sizeRegister);
    for (Reg extent : buffer.extents)
      out.extents.push_back(newRegister[extent.value]);
    out.buffers.push_back(record);
  }
  BufferTouches touches(out.buffers);
  std::deque<std::pair<uint32_t, uint32_t>> beside; // Source and destination of collectives that are under way.

  out.arguments = arguments;
  out.scalars = scalars;
  for (uint32_t index = 0; index < out.commands.size(); ++index) {
    CommandRecord &command = out.commands[index];
    if (CommandKind(command.kind) == CommandKind::Eval) {
      for (uint32_t i = command.a; i < command.a + command.b; ++i)
        if (Opcode(out.instructions[i].opcode) == Opcode::Load)
          touches.add(out.instructions[i].a, index);
    } else if (CommandKind(command.kind) == CommandKind::Loop) {
      rename(command.a);
      if (command.b != kNone)
        touches.add(command.b, index);
      touches.addLoop(index, index + command.c);
    } else if (CommandKind(command.kind) == CommandKind::Collective) {
      touches.add(command.a, index);
      touches.add(command.c, index);
      rename(command.b);
    } else if (CommandKind(command.kind) == CommandKind::CollectiveBeside) {
      touches.add(command.a, index);
      touches.add(command.c, index);
      rename(command.b);
      rename(command.g);
      beside.emplace_back(command.a, command.c);
    } else if (CommandKind(command.kind) == CommandKind::Await) {
      for (; beside.size() > command.a; beside.pop_front()) {
        touches.add(beside.front().first, index);
        touches.add(beside.front().second, index);
      }
    } else if (CommandKind(command.kind) == CommandKind::Copy) {
      touches.add(command.a, index);
      touches.add(command.c, index);
      rename(command.b);
      rename(command.d);
      rename(command.e);
    } else {
      for (uint32_t i = command.c; i < command.c + command.d; ++i)
        touches.add(arguments[i].buffer, index);
      rename(command.b);
      rename(command.g);
    }
  }
  touches.finish();
  for (ArgumentRecord &argument : out.arguments)
    rename(argument.offsetRegister);
  for (uint32_t &scalar : out.scalars)
    rename(scalar);
  return out;
}

bool EntryBuilder::getPlanRequests(const std::vector<int64_t> &symbolValues, std::vector<PlanRequest> &requests) const {
  requests.clear();
  if (symbolValues.size() != symbols.size())
    return false;
  Finished finished = finish();
  std::vector<int64_t> registers(finished.instructions.size());
  ShapeEnvironment environment{symbolValues.data(), {}, [](uint32_t) { return std::string_view(); }};
  if (evaluateShapes(finished.instructions.data(), 0, uint32_t(registers.size()), environment, registers.data()))
    return false;
  for (const BufferRecord &buffer : finished.buffers)
    if (BufferKind(buffer.kind) == BufferKind::Transient)
      requests.push_back({registers[buffer.sizeRegister], buffer.firstCommand, buffer.lastCommand});
  return true;
}

// Checks of one entry.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shape program, ports, buffers and launch program of one entry function. One walk over the launch program proves that
// every register is defined before it is used and that every transient buffer is touched only while it is alive and its
// size is known.
#include "Validate.h"
#include "weft/Bundle/DType.h"

#include <algorithm>
#include <cinttypes>
#include <deque>
#include <vector>

using namespace weft::bundle;

EntryView weft::bundle::getEntry(const Tables &tables, uint32_t index) {
  const EntryRecord &entry = tables.entries[index];
  EntryView view;
  view.record = &entry;
  view.symbols = tables.symbols.slice(entry.firstSymbol, entry.symbolCount);
  view.inputs = tables.ports.slice(entry.firstInput, entry.inputCount);
  view.outputs = tables.ports.slice(entry.firstOutput, entry.outputCount);
  view.instructions = tables.instructions.slice(entry.firstInstruction, entry.instructionCount);
  view.buffers = tables.buffers.slice(entry.firstBuffer, entry.bufferCount);
  view.commands = tables.commands.slice(entry.firstCommand, entry.commandCount);
  return view;
}

namespace {
class EntryValidator {
public:
  EntryValidator(const Tables &tables, const EntryView &entry, EntryCursors &cursors)
      : tables(tables), entry(entry), cursors(cursors) {}

  Error run() {
    if (Error error = checkSymbols())
      return error;
    if (Error error = checkInstructions())
      return error;
    if (Error error = checkBuffers())
      return error;
    if (Error error = checkPorts(entry.inputs, BufferKind::Input, "input"))
      return error;
    if (Error error = checkPorts(entry.outputs, BufferKind::Output, "output"))
      return error;
    if (Error error = checkAllPorts())
      return error;
    if (Error error = checkCommands())
      return error;
    return checkBinding();
  }

private:
  Error checkSymbols();
  Error checkInstructions();
  Error checkInstruction(uint32_t index);
  Error checkBuffers();
  Error checkBuffer(const BufferRecord &buffer);
  Error checkPorts(Table<PortRecord> ports, BufferKind kind, const char *what);
  Error checkAllPorts();
  Error checkCommands();
  Error checkLoad(uint32_t reg, uint32_t command) const;
  Error checkEval(const CommandRecord &command, uint32_t index);
  Error checkDispatch(const CommandRecord &command, uint32_t index);
  Error checkCopy(const CommandRecord &command, uint32_t index);
  Error checkLoop(const CommandRecord &command, uint32_t index);
  Error checkCollective(const CommandRecord &command, uint32_t index);
  Error checkAwait(const CommandRecord &command, uint32_t index);
  Error checkNoneBeside(const char *where) const;
  Error checkOutputs() const;
  Error checkOperands(uint32_t reg, uint32_t firstOfEval) const;
  Error checkBinding();
  Error checkRegister(uint32_t reg, const char *what) const;
  /// `isBeside`: a collective writes there in the order of those under way.
  Error checkUse(uint32_t buffer, uint32_t command, bool writes, bool isBeside = false) const;
  Error checkAlive(uint32_t buffer, uint32_t command) const;

  const Tables &tables;
  const EntryView &entry;
  EntryCursors &cursors;
  /// A loop around the command being checked; number 0 is the program.
  struct OpenLoop {
    uint32_t number, end; ///< `end`: the first command behind its body.
  };

  std::vector<bool> hasPort;
  std::vector<OpenLoop> openLoops;
  std::vector<uint32_t> loopOf; ///< Number of the innermost loop around a register's Eval.
  uint32_t loops = 0;
  uint32_t defined = 0;        ///< Registers that have been evaluated at the command being checked.
  uint32_t definedAtStart = 0; ///< Registers of the first Eval.
  struct Beside {
    uint32_t source, destination;
  };
  std::deque<Beside> beside; ///< Collectives that are under way.
};
} // namespace

Error EntryValidator::checkSymbols() {
  for (uint32_t i = 0; i < entry.symbols.size; ++i) {
    const SymbolRecord &symbol = entry.symbols[i];
    if (symbol.name >= tables.strings.size)
      return invalid("symbol %u: string %u does not exist", i, symbol.name);
    if (symbol.min < 0 || symbol.max < symbol.min || symbol.reserved)
      return invalid("symbol %u: expected 0 <= min <= max, got [%" PRId64 ", %" PRId64 "]", i, symbol.min, symbol.max);
  }
  return {};
}

Error EntryValidator::checkInstruction(uint32_t index) {
  const InstructionRecord &instruction = entry.instructions[index];
  bool usesA = false, usesB = false, usesC = false, usesImm = false;
  switch (Opcode(instruction.opcode)) {
  case Opcode::Constant:
    usesImm = true;
    break;
  case Opcode::Turn:
  case Opcode::Rank:
    break;
  case Opcode::Symbol:
    if (instruction.a >= entry.symbols.size)
      return invalid("symbol %u does not exist", instruction.a);
    break;
  case Opcode::Load:
    if (instruction.a >= entry.buffers.size)
      return invalid("buffer %u does not exist", instruction.a);
    if (!isLoadable(DType(entry.buffers[instruction.a].dtype)))
      return invalid("cannot load from a buffer of %s", getName(DType(entry.buffers[instruction.a].dtype)));
    usesB = true;
    break;
  case Opcode::AssertRange:
    usesC = true;
    [[fallthrough]];
  case Opcode::AssertEqual:
    usesA = usesB = usesImm = true;
    if (instruction.imm < 0 || instruction.imm >= int64_t(tables.strings.size))
      return invalid("message string %" PRId64 " does not exist", instruction.imm);
    break;
  case Opcode::Add:
  case Opcode::Sub:
  case Opcode::Mul:
  case Opcode::FloorDiv:
  case Opcode::CeilDiv:
  case Opcode::Mod:
  case Opcode::Min:
  case Opcode::Max:
    usesA = usesB = true;
    break;
  default:
    return invalid("unknown opcode %u", instruction.opcode);
  }
  bool namesA = usesA || Opcode(instruction.opcode) == Opcode::Symbol || Opcode(instruction.opcode) == Opcode::Load;
  if ((!namesA && instruction.a != kNone) || (!usesB && instruction.b != kNone) || (!usesC && instruction.c != kNone) ||
      (!usesImm && instruction.imm) || instruction.reserved)
    return invalid("unused operands are set");
  const std::pair<bool, uint32_t> operands[] = {{usesA, instruction.a}, {usesB, instruction.b}, {usesC, instruction.c}};
  for (auto [used, operand] : operands)
    if (used && operand >= index)
      return invalid("operand register %u is not defined before it", operand);
  return {};
}

Error EntryValidator::checkInstructions() {
  for (uint32_t i = 0; i < entry.instructions.size; ++i)
    if (Error error = checkInstruction(i))
      return std::move(error).within("register " + std::to_string(i));
  return {};
}

Error EntryValidator::checkBuffer(const BufferRecord &buffer) {
  auto kind = BufferKind(buffer.kind);
  if (kind < BufferKind::Input || kind > BufferKind::Transient)
    return invalid("unknown kind %u", buffer.kind);
  if (!getBits(DType(buffer.dtype)))
    return invalid("unknown dtype code %u", buffer.dtype);
  if (buffer.rank > kMaxRank)
    return invalid("expected rank at most %u, got %u", kMaxRank, buffer.rank);
  if (Error error = checkRange("Extents", buffer.firstExtent, buffer.rank, tables.extents.size, cursors.extents))
    return error;
  for (uint32_t extent : tables.extents.slice(buffer.firstExtent, buffer.rank))
    if (extent >= entry.instructions.size)
      return invalid("extent register %u does not exist", extent);
    else if (const InstructionRecord &record = entry.instructions[extent];
             Opcode(record.opcode) == Opcode::Constant && record.imm < 0)
      return invalid("expected extents of at least 0, got %" PRId64, record.imm);
  if (buffer.sizeRegister >= entry.instructions.size)
    return invalid("size register %u does not exist", buffer.sizeRegister);
  uint32_t sources = kind == BufferKind::Weight     ? tables.weights.size
                     : kind == BufferKind::Constant ? tables.constants.size
                                                    : 0;
  if (sources || kind == BufferKind::Weight || kind == BufferKind::Constant) {
    if (buffer.source >= sources)
      return invalid("%s %u does not exist", kind == BufferKind::Weight ? "weight" : "constant", buffer.source);
  } else if (buffer.source != kNone) {
    return invalid("a source is set for a buffer without data");
  }
  bool isTransient = kind == BufferKind::Transient;
  if (!isTransient && (buffer.firstCommand || buffer.lastCommand))
    return invalid("a live interval is set for a buffer that is always alive");
  if (isTransient &&
      (buffer.firstCommand > buffer.lastCommand || buffer.lastCommand >= std::max(entry.commands.size, 1u)))
    return invalid("live interval [%u, %u] does not lie in the %u commands", buffer.firstCommand, buffer.lastCommand,
                   entry.commands.size);
  return {};
}

Error EntryValidator::checkBuffers() {
  if (entry.buffers.size > kMaxBuffers)
    return invalid("expected at most %u buffers, got %u", kMaxBuffers, entry.buffers.size);
  for (uint32_t i = 0; i < entry.buffers.size; ++i)
    if (Error error = checkBuffer(entry.buffers[i]))
      return std::move(error).within("buffer " + std::to_string(i));
  return {};
}

Error EntryValidator::checkPorts(Table<PortRecord> ports, BufferKind kind, const char *what) {
  hasPort.resize(entry.buffers.size);
  for (uint32_t i = 0; i < ports.size; ++i) {
    if (ports[i].name >= tables.strings.size)
      return invalid("%s %u: string %u does not exist", what, i, ports[i].name);
    uint32_t buffer = ports[i].buffer;
    if (buffer >= entry.buffers.size || BufferKind(entry.buffers[buffer].kind) != kind)
      return invalid("%s %u: buffer %u is not an %s buffer", what, i, buffer, what);
    if (hasPort[buffer])
      return invalid("%s %u: buffer %u has another %s", what, i, buffer, what);
    hasPort[buffer] = true;
  }
  return {};
}

Error EntryValidator::checkAllPorts() {
  for (uint32_t i = 0; i < entry.buffers.size; ++i) {
    auto kind = BufferKind(entry.buffers[i].kind);
    if ((kind == BufferKind::Input || kind == BufferKind::Output) && !hasPort[i])
      return invalid("buffer %u: an %s buffer needs a name among the entry's %ss", i,
                     kind == BufferKind::Input ? "input" : "output", kind == BufferKind::Input ? "input" : "output");
  }
  return {};
}

Error EntryValidator::checkRegister(uint32_t reg, const char *what) const {
  if (reg >= defined)
    return invalid("%s register %u is not defined at this command (%u are)", what, reg, defined);
  bool isOpen = loopOf[reg] == 0;
  for (const OpenLoop &loop : openLoops)
    isOpen |= loop.number == loopOf[reg];
  return isOpen ? Error() : invalid("%s register %u is defined in a loop that has ended", what, reg);
}

/// What an instruction reads from earlier Evals.
Error EntryValidator::checkOperands(uint32_t reg, uint32_t firstOfEval) const {
  const InstructionRecord &instruction = entry.instructions[reg];
  auto opcode = Opcode(instruction.opcode);
  if (opcode == Opcode::Turn && openLoops.empty())
    return invalid("a turn is read outside of any loop");
  uint32_t first = opcode == Opcode::Symbol || opcode == Opcode::Load ? kNone : instruction.a;
  for (uint32_t operand : {first, instruction.b, instruction.c})
    if (operand < firstOfEval)
      if (Error error = checkRegister(operand, "operand"))
        return error;
  return {};
}

Error EntryValidator::checkAlive(uint32_t index, uint32_t command) const {
  const BufferRecord &buffer = entry.buffers[index];
  if (BufferKind(buffer.kind) == BufferKind::Transient &&
      (command < buffer.firstCommand || command > buffer.lastCommand))
    return invalid("buffer %u is used outside of its live interval [%u, %u]", index, buffer.firstCommand,
                   buffer.lastCommand);
  return {};
}

Error EntryValidator::checkUse(uint32_t index, uint32_t command, bool writes, bool isBeside) const {
  if (index >= entry.buffers.size)
    return invalid("buffer %u does not exist", index);
  const BufferRecord &buffer = entry.buffers[index];
  auto kind = BufferKind(buffer.kind);
  if (writes && kind != BufferKind::Output && kind != BufferKind::Transient)
    return invalid("buffer %u is read-only and is written", index);
  if (Error error = checkAlive(index, command))
    return error;
  for (const Beside &each : beside)
    if ((each.destination == index && !isBeside) || (each.source == index && writes))
      return invalid("buffer %u is used before the collective beside it is awaited", index);
  if (Error error = checkRegister(buffer.sizeRegister, "size"))
    return std::move(error).within("buffer " + std::to_string(index));
  return {};
}

/// Memory that commands write must have been sized by an earlier command; read-only memory exists from the start.
Error EntryValidator::checkLoad(uint32_t reg, uint32_t command) const {
  uint32_t index = entry.instructions[reg].a;
  const BufferRecord &buffer = entry.buffers[index];
  auto kind = BufferKind(buffer.kind);
  bool isWritten = kind == BufferKind::Output || kind == BufferKind::Transient;
  if (isWritten)
    return checkUse(index, command, /*writes=*/false);
  if (buffer.sizeRegister >= reg)
    return invalid("size register %u of buffer %u is not defined before the load", buffer.sizeRegister, index);
  return {};
}

Error EntryValidator::checkEval(const CommandRecord &command, uint32_t index) {
  if (command.a != defined || command.b == 0 || command.b > entry.instructions.size - defined)
    return invalid("expected registers from %u on, at least one and at most %u, got [%u, +%u)", defined,
                   entry.instructions.size - defined, command.a, command.b);
  if (command.inputs || command.c || command.d || command.e || command.f || command.g)
    return invalid("unused operands are set");
  for (uint32_t i = command.a; i < command.a + command.b; ++i) {
    loopOf[i] = openLoops.empty() ? 0 : openLoops.back().number;
    Error error = checkOperands(i, command.a);
    if (!error && Opcode(entry.instructions[i].opcode) == Opcode::Load)
      error = checkLoad(i, index);
    if (error)
      return std::move(error).within("register " + std::to_string(i));
  }
  defined += command.b;
  if (index == 0)
    definedAtStart = defined;
  return {};
}

Error EntryValidator::checkDispatch(const CommandRecord &command, uint32_t index) {
  if (command.a >= tables.kernels.size)
    return invalid("kernel %u does not exist", command.a);
  if (Error error = checkRegister(command.b, "grid"))
    return error;
  if (command.d > kMaxArguments || command.f > kMaxScalars)
    return invalid("expected at most %u arguments and %u scalars, got %u and %u", kMaxArguments, kMaxScalars, command.d,
                   command.f);
  if (Error error = checkRange("Arguments", command.c, command.d, tables.arguments.size, cursors.arguments))
    return error;
  if (Error error = checkRange("Scalars", command.e, command.f, tables.scalars.size, cursors.scalars))
    return error;
  if (command.inputs > command.d)
    return invalid("%u of %u arguments cannot be inputs", command.inputs, command.d);
  for (uint32_t i = 0; i < command.d; ++i) {
    const ArgumentRecord &argument = tables.arguments[command.c + i];
    std::string where = "argument " + std::to_string(i);
    if (Error error = checkUse(argument.buffer, index, i >= command.inputs))
      return std::move(error).within(where);
    if (argument.offsetRegister != kNone)
      if (Error error = checkRegister(argument.offsetRegister, "offset"))
        return std::move(error).within(where);
  }
  for (uint32_t scalar : tables.scalars.slice(command.e, command.f))
    if (Error error = checkRegister(scalar, "scalar"))
      return error;
  return command.g == kNone ? Error() : checkRegister(command.g, "scratch");
}

Error EntryValidator::checkCopy(const CommandRecord &command, uint32_t index) {
  if (command.inputs || command.f || command.g)
    return invalid("unused operands are set");
  if (Error error = checkUse(command.a, index, /*writes=*/false))
    return error;
  if (Error error = checkUse(command.c, index, /*writes=*/true))
    return error;
  for (uint32_t reg : {command.b, command.d, command.e})
    if (Error error = checkRegister(reg, "copy"))
      return error;
  return {};
}

Error EntryValidator::checkLoop(const CommandRecord &command, uint32_t index) {
  if (command.inputs || command.e || command.f || command.g)
    return invalid("unused operands are set");
  if (Error error = checkRegister(command.a, "trip count"))
    return error;
  if (Error error = checkNoneBeside("a loop"))
    return error;
  uint32_t end = openLoops.empty() ? entry.commands.size : openLoops.back().end;
  if (command.c == 0 || command.c > end - index - 1)
    return invalid("expected a body of 1 to %u commands, got %u", end - index - 1, command.c);
  if (openLoops.size() == kMaxLoopDepth)
    return invalid("expected loops nested at most %u deep", kMaxLoopDepth);
  if (command.d != kNone && command.d >= tables.strings.size)
    return invalid("message string %u does not exist", command.d);
  if (command.b != kNone) {
    if (Error error = checkUse(command.b, index, /*writes=*/false))
      return error;
    if (DType(entry.buffers[command.b].dtype) != DType::I1)
      return invalid("expected a condition of i1, got buffer %u of %s", command.b,
                     getName(DType(entry.buffers[command.b].dtype)));
  }
  openLoops.push_back({++loops, index + 1 + command.c});
  return {};
}

/// All ranks are to agree on what they do, so all of it is in the file but for the bytes.
Error EntryValidator::checkCollective(const CommandRecord &command, uint32_t index) {
  bool isBeside = CommandKind(command.kind) == CommandKind::CollectiveBeside;
  auto kind = CollectiveKind(command.inputs);
  bool combines = kind == CollectiveKind::AllReduce || kind == CollectiveKind::ReduceScatter;
  if (kind < CollectiveKind::AllReduce || kind > CollectiveKind::AllToAll)
    return invalid("unknown collective %u", command.inputs);
  if (!isBeside && command.g)
    return invalid("unused operands are set");
  if (isBeside && beside.size() == kMaxBeside)
    return invalid("expected at most %u collectives under way", kMaxBeside);
  if (isBeside && command.g != kNone)
    if (Error error = checkRegister(command.g, "offset"))
      return error;
  if (!isBeside)
    if (Error error = checkNoneBeside("a collective"))
      return error;
  if (command.f < 2 || command.f > kMaxRanks)
    return invalid("expected 2 to %u ranks, got %u", kMaxRanks, command.f);
  if (command.d > uint32_t(Reduction::Min) || combines != (command.d != uint32_t(Reduction::None)))
    return invalid("expected a reduction of those that combine, got %u", command.d);
  if (command.e >= tables.strings.size)
    return invalid("string %u does not exist", command.e);
  if (Error error = checkUse(command.a, index, /*writes=*/false))
    return error;
  if (Error error = checkUse(command.c, index, /*writes=*/true, isBeside))
    return error;
  auto type = DType(entry.buffers[command.a].dtype);
  if (command.a == command.c || entry.buffers[command.c].dtype != entry.buffers[command.a].dtype || getBits(type) < 8 ||
      (combines && !isReducible(type)))
    return invalid("expected two buffers of one element type of whole bytes, with arithmetic if they combine, got %s",
                   getName(type));
  if (isBeside)
    beside.push_back({command.a, command.c});
  return checkRegister(command.b, "collective");
}

Error EntryValidator::checkAwait(const CommandRecord &command, uint32_t index) {
  if (command.inputs || command.b || command.c || command.d || command.e || command.f || command.g)
    return invalid("unused operands are set");
  if (command.a >= beside.size())
    return invalid("expected fewer than the %zu collectives under way to be left, got %u", beside.size(), command.a);
  for (; beside.size() > command.a; beside.pop_front())
    for (uint32_t buffer : {beside.front().source, beside.front().destination})
      if (Error error = checkAlive(buffer, index))
        return error;
  return {};
}

Error EntryValidator::checkNoneBeside(const char *where) const {
  return beside.empty() ? Error() : invalid("expected no collective under way at %s, got %zu", where, beside.size());
}

/// Extents of outputs are read at the end of the run.
Error EntryValidator::checkOutputs() const {
  for (const PortRecord &port : entry.outputs) {
    const BufferRecord &buffer = entry.buffers[port.buffer];
    if (Error error = checkRegister(buffer.sizeRegister, "size"))
      return error;
    for (uint32_t extent : tables.extents.slice(buffer.firstExtent, buffer.rank))
      if (Error error = checkRegister(extent, "extent"))
        return error;
  }
  return {};
}

Error EntryValidator::checkCommands() {
  loopOf.resize(entry.instructions.size);
  for (uint32_t i = 0; i < entry.commands.size; ++i) {
    Error error;
    for (; !openLoops.empty() && openLoops.back().end == i && !error; openLoops.pop_back())
      error = checkNoneBeside("the end of a loop");
    if (error)
      return std::move(error).within("command " + std::to_string(i));
    const CommandRecord &command = entry.commands[i];
    switch (CommandKind(command.kind)) {
    case CommandKind::Eval:
      error = checkEval(command, i);
      break;
    case CommandKind::Dispatch:
      error = checkDispatch(command, i);
      break;
    case CommandKind::Copy:
      error = checkCopy(command, i);
      break;
    case CommandKind::Loop:
      error = checkLoop(command, i);
      break;
    case CommandKind::Await:
      error = checkAwait(command, i);
      break;
    case CommandKind::Collective:
    case CommandKind::CollectiveBeside:
      error = checkCollective(command, i);
      break;
    default:
      error = invalid("unknown kind %u", command.kind);
    }
    if (error)
      return std::move(error).within("command " + std::to_string(i));
  }
  if (defined != entry.instructions.size)
    return invalid("%u of %u registers are never evaluated", entry.instructions.size - defined,
                   entry.instructions.size);
  openLoops.clear();
  if (Error error = checkNoneBeside("the end of the program"))
    return error;
  return checkOutputs();
}

/// Every symbol that is read must be the extent of an input dimension, and input extents must be known before anything
/// runs.
Error EntryValidator::checkBinding() {
  std::vector<bool> bound(entry.symbols.size);
  for (uint32_t i = 0; i < entry.inputs.size; ++i) {
    const BufferRecord &buffer = entry.buffers[entry.inputs[i].buffer];
    for (uint32_t extent : tables.extents.slice(buffer.firstExtent, buffer.rank)) {
      if (extent >= definedAtStart)
        return invalid("input %u: extent register %u is not defined by the first command", i, extent);
      if (Opcode(entry.instructions[extent].opcode) == Opcode::Symbol)
        bound[entry.instructions[extent].a] = true;
    }
    if (buffer.sizeRegister >= definedAtStart)
      return invalid("input %u: size register %u is not defined by the first command", i, buffer.sizeRegister);
  }
  for (const InstructionRecord &instruction : entry.instructions)
    if (Opcode(instruction.opcode) == Opcode::Symbol && !bound[instruction.a])
      return invalid("symbol %s is the extent of no input dimension, so nothing can bind it",
                     quote(tables.getString(entry.symbols[instruction.a].name)).c_str());
  return {};
}

Error weft::bundle::validateEntry(const Tables &tables, uint32_t index, EntryCursors &cursors) {
  const EntryRecord &entry = tables.entries[index];
  struct {
    const char *table;
    uint32_t first, count, size;
    uint32_t &next;
  } ranges[] = {
      {"Symbols", entry.firstSymbol, entry.symbolCount, tables.symbols.size, cursors.symbols},
      {"Ports", entry.firstInput, entry.inputCount, tables.ports.size, cursors.ports},
      {"Ports", entry.firstOutput, entry.outputCount, tables.ports.size, cursors.ports},
      {"Instructions", entry.firstInstruction, entry.instructionCount, tables.instructions.size, cursors.instructions},
      {"Buffers", entry.firstBuffer, entry.bufferCount, tables.buffers.size, cursors.buffers},
      {"Commands", entry.firstCommand, entry.commandCount, tables.commands.size, cursors.commands},
  };
  for (auto &range : ranges)
    if (Error error = checkRange(range.table, range.first, range.count, range.size, range.next))
      return error;
  if (entry.reserved)
    return invalid("reserved field is not zero");
  return EntryValidator(tables, getEntry(tables, index), cursors).run();
}

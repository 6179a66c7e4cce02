// The launch program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One run of a session. The reader has proved that registers are defined before use and that buffers are alive; what
// depends on the values of registers (sizes, offsets, grids) is checked here.
#include "Session.h"

#include "weft/Bundle/DType.h"
#include "weft/Bundle/ShapeProgram.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

using namespace weft;
using namespace weft::bundle;

alignas(kBufferAlignment) uint8_t Session::emptyBuffer[kBufferAlignment];

Error Session::run(const weft_tensor *inputTensors, size_t inputCount, weft_tensor *outputTensors, size_t outputCount,
                   std::optional<void *> stream) {
  std::lock_guard<std::mutex> lock(mutex);
  if (inputCount != inputs.size() || outputCount != outputs.size())
    return makeError(ErrorCode::Usage, "expected %zu inputs and %zu outputs, got %zu and %zu", inputs.size(),
                     outputs.size(), inputCount, outputCount);
  if ((inputCount && !inputTensors) || (outputCount && !outputTensors))
    return Error(ErrorCode::Usage, "the array of tensors is null");
  uint64_t begin = nowNs();
  Timeline::Range range(timeline, getTables().getText(entry.record->name));
  timeline.clear();
  if (Error error = device->beginRun(stream))
    return error;
  usesHostMemory = false;
  Error error = runOnce(inputTensors, outputTensors);
  if (error && communicator) // The other ranks wait for this one.
    communicator->abort(error.getMessage());
  if (!stream || usesHostMemory) { // Also after a failure: what was started uses the caller's memory.
    Error waiting = communicator && !error ? communicator->wait(*device) : device->synchronise();
    if (!error)
      error = std::move(waiting);
  }
  if (error.getCode() == ErrorCode::Resource)
    dropMemory();
  device->endRun();
  if (error)
    return error;
  ++statistics.runs;
  statistics.last_run_ns = nowNs() - begin;
  note(WEFT_EVENT_RUN, -1, 0, begin, statistics.last_run_ns);
  return {};
}

Error Session::runOnce(const weft_tensor *inputTensors, weft_tensor *outputTensors) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputStates[i].given = outputTensors[i];
    outputStates[i].isTakeable = false;
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    inputStates[i].given = inputTensors[i];
  if (Error error = checkOverlaps())
    return error;
  if (Error error = bindInputs(inputTensors))
    return error;
  if (Error error = execute())
    return error;
  for (uint32_t i = 0; i < outputs.size(); ++i)
    if (Error error = finishOutput(i, outputTensors[i]))
      return error;
  return {};
}

/// After a run that lacked memory: what it had grown must not stand in the way of a smaller one.
void Session::dropMemory() {
  for (Segment &segment : segments)
    segment.memory.release();
  for (std::vector<PortState> *states : {&inputStates, &outputStates})
    for (PortState &state : *states) {
      state.memory.release();
      state.isTakeable = false;
    }
}

Error Session::execute() {
  statistics.arena_bytes = statistics.unshared_bytes = 0;
  hasLaunched = false;
  isOverwritten.assign(inputOfOutput.empty() ? 0 : entry.buffers.size, false);
  turnsLeft = turnLimit;
  if (isForeseeable)
    if (Error error = evaluate(entry.commands[0], segments[0]))
      return error;
  if (Error error = beginCollectives())
    return error;
  if (isRecordable && isBranching() && replay({registers, addresses}))
    return {};
  return startCommands(isForeseeable, entry.commands.size, /*isRecorded=*/false);
}

/// Whether no loop of this run has more than one turn: recordings hold each command once.
bool Session::isBranching() const {
  return std::none_of(entry.commands.begin(), entry.commands.end(), [&](const CommandRecord &command) {
    return CommandKind(command.kind) == CommandKind::Loop && registers[command.a] > 1;
  });
}

/// The commands [first, end); a number above 0 leaves the first evaluation out. Recorded commands do not count as run.
Error Session::startCommands(uint32_t first, uint32_t end, bool isRecorded) {
  for (uint32_t i = first; i < end; ++i) {
    if (Error error = startCommand(i, isRecorded))
      return error;
    if (CommandKind(entry.commands[i].kind) == CommandKind::Loop)
      i += entry.commands[i].c;
  }
  return {};
}

Error Session::startCommand(uint32_t index, bool isRecorded) {
  const CommandRecord &command = entry.commands[index];
  switch (CommandKind(command.kind)) {
  case CommandKind::Eval:
    return evaluate(command, segments[placeOfCommand[index]]);
  case CommandKind::Dispatch: {
    DispatchState &state = dispatches[placeOfCommand[index]];
    if (Error error = dispatch(command, state))
      return error;
    if (!isRecorded)
      countDispatch(command, state);
    return {};
  }
  case CommandKind::Copy:
    return copy(command);
  case CommandKind::Collective:
  case CommandKind::CollectiveBeside:
    return collective(command);
  case CommandKind::Await:
    hasLaunched = false; // What follows may not begin before another stream's work has ended.
    return communicator->await(command.a, *device);
  case CommandKind::Loop:
    return runLoop(index, isRecorded);
  }
  return {};
}

static Error refuseTurns(int64_t limit) {
  return makeError(ErrorCode::Resource, "expected at most %" PRId64 " turns of loops in a run (turn_limit), got more",
                   limit);
}

/// All turns of the loop at command `index`. A condition is fetched from the device before each.
Error Session::runLoop(uint32_t index, bool isRecorded) {
  const CommandRecord &command = entry.commands[index];
  int64_t turns = registers[command.a], outer = turn;
  if (command.b == kNone && turns > turnsLeft) // known before the first turn
    return refuseTurns(turnLimit);
  int64_t holds = 1;
  for (turn = 0; holds; ++turn) {
    if (command.b != kNone)
      if (Error error = load(command.b, 0, holds))
        return error;
    if (holds && turn >= turns) {
      if (command.d != kNone)
        return makeError(ErrorCode::Resource, "%s, got one that goes on after %" PRId64 " turns",
                         std::string(getTables().getString(command.d)).c_str(), turn);
      break;
    }
    if (holds && turnsLeft-- == 0)
      return refuseTurns(turnLimit);
    if (holds)
      if (Error error = startCommands(index + 1, index + 1 + command.c, isRecorded))
        return error;
  }
  turn = outer;
  return {};
}

//===--------------------------------------------------------------------------------------------------------------===//
// Recorded runs
//===--------------------------------------------------------------------------------------------------------------===//

void Session::countDispatch(const CommandRecord &command, DispatchState &state) {
  state.lastGrid = registers[command.b];
  ++state.runs;
  statistics.dispatches += state.lastGrid > 0;
}

void Session::countReplay() {
  for (uint32_t i = 0; i < entry.commands.size; ++i) {
    const CommandRecord &command = entry.commands[i];
    if (CommandKind(command.kind) == CommandKind::Dispatch)
      countDispatch(command, dispatches[placeOfCommand[i]]);
    else if (CommandKind(command.kind) == CommandKind::Loop && registers[command.a] < 1)
      i += command.c; // Not taken.
  }
  ++statistics.graphs_run;
}

Error Session::record(const RecordedRuns::Key &key) {
  if (Error error = device->beginRecording())
    return error;
  hasLaunched = false;
  isOverwritten.assign(isOverwritten.size(), false);
  turnsLeft = turnLimit;
  Error error = startCommands(1, entry.commands.size, /*isRecorded=*/true);
  Error ending = device->endRecording(recordings.add(key));
  if (!error && !ending)
    ++statistics.graphs_made;
  return error ? std::move(error) : std::move(ending);
}

/// Replays this run if it was recorded, or records and starts it if it comes again; false if its commands are to be
/// started one by one. What cannot be recorded or replayed is so from then on: the cause stays, and each attempt costs.
bool Session::replay(const RecordedRuns::Key &key) {
  const Recording *recording = recordings.find(key);
  if (!recording && !recordings.comesAgain(key))
    return false;
  bool failed = false;
  if (!recording) {
    failed = bool(record(key));
    recording = failed ? nullptr : recordings.find(key);
  }
  if (recording && !device->replay(*recording)) {
    countReplay();
    return true;
  }
  ++statistics.graphs_refused;
  isRecordable = false;
  recordings.clear();
  return false;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Shapes and memory
//===--------------------------------------------------------------------------------------------------------------===//

Error Session::evaluate(const CommandRecord &command, Segment &segment) {
  uint64_t begin = timeline.keepsEvents() ? nowNs() : 0;
  ShapeEnvironment environment;
  environment.symbols = symbolValues.data();
  environment.load = [this](uint32_t buffer, int64_t index, int64_t &value) { return load(buffer, index, value); };
  environment.turn = turn;
  environment.rank = rank;
  environment.message = [this](uint32_t string) { return getTables().getString(string); };
  if (Error error = evaluateShapes(entry.instructions.data, command.a, command.b, environment, registers.data()))
    return error;
  if (command.a == 0)
    if (Error error = checkDerivedExtents())
      return error;
  if (Error error = checkExtents(segment))
    return error;
  for (uint32_t buffer : segment.buffers)
    if (Error error = sizeBuffer(buffer))
      return error;
  Error error = placeTransients(segment);
  note(WEFT_EVENT_SHAPES, -1, 0, begin, timeline.keepsEvents() ? nowNs() - begin : 0);
  return error;
}

/// Two negative extents multiply to a size that looks right.
Error Session::checkExtents(const Segment &segment) const {
  for (uint32_t reg : segment.extents)
    if (registers[reg] < 0)
      return makeError(ErrorCode::Input, "expected extents of at least 0, got %" PRId64 " in register %u",
                       registers[reg], reg);
  return {};
}

/// Checks or sets the size of a buffer that is not transient, and gives outputs their memory.
Error Session::sizeBuffer(uint32_t index) {
  const BufferRecord &buffer = entry.buffers[index];
  int64_t bytes = registers[buffer.sizeRegister];
  if (bytes < 0)
    return makeError(ErrorCode::Input, "buffer %u: negative size %" PRId64, index, bytes);
  switch (BufferKind(buffer.kind)) {
  case BufferKind::Input:
    if (bytes != sizes[index])
      return makeError(ErrorCode::Input, "buffer %u: expected %" PRId64 " bytes, got an input of %" PRId64, index,
                       bytes, sizes[index]);
    break;
  case BufferKind::Weight:
  case BufferKind::Constant:
    if (bytes > sizes[index])
      return makeError(ErrorCode::Input, "buffer %u: expected %" PRId64 " bytes of data, got %" PRId64, index, bytes,
                       sizes[index]);
    break;
  case BufferKind::Output:
    sizes[index] = bytes;
    return prepareOutput(portOfBuffer[index], bytes);
  case BufferKind::Transient:
    break;
  }
  if (bytes == 0)
    addresses[index] = emptyBuffer;
  return {};
}

Error Session::placeTransients(Segment &segment) {
  if (segment.transients.empty())
    return {};
  uint64_t unshared = 0;
  for (size_t i = 0; i < segment.transients.size(); ++i) {
    uint32_t index = segment.transients[i];
    int64_t bytes = registers[entry.buffers[index].sizeRegister];
    if (bytes < 0)
      return makeError(ErrorCode::Input, "buffer %u: negative size %" PRId64, index, bytes);
    sizes[index] = segment.requests[i].size = bytes;
    unshared += uint64_t(bytes) + (kBufferAlignment - uint64_t(bytes) % kBufferAlignment) % kBufferAlignment;
  }
  const MemoryPlan *plan = segment.plans.get(segment.requests);
  if (!plan)
    return Error(ErrorCode::Resource, "the activations at these shapes exceed 64-bit sizes; use smaller shapes");
  if (Error error = segment.memory.reserve(*device, memory->budget, uint64_t(plan->total), "activation memory"))
    return error;
  auto *base = static_cast<uint8_t *>(segment.memory.get());
  device->discard(base, uint64_t(plan->total));
  for (size_t i = 0; i < segment.transients.size(); ++i) {
    uint32_t index = segment.transients[i];
    addresses[index] = sizes[index] ? base + plan->offsets[i] : emptyBuffer;
  }
  statistics.arena_bytes += uint64_t(plan->total);
  statistics.unshared_bytes += unshared;
  return {};
}

/// Element `index` of a buffer as an int64.
Error Session::load(uint32_t bufferIndex, int64_t index, int64_t &value) {
  auto dtype = DType(entry.buffers[bufferIndex].dtype);
  int64_t width = getBits(dtype) / 8, offset;
  if (index < 0 || __builtin_mul_overflow(index, width, &offset) || offset > sizes[bufferIndex] - width)
    return makeError(ErrorCode::Input,
                     "shape program: element %" PRId64 " lies outside the %" PRId64 " bytes of buffer %u", index,
                     sizes[bufferIndex], bufferIndex);
  uint8_t bytes[8] = {};
  const auto *source = static_cast<const uint8_t *>(addresses[bufferIndex]) + offset;
  if (Error error = device->download(bytes, source, uint64_t(width)))
    return error;
  if (Error error = device->synchronise())
    return error;
  uint64_t raw;
  std::memcpy(&raw, bytes, sizeof raw);
  if (isUnsigned(dtype)) {
    if (raw > uint64_t(INT64_MAX))
      return makeError(ErrorCode::Input, "shape program: extent %" PRIu64 " is too large", raw);
    value = int64_t(raw);
    return {};
  }
  unsigned shift = 64 - unsigned(width) * 8;
  value = int64_t(raw << shift) >> shift; // sign extension
  return {};
}

void Session::note(int32_t kind, int32_t dispatch, int64_t size, uint64_t begin, uint64_t nanoseconds) {
  if (timeline.keepsEvents())
    timeline.add({kind, dispatch, size, begin, nanoseconds});
}

//===--------------------------------------------------------------------------------------------------------------===//
// Work
//===--------------------------------------------------------------------------------------------------------------===//

/// The address of `bytes` bytes at the offset in a register (kNone: 0), checked against the buffer's size.
Error Session::offsetAddress(uint32_t buffer, uint32_t offsetRegister, int64_t bytes, void *&address) const {
  int64_t offset = offsetRegister == kNone ? 0 : registers[offsetRegister];
  if (offset < 0 || bytes < 0 || offset > sizes[buffer] || bytes > sizes[buffer] - offset)
    return makeError(ErrorCode::Input, "%" PRId64 " bytes at offset %" PRId64 " leave buffer %u of %" PRId64 " bytes",
                     bytes, offset, buffer, sizes[buffer]);
  address = static_cast<uint8_t *>(addresses[buffer]) + offset;
  return {};
}

bool Session::isInPlace(uint32_t output) const {
  uint32_t input = getAlias(output);
  const weft_tensor &given = outputStates[output].given;
  return input != kNone && given.data && given.bytes && given.data == inputStates[input].given.data;
}

Error Session::noteOverwritten(const CommandRecord &command) {
  if (isOverwritten.empty())
    return {};
  const Tables &tables = getTables();
  for (uint32_t i = 0; i < command.inputs; ++i)
    if (uint32_t buffer = tables.arguments[command.c + i].buffer; isOverwritten[buffer])
      return makeError(ErrorCode::Internal, "expected to read input %s before its memory is written, got a read behind",
                       quote(inputs[portOfBuffer[buffer]].name).c_str());
  for (uint32_t i = command.inputs; i < command.d; ++i) {
    uint32_t buffer = tables.arguments[command.c + i].buffer;
    if (BufferKind(entry.buffers[buffer].kind) == BufferKind::Output && isInPlace(portOfBuffer[buffer]))
      isOverwritten[entry.inputs[getAlias(portOfBuffer[buffer])].buffer] = true;
  }
  return {};
}

Error Session::dispatch(const CommandRecord &command, DispatchState &state) {
  const Tables &tables = getTables();
  auto where = [&] { return "kernel " + quote(tables.getString(tables.kernels[state.kernel].name)); };
  int64_t grid = registers[command.b], scratch = command.g == kNone ? 0 : registers[command.g];
  if (grid < 0 || grid > kMaxGrid)
    return makeError(ErrorCode::Resource, "%s: expected at most %" PRId64 " grid points, got %" PRId64, where().c_str(),
                     kMaxGrid, grid);
  if (scratch < 0 || scratch > kMaxScratchBytes)
    return makeError(ErrorCode::Resource, "%s: expected at most %" PRId64 " bytes of scratch, got %" PRId64,
                     where().c_str(), kMaxScratchBytes, scratch);
  for (uint32_t i = 0; i < command.d; ++i) {
    const ArgumentRecord &argument = tables.arguments[command.c + i];
    if (Error error = offsetAddress(argument.buffer, argument.offsetRegister, 0, argumentAddresses[i]))
      return std::move(error).within(where());
    auto kind = BufferKind(entry.buffers[argument.buffer].kind);
    bool isSteady = kind == BufferKind::Input || kind == BufferKind::Weight || kind == BufferKind::Constant;
    int64_t offset = argument.offsetRegister == kNone ? 0 : registers[argument.offsetRegister];
    steadyBytes[i] = isSteady ? sizes[argument.buffer] - offset : 0;
  }
  for (uint32_t i = 0; i < command.f; ++i)
    scalarValues[i] = registers[tables.scalars[command.e + i]];
  if (grid == 0)
    return {};
  if (Error error = noteOverwritten(command))
    return std::move(error).within(where());
  Launch launch = {command.a, grid,         argumentAddresses.data(), command.d, scalarValues.data(), command.f,
                   scratch,   !hasLaunched, steadyBytes.data()};
  hasLaunched = true;
  uint64_t nanoseconds = 0, begin = timeline.keepsEvents() ? nowNs() : 0;
  Timeline::Range range(timeline, tables.getText(tables.kernels[state.kernel].name));
  Error error = profile ? device->dispatchTimed(launch, nanoseconds) : device->dispatch(launch);
  state.nanoseconds += nanoseconds;
  note(WEFT_EVENT_DISPATCH, int32_t(&state - dispatches.data()), grid, begin, nanoseconds);
  return error ? std::move(error).within(where()) : Error();
}

Error Session::copy(const CommandRecord &command) {
  int64_t bytes = registers[command.e];
  void *source, *destination;
  Error error = offsetAddress(command.a, command.b, bytes, source);
  if (!error)
    error = offsetAddress(command.c, command.d, bytes, destination);
  if (error)
    return std::move(error).within("copy");
  if (!bytes || destination == source)
    return {};
  uint64_t begin = timeline.keepsEvents() ? nowNs() : 0;
  error = device->copy(destination, source, uint64_t(bytes));
  note(WEFT_EVENT_COPY, -1, bytes, begin, timeline.keepsEvents() ? nowNs() - begin : 0);
  return error;
}

static bool isCollective(const CommandRecord &command) {
  return CommandKind(command.kind) == CommandKind::Collective ||
         CommandKind(command.kind) == CommandKind::CollectiveBeside;
}

/// The ranks hear of what a run does, if it is known.
Error Session::beginCollectives() {
  if (!communicator)
    return {};
  if (!isForeseeable)
    return communicator->begin(nullptr);
  std::vector<Collective> list;
  for (const CommandRecord &command : entry.commands)
    if (isCollective(command))
      list.push_back({CollectiveKind(command.inputs), Reduction(command.d), DType(entry.buffers[command.a].dtype),
                      nullptr, nullptr, uint64_t(registers[command.b]), getTables().getString(command.e)});
  return communicator->begin(&list);
}

Error Session::collective(const CommandRecord &command) {
  auto kind = CollectiveKind(command.inputs);
  auto dtype = DType(entry.buffers[command.a].dtype);
  int64_t bytes = registers[command.b], size = getBits(dtype) / 8;
  int64_t parts = kind == CollectiveKind::AllReduce || kind == CollectiveKind::AllGather ? 1 : command.f;
  bool isBeside = CommandKind(command.kind) == CommandKind::CollectiveBeside;
  auto where = [&] { return "collective " + quote(getTables().getString(command.e)); };
  if (bytes < 0 || bytes % (size * parts) != 0)
    return makeError(ErrorCode::Input, "%s: expected %" PRId64 " equal parts of whole elements, got %" PRId64 " bytes",
                     where().c_str(), parts, bytes);
  int64_t resultBytes = kind == CollectiveKind::ReduceScatter ? bytes / parts : bytes;
  if (kind == CollectiveKind::AllGather && __builtin_mul_overflow(bytes, int64_t(command.f), &resultBytes))
    return Error(ErrorCode::Resource, where() + ": the result exceeds 64-bit sizes");
  void *source, *destination;
  Error error = offsetAddress(command.a, kNone, bytes, source);
  if (!error)
    error = offsetAddress(command.c, isBeside ? command.g : kNone, resultBytes, destination);
  if (error)
    return std::move(error).within(where());
  hasLaunched = true;
  Collective started = {
      kind, Reduction(command.d), dtype, source, destination, uint64_t(bytes), getTables().getString(command.e)};
  if (isBeside) // One of no bytes, too: an Await counts it.
    return communicator->runBeside(started, *device);
  return bytes ? communicator->run(started, *device) : Error();
}

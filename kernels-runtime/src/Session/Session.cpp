// Creation and description of sessions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything of a session that does not depend on the shapes of a run.
#include "Session.h"

#include "../Cuda/CudaDevice.h"
#include "../Emulator/EmulatorDevice.h"

#include <algorithm>
#include <sys/sysinfo.h>
#include <utility>

using namespace weft;
using namespace weft::bundle;

static constexpr std::string_view emulatorPrefix = "emu:", cudaPrefix = "cuda";

Error weft::createDevice(std::string_view name, const DeviceOptions &options, std::unique_ptr<Device> &device) {
  if (name == "cpu") {
    device = createCpuDevice(options);
    return {};
  }
  if (name.substr(0, emulatorPrefix.size()) == emulatorPrefix)
    return createEmulatorDevice(name.substr(emulatorPrefix.size()), device);
  if (name.substr(0, cudaPrefix.size()) == cudaPrefix)
    return createCudaDevice(name, options, device);
  return Error(ErrorCode::Device, "unknown device " + quote(name) + "; this runtime has: cpu, cuda[:N], emu:<GPU>");
}

/// Memory of the machine in bytes.
static uint64_t getPhysicalMemory() {
  struct sysinfo info;
  if (::sysinfo(&info) != 0)
    return UINT64_MAX;
  return uint64_t(info.totalram) * info.mem_unit;
}

Session::Session(std::shared_ptr<LoadedBundle> owner, const EntryChoice &choice, bool profile)
    : bundle(std::move(owner)), entry(bundle::getEntry(bundle->getTables(), choice.index)), entryIndex(choice.index),
      codeTarget(choice.target), profile(profile) {}

Error Session::create(std::shared_ptr<LoadedBundle> bundle, std::string_view deviceName, const SessionOptions &options,
                      std::unique_ptr<Session> &result) {
  DeviceOptions deviceOptions = options.device;
  deviceOptions.threads = options.threads;
  auto memory = std::make_shared<SessionMemory>();
  if (Error error = createDevice(deviceName, deviceOptions, memory->device))
    return error;
  const DeviceCapabilities &capabilities = memory->device->getCapabilities();
  memory->budget.limit = options.memoryLimit        ? options.memoryLimit
                         : capabilities.memoryBytes ? capabilities.memoryBytes
                                                    : getPhysicalMemory();
  EntryChoice choice;
  if (Error error = chooseEntry(bundle->getTables(), options.entry, capabilities.architecture, choice))
    return error;
  std::unique_ptr<Session> session(new Session(std::move(bundle), choice, options.profile));
  session->device = memory->device.get();
  session->memory = std::move(memory);
  session->turnLimit = options.turnLimit;
  if (Error error = session->timeline.open(options.profile, options.nvtx))
    return error;
  session->communicator = options.communicator;
  if (Error error = session->prepare())
    return error;
  session->isRecordable &= !options.launchesKernels && !options.profile && session->device->canRecord() &&
                           (!session->communicator || session->communicator->canRecord());
  result = std::move(session);
  return {};
}

/// The communicator has the ranks that the program is for; a program of one rank does without.
Error Session::joinRanks() {
  uint32_t ranks = 1;
  for (const CommandRecord &command : entry.commands)
    if (CommandKind(command.kind) == CommandKind::Collective ||
        CommandKind(command.kind) == CommandKind::CollectiveBeside)
      ranks = command.f;
  for (const BufferRecord &buffer : entry.buffers)
    if (BufferKind(buffer.kind) == BufferKind::Weight)
      if (const WeightPartRecord *part = bundle->findPart(buffer.source))
        ranks = part->parts;
  if (ranks == 1) {
    communicator.reset();
    return {};
  }
  if (!communicator || communicator->getRanks() != ranks)
    return makeError(ErrorCode::Usage,
                     "expected a communicator of %u ranks, for which the model was compiled (--mesh), got %s", ranks,
                     communicator ? ("one of " + std::to_string(communicator->getRanks())).c_str() : "none");
  rank = communicator->getRank();
  Error error = communicator->attach(*device);
  isAttached = !error;
  return error;
}

Session::~Session() {
  recordings.clear(); // NCCL waits for all graphs with collectives before it lets a communicator go.
  if (isAttached)
    communicator->detach();
}

Error Session::prepare() {
  const Tables &tables = getTables();
  if (Error error = joinRanks())
    return error;
  // A program without kernels (constants and copies only) needs no code.
  bool hasDispatch = false;
  for (const CommandRecord &command : entry.commands)
    hasDispatch |= CommandKind(command.kind) == CommandKind::Dispatch;
  if (hasDispatch)
    if (Error error = device->loadCode(*bundle, codeTarget))
      return error;
  portOfBuffer.assign(entry.buffers.size, kNone);
  for (const PortRecord &port : entry.inputs) {
    portOfBuffer[port.buffer] = uint32_t(inputs.size());
    inputs.push_back(describePort(tables, entry, port));
  }
  for (const PortRecord &port : entry.outputs) {
    portOfBuffer[port.buffer] = uint32_t(outputs.size());
    outputs.push_back(describePort(tables, entry, port));
  }
  for (const AliasRecord &alias : tables.aliases)
    if (alias.entry == entryIndex) {
      inputOfOutput.resize(outputs.size(), kNone);
      inputOfOutput[alias.output] = alias.input;
    }
  inputStates.resize(inputs.size());
  outputStates.resize(outputs.size());
  symbolValues.resize(entry.symbols.size);
  symbolOrigin.resize(entry.symbols.size);
  registers.resize(entry.instructions.size);
  addresses.resize(entry.buffers.size);
  sizes.resize(entry.buffers.size);
  prepareSegments();
  statistics.threads = device->getCapabilities().workers;
  statistics.weight_bytes = bundle->getWeightBytes();
  return prepareReadOnlyBuffers();
}

void Session::prepareSegments() {
  const Tables &tables = getTables();
  std::vector<uint32_t> segmentOfRegister(entry.instructions.size);
  size_t argumentCount = 0, scalarCount = 0;
  uint32_t segmentCount = 0;
  bool hasCondition = false;
  for (const CommandRecord &command : entry.commands) {
    hasCondition |= CommandKind(command.kind) == CommandKind::Loop && (command.b != kNone || command.d != kNone);
    placeOfCommand.push_back(CommandKind(command.kind) == CommandKind::Eval ? segmentCount
                                                                            : uint32_t(dispatches.size()));
    if (CommandKind(command.kind) == CommandKind::Eval) {
      for (uint32_t i = command.a; i < command.a + command.b; ++i)
        segmentOfRegister[i] = segmentCount;
      ++segmentCount;
    } else if (CommandKind(command.kind) == CommandKind::Dispatch) {
      const KernelRecord &kernel = tables.kernels[command.a];
      DispatchState state{command.a, {}, -1, 0, 0};
      for (uint32_t origin : tables.origins.slice(kernel.firstOrigin, kernel.originCount))
        state.origins.push_back(tables.getText(origin));
      dispatches.push_back(std::move(state));
      argumentCount = std::max<size_t>(argumentCount, command.d);
      scalarCount = std::max<size_t>(scalarCount, command.f);
    }
  }
  argumentAddresses.resize(argumentCount);
  steadyBytes.resize(argumentCount);
  scalarValues.resize(scalarCount);
  segments = std::vector<Segment>(segmentCount);
  // One evaluation, before all work: what follows is fixed, turns of loops too. A single kernel gains nothing.
  isForeseeable = segmentCount == 1 && !hasCondition;
  isRecordable = isForeseeable && entry.commands.size > 2;
  std::vector<uint8_t> isExtent(entry.instructions.size);
  for (uint32_t i = 0; i < entry.buffers.size; ++i) {
    const BufferRecord &buffer = entry.buffers[i];
    Segment &segment = segments[segmentOfRegister[buffer.sizeRegister]];
    for (uint32_t extent : tables.extents.slice(buffer.firstExtent, buffer.rank))
      if (Opcode(entry.instructions[extent].opcode) != Opcode::Constant && !std::exchange(isExtent[extent], uint8_t(1)))
        segments[segmentOfRegister[extent]].extents.push_back(extent);
    if (BufferKind(buffer.kind) == BufferKind::Transient) {
      segment.transients.push_back(i);
      segment.requests.push_back({0, buffer.firstCommand, buffer.lastCommand});
    } else {
      segment.buffers.push_back(i);
    }
  }
}

Error Session::prepareReadOnlyBuffers() {
  const Tables &tables = getTables();
  std::vector<ReadOnlyData> items;
  std::vector<uint32_t> buffers;
  for (uint32_t i = 0; i < entry.buffers.size; ++i) {
    const BufferRecord &buffer = entry.buffers[i];
    if (BufferKind(buffer.kind) == BufferKind::Weight) {
      const WeightRecord &weight = tables.weights[buffer.source];
      int card = bundle->getWeightCard(buffer.source);
      if (card >= 0 && card != device->getCapabilities().card)
        return makeError(ErrorCode::Usage,
                         "weight %s: expected memory of the host or of the session's device %s, got GPU %d's",
                         quote(tables.getString(weight.name)).c_str(), device->getCapabilities().name, card);
      WeightView view = {bundle->getWeight(buffer.source), weight.size, bundle->findPart(buffer.source), rank,
                         bundle->findOrder(buffer.source)};
      // Sessions of several ranks of one process may share a GPU.
      uint32_t id = view.part ? bundle->getDataCount() * (rank + 1) : 0;
      items.push_back({id + buffer.source, view, nullptr, card});
    } else if (BufferKind(buffer.kind) == BufferKind::Constant) {
      const DataRecord &constant = tables.constants[buffer.source];
      items.push_back({uint32_t(tables.weights.size + buffer.source),
                       {tables.constantBytes.data + constant.offset, constant.size},
                       nullptr});
    } else {
      continue;
    }
    buffers.push_back(i);
  }
  if (Error error = device->placeReadOnly(*bundle, items))
    return error;
  for (size_t i = 0; i < items.size(); ++i) {
    addresses[buffers[i]] = items[i].address;
    sizes[buffers[i]] = int64_t(items[i].view.getBytes());
  }
  return {};
}

Error Session::makeWait(void *stream) {
  std::lock_guard<std::mutex> lock(mutex);
  return device->makeWait(stream);
}

Error Session::copyToHost(void *destination, const void *source, uint64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  if (Error error = device->download(destination, source, bytes))
    return error;
  return device->synchronise();
}

const char *Session::getCounters(bool asJson) {
  std::lock_guard<std::mutex> lock(mutex);
  countersText.clear();
  (void)device->getCounters(asJson, countersText);
  return countersText.c_str();
}

weft_statistics Session::getStatistics() const {
  std::lock_guard<std::mutex> lock(mutex);
  weft_statistics result = statistics;
  for (const Segment &segment : segments) {
    result.plans_made += segment.plans.getMade();
    result.plans_reused += segment.plans.getReused();
  }
  return result;
}

weft_dispatch Session::getDispatch(size_t index) const {
  std::lock_guard<std::mutex> lock(mutex);
  const DispatchState &state = dispatches[index];
  weft_dispatch result = {};
  result.kernel = getTables().getText(getTables().kernels[state.kernel].name);
  result.device = device->getCapabilities().name;
  result.origins = state.origins.data();
  result.origin_count = state.origins.size();
  result.last_grid = state.lastGrid;
  result.runs = state.runs;
  result.total_ns = state.nanoseconds;
  return result;
}

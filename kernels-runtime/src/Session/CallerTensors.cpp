// Inputs and outputs of a run.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels use the caller's memory where they can. Otherwise inputs are copied first, and outputs last; each copy counts
// in the statistics.
#include "Session.h"

#include "weft/Bundle/DType.h"

#include <cinttypes>

using namespace weft;
using namespace weft::bundle;

/// `kind`: "input" or "output".
Error Session::checkPlace(const weft_tensor &tensor, const char *kind, const std::string &name) const {
  const DeviceCapabilities &capabilities = device->getCapabilities();
  if (tensor.memory == WEFT_MEMORY_HOST)
    return {};
  std::string where = std::string(kind) + " " + quote(name);
  if (tensor.memory != WEFT_MEMORY_CUDA)
    return makeError(ErrorCode::Usage, "%s: unknown kind of memory %d", where.c_str(), tensor.memory);
  if (capabilities.card < 0)
    return makeError(ErrorCode::Usage, "%s: expected host memory for the device %s, got memory of cuda:%d",
                     where.c_str(), capabilities.name, tensor.card);
  if (tensor.card != capabilities.card)
    return makeError(ErrorCode::Usage, "%s: expected memory of %s or of the host, got memory of cuda:%d", where.c_str(),
                     capabilities.name, tensor.card);
  return {};
}

/// True if kernels can use the caller's memory as it is.
bool Session::isUsable(const weft_tensor &tensor) const {
  bool isOwnMemory = tensor.memory == WEFT_MEMORY_CUDA || device->getCapabilities().hostMemory;
  return isOwnMemory && isAligned(tensor.data);
}

Error Session::stageInput(uint32_t index, const weft_tensor &tensor) {
  uint32_t buffer = entry.inputs[index].buffer;
  PortState &state = inputStates[index];
  sizes[buffer] = int64_t(tensor.bytes);
  addresses[buffer] = tensor.bytes ? tensor.data : emptyBuffer;
  if (Error error = checkPlace(tensor, "input", inputs[index].name))
    return error;
  if (tensor.bytes == 0 || isUsable(tensor))
    return {};
  if (Error error = state.memory.reserve(*device, memory->budget, tensor.bytes, "an input"))
    return error;
  usesHostMemory |= tensor.memory == WEFT_MEMORY_HOST;
  Error error = tensor.memory == WEFT_MEMORY_HOST ? device->upload(state.memory.get(), tensor.data, tensor.bytes)
                                                  : device->copy(state.memory.get(), tensor.data, tensor.bytes);
  if (error)
    return error;
  addresses[buffer] = state.memory.get();
  ++statistics.staged_copies;
  statistics.staged_bytes += tensor.bytes;
  return {};
}

/// An output lies in the whole memory of the input that the bundle names, or apart from all inputs.
Error Session::checkOverlaps() const {
  if (inputOfOutput.empty())
    return {};
  for (uint32_t o = 0; o < outputs.size(); ++o) {
    const weft_tensor &output = outputStates[o].given;
    const auto *begin = static_cast<const uint8_t *>(output.data);
    for (uint32_t i = 0; begin && i < inputs.size(); ++i) {
      const weft_tensor &input = inputStates[i].given;
      const auto *other = static_cast<const uint8_t *>(input.data);
      bool isApart =
          !other || input.memory != output.memory || begin + output.bytes <= other || other + input.bytes <= begin;
      if (isApart || (i == inputOfOutput[o] && begin == other))
        continue;
      return makeError(ErrorCode::Usage,
                       "output %s: expected memory apart from input %s%s, got memory that overlaps it",
                       quote(outputs[o].name).c_str(), quote(inputs[i].name).c_str(),
                       i == inputOfOutput[o] ? ", or exactly that" : "");
    }
  }
  return {};
}

Error Session::prepareOutput(uint32_t index, int64_t bytes) {
  uint32_t buffer = entry.outputs[index].buffer;
  PortState &state = outputStates[index];
  const std::string &name = outputs[index].name;
  bool isCallers = state.given.data != nullptr;
  if (int card = device->getCapabilities().card; !isCallers && card >= 0)
    state.given.card = card;
  if (Error error = checkPlace(state.given, "output", name))
    return error;
  if (isCallers && state.given.bytes < uint64_t(bytes))
    return makeError(ErrorCode::Usage, "output %s: expected memory for %" PRId64 " bytes, got %" PRIu64,
                     quote(name).c_str(), bytes, state.given.bytes);
  if (isInPlace(index)) {
    state.isStaged = !isUsable(state.given);
    addresses[buffer] = addresses[entry.inputs[getAlias(index)].buffer];
    return {};
  }
  bool usesCallers = isCallers && isUsable(state.given);
  state.isStaged = isCallers && !usesCallers;
  if (!usesCallers) {
    if (Error error = memory->reserveOutput(index, state.memory, uint64_t(bytes)))
      return error;
    device->discard(state.memory.get(), uint64_t(bytes));
  }
  addresses[buffer] = bytes == 0 ? emptyBuffer : usesCallers ? state.given.data : state.memory.get();
  return {};
}

/// Where the caller finds the output: in its own memory, the device's, or a copy for the host.
Error Session::returnOutput(PortState &state, const void *result, uint64_t bytes, weft_tensor &tensor) {
  if (state.given.data) {
    tensor.data = state.given.data;
    if (!state.isStaged || !bytes)
      return {};
    ++statistics.staged_copies;
    statistics.staged_bytes += bytes;
    usesHostMemory |= state.given.memory == WEFT_MEMORY_HOST;
    return state.given.memory == WEFT_MEMORY_HOST ? device->download(tensor.data, result, bytes)
                                                  : device->copy(tensor.data, result, bytes);
  }
  state.isTakeable = true;
  tensor.data = state.memory.get();
  tensor.card = state.given.card;
  if (state.given.memory == WEFT_MEMORY_CUDA || device->getCapabilities().hostMemory)
    return {};
  if (bytes > state.hostBytes || !state.hostCopy.get()) {
    state.hostBytes = 0;
    if (!state.hostCopy.allocate(bytes))
      return makeError(ErrorCode::Resource, "no memory for %" PRIu64 " bytes of an output", bytes);
    state.hostBytes = bytes;
  }
  tensor.data = state.hostCopy.get();
  usesHostMemory = true;
  return bytes ? device->download(tensor.data, state.memory.get(), bytes) : Error();
}

Error Session::finishOutput(uint32_t index, weft_tensor &tensor) {
  const BufferRecord &buffer = entry.buffers[entry.outputs[index].buffer];
  PortState &state = outputStates[index];
  int64_t bytes = sizes[entry.outputs[index].buffer], elements = 1, expected = 0;
  state.dims.clear();
  for (uint32_t extent : getTables().extents.slice(buffer.firstExtent, buffer.rank))
    state.dims.push_back(registers[extent]);
  bool fits = true;
  for (int64_t dim : state.dims)
    fits = fits && dim >= 0 && !__builtin_mul_overflow(elements, dim, &elements);
  if (!fits || !getByteSize(DType(buffer.dtype), elements, expected) || expected != bytes)
    return makeError(ErrorCode::Input, "output %s: its extents do not give its size of %" PRId64 " bytes",
                     quote(outputs[index].name).c_str(), bytes);
  if (Error error = returnOutput(state, addresses[entry.outputs[index].buffer], uint64_t(bytes), tensor))
    return error;
  tensor.dtype = buffer.dtype;
  tensor.rank = buffer.rank;
  tensor.dims = state.dims.data();
  tensor.bytes = uint64_t(bytes);
  state.given = tensor; // What takeOutput gives.
  return {};
}

Error Session::takeOutput(size_t index, std::shared_ptr<TakenOutput> &taken, weft_tensor &tensor) {
  std::lock_guard<std::mutex> lock(mutex);
  if (index >= outputs.size())
    return makeError(ErrorCode::Usage, "expected an output below %zu, got %zu", outputs.size(), index);
  PortState &state = outputStates[index];
  if (!state.isTakeable)
    return Error(ErrorCode::Usage, "output " + quote(outputs[index].name) +
                                       ": the session has no memory of it to give (no run yet, memory of the caller, "
                                       "or already taken)");
  state.isTakeable = false;
  tensor = state.given;
  taken = std::make_shared<TakenOutput>();
  taken->home = memory;
  taken->output = index;
  if (tensor.data == state.hostCopy.get()) {
    taken->hostMemory = std::move(state.hostCopy);
    state.hostBytes = 0;
  } else {
    taken->memory = std::move(state.memory);
  }
  return {};
}

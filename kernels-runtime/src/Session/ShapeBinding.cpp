// Inputs against the signature.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks the caller's tensors and binds the symbols from their dimensions. Messages name the input and the dimension.
#include "Session.h"

#include "weft/Bundle/DType.h"
#include "weft/Bundle/ShapeProgram.h"

#include <cinttypes>

using namespace weft;
using namespace weft::bundle;

static std::string describeDimension(const PortDescription &port, uint32_t dimension) {
  return "input " + quote(port.name) + " dimension " + std::to_string(dimension);
}

/// dtype, rank, signs and bytes: what can be said without symbols.
Error Session::checkInput(uint32_t index, const weft_tensor &tensor) const {
  const PortDescription &port = inputs[index];
  std::string where = "input " + quote(port.name);
  auto dtype = DType(tensor.dtype);
  if (dtype != port.dtype)
    return makeError(ErrorCode::Input, "%s: expected element type %s, got %s", where.c_str(), getName(port.dtype),
                     getName(dtype));
  if (tensor.rank < 0 || size_t(tensor.rank) != port.dims.size())
    return makeError(ErrorCode::Input, "%s: expected rank %zu, got %d", where.c_str(), port.dims.size(), tensor.rank);
  if (tensor.rank > 0 && !tensor.dims)
    return Error(ErrorCode::Usage, where + ": dims is null");
  int64_t elements = 1, bytes = 0;
  for (int32_t i = 0; i < tensor.rank; ++i)
    if (tensor.dims[i] < 0 || __builtin_mul_overflow(elements, tensor.dims[i], &elements))
      return makeError(ErrorCode::Input, "%s: dimension %d is %" PRId64 ": negative, or the tensor is too large",
                       where.c_str(), i, tensor.dims[i]);
  if (!getByteSize(dtype, elements, bytes))
    return Error(ErrorCode::Input, where + ": the tensor is too large");
  if (tensor.bytes != uint64_t(bytes))
    return makeError(ErrorCode::Input, "%s: expected %" PRId64 " bytes for %s, got %" PRIu64, where.c_str(), bytes,
                     describeShape(tensor.dims, size_t(tensor.rank), dtype).c_str(), tensor.bytes);
  if (bytes > 0 && !tensor.data)
    return Error(ErrorCode::Usage, where + ": data is null");
  return {};
}

Error Session::checkSymbolRange(uint32_t index, int64_t value) const {
  const SymbolRecord &symbol = entry.symbols[index];
  if (value >= symbol.min && value <= symbol.max)
    return {};
  return makeError(ErrorCode::Input, "expected symbol %s in [%" PRId64 ", %" PRId64 "], got %" PRId64,
                   quote(getTables().getString(symbol.name)).c_str(), symbol.min, symbol.max, value);
}

/// Static extents, and extents that are a symbol.
Error Session::bindSymbols(uint32_t index, const weft_tensor &tensor) {
  const BufferRecord &buffer = entry.buffers[entry.inputs[index].buffer];
  Table<uint32_t> extents = getTables().extents.slice(buffer.firstExtent, buffer.rank);
  for (uint32_t i = 0; i < buffer.rank; ++i) {
    const InstructionRecord &instruction = entry.instructions[extents[i]];
    int64_t got = tensor.dims[i];
    if (Opcode(instruction.opcode) == Opcode::Constant && got != instruction.imm)
      return makeError(ErrorCode::Input, "%s: expected %" PRId64 ", got %" PRId64,
                       describeDimension(inputs[index], i).c_str(), instruction.imm, got);
    if (Opcode(instruction.opcode) != Opcode::Symbol)
      continue;
    const SymbolRecord &symbol = entry.symbols[instruction.a];
    std::string_view name = getTables().getString(symbol.name);
    int64_t &value = symbolValues[instruction.a];
    if (value >= 0 && value != got) {
      auto [otherInput, otherDimension] = symbolOrigin[instruction.a];
      return makeError(ErrorCode::Input, "%s: expected %" PRId64 " (symbol %s, set by %s), got %" PRId64,
                       describeDimension(inputs[index], i).c_str(), value, quote(name).c_str(),
                       describeDimension(inputs[otherInput], otherDimension).c_str(), got);
    }
    if (Error error = checkSymbolRange(instruction.a, got))
      return std::move(error).within(describeDimension(inputs[index], i));
    if (value < 0)
      symbolOrigin[instruction.a] = {index, i};
    value = got;
  }
  return {};
}

Error Session::bindInputs(const weft_tensor *tensors) {
  std::fill(symbolValues.begin(), symbolValues.end(), -1);
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    if (Error error = checkInput(i, tensors[i]))
      return error;
    inputStates[i].dims.assign(tensors[i].dims, tensors[i].dims + tensors[i].rank);
  }
  for (uint32_t i = 0; i < inputs.size(); ++i)
    if (Error error = bindSymbols(i, tensors[i]))
      return error;
  for (uint32_t i = 0; i < inputs.size(); ++i)
    if (Error error = stageInput(i, tensors[i]))
      return error;
  return {};
}

/// Extents that are expressions ("2*seq"), once the first segment has been evaluated.
Error Session::checkDerivedExtents() const {
  for (uint32_t index = 0; index < inputs.size(); ++index) {
    const BufferRecord &buffer = entry.buffers[entry.inputs[index].buffer];
    Table<uint32_t> extents = getTables().extents.slice(buffer.firstExtent, buffer.rank);
    for (uint32_t i = 0; i < buffer.rank; ++i)
      if (registers[extents[i]] != inputStates[index].dims[i])
        return makeError(ErrorCode::Input, "%s: expected %" PRId64 " (%s), got %" PRId64,
                         describeDimension(inputs[index], i).c_str(), registers[extents[i]],
                         quote(inputs[index].texts[i]).c_str(), inputStates[index].dims[i]);
  }
  return {};
}

Error Session::inferDims(bool isOutput, size_t index, const int64_t *symbols, int64_t *dims) const {
  for (uint32_t i = 0; i < entry.symbols.size; ++i)
    if (Error error = checkSymbolRange(i, symbols[i]))
      return error;
  // Only what is known before anything runs; later segments read data.
  uint32_t known =
      entry.commands.size && CommandKind(entry.commands[0].kind) == CommandKind::Eval ? entry.commands[0].b : 0;
  ShapeEnvironment environment{symbols, {}, [this](uint32_t string) { return getTables().getString(string); }};
  std::vector<int64_t> values(known);
  if (Error error = evaluateShapes(entry.instructions.data, 0, known, environment, values.data()))
    return error;
  const PortRecord &port = isOutput ? entry.outputs[uint32_t(index)] : entry.inputs[uint32_t(index)];
  const BufferRecord &buffer = entry.buffers[port.buffer];
  for (uint32_t extent : getTables().extents.slice(buffer.firstExtent, buffer.rank))
    *dims++ = extent < known ? values[extent] : -1;
  return {};
}

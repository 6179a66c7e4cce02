// One request with one buffer is used where it is, in a GPU's memory as well; others are copied together on the host.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Batch.h"

#include <cstring>

using namespace weft::triton;

static Failure fail(TRITONSERVER_Error *error, const std::string &text) {
  if (!error)
    return {};
  TRITONSERVER_ErrorDelete(error);
  return {kTritonInvalid, text};
}

Failure Request::read(const Model &model) {
  inputs.resize(model.getInputs().size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string &name = model.getInputs()[i].name;
    TRITONBACKEND_Input *input = nullptr;
    const int64_t *dims = nullptr;
    uint32_t rank = 0, pieces = 0;
    int type = 0;
    if (Failure failure = fail(TRITONBACKEND_RequestInput(request, name.c_str(), &input), "no input '" + name + "'"))
      return failure;
    if (Failure failure =
            fail(TRITONBACKEND_InputProperties(input, nullptr, &type, &dims, &rank, &inputs[i].bytes, &pieces), name))
      return failure;
    if (type != getTypeNumber(model.getInputs()[i].dtype))
      return {kTritonInvalid, "input '" + name + "': expected " + getTypeName(model.getInputs()[i].dtype)};
    inputs[i].dims.assign(dims, dims + rank);
    for (uint32_t k = 0; k < pieces; ++k) {
      Piece piece = {nullptr, 0, kTritonCpu, 0};
      if (Failure failure =
              fail(TRITONBACKEND_InputBuffer(input, k, &piece.data, &piece.bytes, &piece.memory, &piece.device), name))
        return failure;
      inputs[i].pieces.push_back(piece);
    }
    int64_t first = rank ? dims[0] : 1;
    if (model.getMostRows() && i && first != rows)
      return {kTritonInvalid, "input '" + name + "': expected " + std::to_string(rows) +
                                  " rows as of the inputs before, got " + std::to_string(first)};
    rows = first;
  }
  return {};
}

bool Request::isAlike(const Request &other) const {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].dims.size() != other.inputs[i].dims.size() ||
        !std::equal(inputs[i].dims.begin() + 1, inputs[i].dims.end(), other.inputs[i].dims.begin() + 1))
      return false;
  return true;
}

Failure Batch::gather(const std::vector<Request *> &requests, size_t input, weft_tensor &tensor) {
  const Request::Input &first = requests[0]->inputs[input];
  dims[input] = first.dims;
  tensor = {
      model.getInputs()[input].dtype, int32_t(first.dims.size()), dims[input].data(), nullptr, 0, WEFT_MEMORY_HOST, 0};
  if (requests.size() == 1 && first.pieces.size() == 1) {
    const Request::Piece &piece = first.pieces[0];
    tensor.data = const_cast<void *>(piece.data);
    tensor.bytes = piece.bytes;
    tensor.memory = piece.memory == kTritonGpu ? WEFT_MEMORY_CUDA : WEFT_MEMORY_HOST;
    tensor.card = int32_t(piece.device);
    return {};
  }
  uint64_t bytes = 0;
  int64_t rows = 0;
  for (const Request *request : requests) {
    bytes += request->inputs[input].bytes;
    rows += request->rows;
  }
  if (requests.size() > 1)
    dims[input][0] = rows;
  buffers[input].resize(bytes + 1); // Never null.
  tensor.data = buffers[input].data();
  tensor.bytes = bytes;
  uint8_t *place = buffers[input].data();
  for (const Request *request : requests)
    for (const Request::Piece &piece : request->inputs[input].pieces) {
      if (piece.memory != kTritonGpu)
        std::memcpy(place, piece.data, piece.bytes);
      else if (Failure failure = take(weft_session_copy_to_host(session, place, piece.data, piece.bytes)))
        return failure;
      place += piece.bytes;
    }
  return {};
}

static bool isWanted(TRITONBACKEND_Request *request, const std::string &name) {
  uint32_t count = 0;
  const char *each = nullptr;
  if (TRITONSERVER_Error *error = TRITONBACKEND_RequestOutputCount(request, &count))
    TRITONSERVER_ErrorDelete(error);
  for (uint32_t i = 0; i < count; ++i)
    if (!TRITONBACKEND_RequestOutputName(request, i, &each) && name == each)
      return true;
  return false;
}

Failure Batch::scatter(const std::vector<Request *> &requests, size_t index, const weft_tensor &tensor) {
  const Port &port = model.getOutputs()[index];
  std::vector<int64_t> shape(tensor.dims, tensor.dims + tensor.rank);
  int64_t rows = 0;
  for (const Request *request : requests)
    rows += request->rows;
  if (requests.size() > 1 && (shape.empty() || shape[0] != rows))
    return {kTritonInvalid, "output '" + port.name + "': expected " + std::to_string(rows) +
                                " rows for requests that run together; set max_batch_size to 0"};
  const auto *data = static_cast<const uint8_t *>(tensor.data);
  for (Request *request : requests) {
    uint64_t bytes = requests.size() > 1 ? tensor.bytes / uint64_t(rows) * uint64_t(request->rows) : tensor.bytes;
    if (requests.size() > 1)
      shape[0] = request->rows;
    const uint8_t *source = data;
    data += bytes;
    if (!isWanted(request->request, port.name) || request->failure)
      continue;
    TRITONBACKEND_Output *output = nullptr;
    void *buffer = nullptr;
    int memory = kTritonCpu;
    int64_t device = 0;
    request->failure =
        fail(TRITONBACKEND_ResponseOutput(request->response, &output, port.name.c_str(), getTypeNumber(port.dtype),
                                          shape.data(), uint32_t(shape.size())),
             "output '" + port.name + "': the server does not take it");
    if (!request->failure)
      request->failure = fail(TRITONBACKEND_OutputBuffer(output, &buffer, bytes, &memory, &device),
                              "output '" + port.name + "': the server has no memory for it");
    if (!request->failure && memory == kTritonGpu)
      request->failure = {kTritonUnsupported, "output '" + port.name + "': expected memory of the host"};
    if (!request->failure && bytes)
      std::memcpy(buffer, source, bytes);
  }
  return {};
}

Failure Batch::run(const std::vector<Request *> &requests) {
  size_t inputs = model.getInputs().size(), outputs = model.getOutputs().size();
  buffers.resize(inputs);
  dims.resize(inputs);
  std::vector<weft_tensor> in(inputs), out(outputs);
  for (size_t i = 0; i < inputs; ++i)
    if (Failure failure = gather(requests, i, in[i]))
      return failure;
  for (weft_tensor &tensor : out)
    tensor = {}; // The session's memory, on the host.
  if (Failure failure = take(weft_session_run(session, in.data(), inputs, out.data(), outputs)))
    return failure;
  for (size_t i = 0; i < outputs; ++i)
    if (Failure failure = scatter(requests, i, out[i]))
      return failure;
  return {};
}

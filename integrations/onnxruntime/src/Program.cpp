// Opening and running a group. Outputs whose extents follow from those of the inputs are computed in onnxruntime's
// memory; others are copied.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Program.h"

#include <algorithm>
#include <cstring>

using namespace weft::ort;

Program::~Program() {
  weft_session_release(session);
  weft_bundle_release(bundle);
}

static std::string takeMessage(weft_error *error) {
  std::string text = weft_error_message(error);
  weft_error_free(error);
  return text;
}

Status *Program::fail(weft_error *error) const { return fail(kFail, ("weft: " + takeMessage(error)).c_str()); }

std::string Program::open(Part part, const std::string &device, int threads, const std::vector<std::string> &nodeInputs,
                          const std::vector<std::string> &nodeOutputs) {
  bytes = std::move(part.bundle);
  if (weft_error *error = weft_bundle_open_memory(bytes.data(), bytes.size(), nullptr, &bundle))
    return takeMessage(error);
  weft_session_options sessionOptions = {};
  sessionOptions.struct_size = sizeof sessionOptions;
  sessionOptions.threads = threads;
  if (weft_error *error = weft_session_create(bundle, device.c_str(), &sessionOptions, &session))
    return takeMessage(error);
  auto findPlace = [](const std::vector<std::string> &names, const char *name) {
    return size_t(std::find(names.begin(), names.end(), name) - names.begin());
  };
  weft_port port;
  symbols.assign(weft_session_symbol_count(session), {weft_session_input_count(session), 0});
  for (size_t i = 0; weft_session_input(session, i, &port) == 0; ++i) {
    inputs.push_back(findPlace(nodeInputs, port.name));
    if (inputs.back() == nodeInputs.size())
      return std::string("the node has no input ") + port.name;
    weft_symbol symbol;
    for (size_t s = 0; weft_session_symbol(session, s, &symbol) == 0; ++s)
      for (int32_t d = 0; d < port.rank; ++d)
        if (port.dim_texts[d] && !std::strcmp(port.dim_texts[d], symbol.name))
          symbols[s] = {i, size_t(d)};
  }
  bool bindsAll = std::all_of(symbols.begin(), symbols.end(), [&](auto &bound) { return bound.first < inputs.size(); });
  for (size_t i = 0; weft_session_output(session, i, &port) == 0; ++i) {
    Output output;
    output.place = findPlace(nodeOutputs, port.name);
    if (output.place == nodeOutputs.size())
      return std::string("the node has no output ") + port.name;
    output.dims.assign(port.dims, port.dims + port.rank);
    bool isOpen = std::count(output.dims.begin(), output.dims.end(), -1);
    output.isComputed = isOpen && !bindsAll;
    outputs.push_back(std::move(output));
  }
  return "";
}

Status *Program::readInput(KernelContext *context, size_t index, weft_tensor &tensor,
                           std::vector<int64_t> &dims) const {
  const Value *value = nullptr;
  if (Status *status = api.KernelContext_GetInput(static_cast<const KernelContext *>(context), inputs[index], &value))
    return status;
  if (!value)
    return fail(kFail, "weft: an input is missing");
  TensorInfo *info = nullptr;
  if (Status *status = api.GetTensorTypeAndShape(value, &info))
    return status;
  size_t rank = 0, size = 0;
  Status *status = api.GetDimensionsCount(static_cast<const TensorInfo *>(info), &rank);
  dims.resize(rank);
  if (!status && rank)
    status = api.GetDimensions(static_cast<const TensorInfo *>(info), dims.data(), rank);
  api.ReleaseTensorTypeAndShapeInfo(info);
  void *data = nullptr;
  if (!status)
    status = api.GetTensorSizeInBytes(value, &size);
  if (!status && size)
    status = api.GetTensorMutableData(const_cast<Value *>(value), &data);
  weft_port port;
  weft_session_input(session, index, &port);
  tensor = {port.dtype, int32_t(rank), dims.data(), data, size, WEFT_MEMORY_HOST, 0};
  return status;
}

Status *Program::makeOutput(KernelContext *context, const Output &output, const int64_t *dims, size_t rank,
                            void *&data) const {
  Value *value = nullptr;
  if (Status *status = api.KernelContext_GetOutput(context, output.place, dims, rank, &value))
    return status;
  return api.GetTensorMutableData(value, &data);
}

Status *Program::run(KernelContext *context) {
  std::vector<weft_tensor> in(inputs.size()), out(outputs.size());
  std::vector<std::vector<int64_t>> inDims(inputs.size()), outDims(outputs.size());
  for (size_t i = 0; i < in.size(); ++i)
    if (Status *status = readInput(context, i, in[i], inDims[i]))
      return status;
  std::vector<int64_t> values;
  for (auto [input, dimension] : symbols)
    values.push_back(input < inDims.size() && dimension < inDims[input].size() ? inDims[input][dimension] : 0);
  weft_port port;
  for (size_t i = 0; i < out.size(); ++i) {
    Output &output = outputs[i];
    outDims[i] = output.dims;
    weft_session_output(session, i, &port);
    out[i] = {port.dtype, port.rank, nullptr, nullptr, 0, WEFT_MEMORY_HOST, 0};
    if (output.isComputed)
      continue;
    if (std::count(outDims[i].begin(), outDims[i].end(), -1))
      if (weft_error *error = weft_session_output_dims(session, i, values.data(), outDims[i].data()))
        return fail(error);
    if (std::count(outDims[i].begin(), outDims[i].end(), -1)) // They depend on data.
      continue;
    if (Status *status = makeOutput(context, output, outDims[i].data(), outDims[i].size(), out[i].data))
      return status;
    uint64_t elements = 1;
    for (int64_t dim : outDims[i])
      elements *= uint64_t(dim);
    out[i].bytes = (elements * weft_dtype_bits(port.dtype) + 7) / 8;
    static char nothing[64];
    if (!out[i].data)
      out[i].data = nothing;
  }
  std::vector<bool> isOurs;
  for (const weft_tensor &tensor : out)
    isOurs.push_back(!tensor.data);
  if (weft_error *error = weft_session_run(session, in.data(), in.size(), out.data(), out.size()))
    return fail(error);
  for (size_t i = 0; i < out.size(); ++i) {
    void *data = nullptr;
    if (!isOurs[i])
      continue;
    if (Status *status = makeOutput(context, outputs[i], out[i].dims, size_t(out[i].rank), data))
      return status;
    if (out[i].bytes)
      std::memcpy(data, out[i].data, out[i].bytes);
  }
  return nullptr;
}

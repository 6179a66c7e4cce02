// The configuration is completed from the bundle's ports. A first dimension that is one symbol in all of them is a
// batch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Model.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <nlohmann/json.hpp>

using namespace weft::triton;

namespace {
struct TypeRow {
  int32_t dtype;
  const char *name;
  int number;
};
} // namespace

static constexpr TypeRow kTypes[] = {
    {WEFT_I1, "TYPE_BOOL", 1},     {WEFT_UI8, "TYPE_UINT8", 2},   {WEFT_UI16, "TYPE_UINT16", 3},
    {WEFT_UI32, "TYPE_UINT32", 4}, {WEFT_UI64, "TYPE_UINT64", 5}, {WEFT_I8, "TYPE_INT8", 6},
    {WEFT_I16, "TYPE_INT16", 7},   {WEFT_I32, "TYPE_INT32", 8},   {WEFT_I64, "TYPE_INT64", 9},
    {WEFT_F16, "TYPE_FP16", 10},   {WEFT_F32, "TYPE_FP32", 11},   {WEFT_F64, "TYPE_FP64", 12},
    {WEFT_BF16, "TYPE_BF16", 14}};

static const TypeRow *findType(int32_t dtype) {
  auto found = std::find_if(std::begin(kTypes), std::end(kTypes), [&](auto &row) { return row.dtype == dtype; });
  return found == std::end(kTypes) ? nullptr : found;
}
std::string weft::triton::getTypeName(int32_t dtype) { return findType(dtype) ? findType(dtype)->name : ""; }
int weft::triton::getTypeNumber(int32_t dtype) { return findType(dtype) ? findType(dtype)->number : 0; }

Failure weft::triton::take(weft_error *error) {
  if (!error)
    return {};
  int code = weft_error_code(error);
  Failure failure = {code == WEFT_ERROR_UNSUPPORTED                             ? kTritonUnsupported
                     : code == WEFT_ERROR_DEVICE || code == WEFT_ERROR_RESOURCE ? kTritonUnavailable
                     : code == WEFT_ERROR_INTERNAL                              ? kTritonInternal
                                                                                : kTritonInvalid,
                     weft_error_message(error)};
  weft_error_free(error);
  return failure;
}

Model::~Model() { weft_bundle_release(bundle); }

/// Null if it is no JSON.
static Json readMessage(TRITONSERVER_Message *message) {
  const char *text = nullptr;
  size_t size = 0;
  TRITONSERVER_Error *error = TRITONSERVER_MessageSerializeToJson(message, &text, &size);
  if (error)
    TRITONSERVER_ErrorDelete(error);
  Json json = error ? Json() : Json::parse(text, text + size, nullptr, /*allow_exceptions=*/false);
  return json.is_discarded() ? Json() : json;
}

/// Null if it is not there.
static const Json &get(const Json &json, const char *key) {
  static const Json none;
  auto found = json.find(key);
  return found == json.end() ? none : *found;
}

static std::string getText(const Json &json) { return json.is_string() ? json.get<std::string>() : ""; }

/// 0 if it is none.
static int64_t getInteger(const std::string &text) {
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

/// A number, or a text that holds one: the server writes those of 64 bits so.
static int64_t getInteger(const Json &json) {
  return json.is_number_integer() ? json.get<int64_t>() : getInteger(getText(json));
}

std::string Model::getParameter(const std::string &key) const {
  auto found = parameters.find(key);
  return found == parameters.end() ? "" : found->second;
}

Failure Model::makeSession(const std::string &device, weft_session *&session) const {
  weft_session_options options = {};
  options.struct_size = sizeof options;
  options.threads = int32_t(getInteger(getParameter("threads")));
  std::string entry = getParameter("entry"), own = getParameter("device");
  options.entry = entry.empty() ? nullptr : entry.c_str();
  return take(weft_session_create(bundle, own.empty() ? device.c_str() : own.c_str(), &options, &session));
}

static Port describePort(const weft_port &port) {
  Port result = {port.name, port.dtype, {port.dims, port.dims + port.rank}, {}};
  for (int32_t i = 0; i < port.rank; ++i)
    result.texts.push_back(port.dim_texts[i] ? port.dim_texts[i] : "");
  return result;
}

/// Ports of any session of the bundle: of a bundle for several devices they are the same.
Failure Model::describe() {
  weft_session *session = nullptr;
  Failure failure = makeSession("cpu", session);
  if (failure) // A bundle for GPUs alone.
    failure = makeSession("cuda", session);
  if (failure)
    return failure;
  weft_port port;
  for (size_t i = 0; weft_session_input(session, i, &port) == 0; ++i)
    inputs.push_back(describePort(port));
  for (size_t i = 0; weft_session_output(session, i, &port) == 0; ++i)
    outputs.push_back(describePort(port));
  weft_symbol symbol;
  std::string batch = findBatchSymbol();
  for (size_t i = 0; weft_session_symbol(session, i, &symbol) == 0; ++i)
    if (batch == symbol.name)
      mostBatch = symbol.max;
  weft_session_release(session);
  for (const std::vector<Port> *ports : {&inputs, &outputs})
    for (const Port &each : *ports)
      if (!findType(each.dtype))
        return {kTritonUnsupported,
                "'" + each.name + "': the server has no elements of " + weft_dtype_name(each.dtype)};
  return {};
}

/// Empty: there is none.
std::string Model::findBatchSymbol() const {
  std::string symbol;
  for (const std::vector<Port> *ports : {&inputs, &outputs})
    for (const Port &port : *ports) {
      if (port.texts.empty() || port.texts[0].empty() || (!symbol.empty() && port.texts[0] != symbol))
        return "";
      symbol = port.texts[0];
    }
  return symbol;
}

/// Names, types and extents of a configuration that has them.
Failure Model::check(const Json &config, const char *key, const std::vector<Port> &ports) const {
  for (const Json &item : get(config, key)) {
    std::string name = getText(get(item, "name"));
    auto found = std::find_if(ports.begin(), ports.end(), [&](const Port &port) { return port.name == name; });
    if (found == ports.end())
      return {kTritonInvalid, std::string(key) + " '" + name + "': the bundle has none of this name"};
    std::string type = getText(get(item, "data_type"));
    if (type != getTypeName(found->dtype))
      return {kTritonInvalid,
              std::string(key) + " '" + name + "': expected " + getTypeName(found->dtype) + ", got " + type};
    std::vector<int64_t> dims;
    if (mostRows)
      dims.push_back(-1);
    for (const Json &dim : get(item, "dims"))
      dims.push_back(getInteger(dim));
    bool fits = dims.size() == found->dims.size();
    for (size_t i = 0; fits && i < dims.size(); ++i)
      fits = dims[i] == -1 || found->dims[i] == -1 || dims[i] == found->dims[i];
    if (!fits && get(item, "reshape").empty())
      return {kTritonInvalid, std::string(key) + " '" + name + "': its dims do not fit those of the bundle" +
                                  (mostRows ? ", the first of which is the batch of max_batch_size" : "")};
  }
  return {};
}

static Json describeJson(const Port &port, bool isBatched) {
  Json json = {{"name", port.name}, {"data_type", getTypeName(port.dtype)}}, dims = Json::array();
  for (size_t i = isBatched; i < port.dims.size(); ++i)
    dims.push_back(port.dims[i]);
  if (dims.empty()) { // The server wants dims: it takes the 1 away, or puts it there.
    json["reshape"]["shape"] = Json::array();
    dims.push_back(1);
  }
  json["dims"] = std::move(dims);
  return json;
}

/// As the server's own backends do it: what is given stays; a batch that nobody speaks of has the server's default size
/// and joins requests.
void Model::complete(Json &config, int64_t defaultRows) {
  bool isOpen = get(config, "input").empty() && get(config, "output").empty();
  if (isOpen && !mostRows && mostBatch > 1 && defaultRows > 0) {
    mostRows = std::min(mostBatch, defaultRows);
    config["max_batch_size"] = mostRows;
    if (mostRows > 1 && get(config, "dynamic_batching").empty() && get(config, "sequence_batching").empty())
      config["dynamic_batching"] = Json::object();
  }
  for (auto [key, ports] : {std::pair("input", &inputs), std::pair("output", &outputs)}) {
    if (!get(config, key).empty())
      continue;
    Json list = Json::array();
    for (const Port &port : *ports)
      list.push_back(describeJson(port, mostRows > 0));
    config[key] = std::move(list);
  }
}

Failure Model::open(TRITONBACKEND_Model *model) {
  const char *location = nullptr;
  int artifact = 0;
  uint64_t version = 0;
  bool completes = false;
  TRITONSERVER_Message *message = nullptr;
  TRITONBACKEND_Backend *backend = nullptr;
  for (TRITONSERVER_Error *error :
       {TRITONBACKEND_ModelRepository(model, &artifact, &location), TRITONBACKEND_ModelVersion(model, &version),
        TRITONBACKEND_ModelAutoCompleteConfig(model, &completes), TRITONBACKEND_ModelConfig(model, 1, &message),
        TRITONBACKEND_ModelBackend(model, &backend)})
    if (error) {
      TRITONSERVER_ErrorDelete(error);
      return {kTritonInternal, "the server does not describe the model"};
    }
  Json config = readMessage(message);
  TRITONSERVER_MessageDelete(message);
  if (!config.is_object())
    return {kTritonInternal, "the server's configuration is no JSON"};
  for (const auto &[key, value] : get(config, "parameters").items())
    parameters[key] = getText(get(value, "string_value"));
  std::string file = getText(get(config, "default_model_filename"));
  std::string path = std::string(location) + "/" + std::to_string(version) + "/" + (file.empty() ? "model.weft" : file);
  if (Failure failure = take(weft_bundle_open(path.c_str(), nullptr, &bundle)))
    return failure;
  if (Failure failure = describe())
    return failure;
  mostRows = getInteger(get(config, "max_batch_size"));
  if (completes) {
    int64_t defaultRows = 0;
    if (TRITONSERVER_Error *error = TRITONBACKEND_BackendConfig(backend, &message))
      TRITONSERVER_ErrorDelete(error);
    else
      defaultRows = getInteger(get(get(readMessage(message), "cmdline"), "default-max-batch-size"));
    complete(config, defaultRows);
    std::string text = config.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (TRITONSERVER_Error *error = TRITONSERVER_MessageNewFromSerializedJson(&message, text.data(), text.size()))
      return TRITONSERVER_ErrorDelete(error), Failure{kTritonInternal, "the server does not take its configuration"};
    TRITONSERVER_Error *error = TRITONBACKEND_ModelSetConfig(model, 1, message);
    TRITONSERVER_MessageDelete(message);
    if (error)
      return TRITONSERVER_ErrorDelete(error), Failure{kTritonInternal, "the server refuses the model's configuration"};
  }
  if (mostRows && mostRows > mostBatch)
    return {kTritonInvalid, "max_batch_size: expected at most " + std::to_string(mostBatch) +
                                ", which is the largest first dimension that all inputs and outputs share, got " +
                                std::to_string(mostRows)};
  for (auto [key, ports] : {std::pair("input", &inputs), std::pair("output", &outputs)})
    if (Failure failure = check(config, key, *ports))
      return failure;
  return {};
}

// One session of the tool.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Runner.h"
#include "Ranks.h"

#include "Files.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/stat.h>

using namespace weft;
using namespace weft::run;
using namespace weft::bundle;

Error weft::run::take(weft_error *error) {
  if (!error)
    return {};
  Error result(ErrorCode(weft_error_code(error)), weft_error_message(error));
  weft_error_free(error);
  return result;
}

static Port describe(const weft_port &port) {
  Port result{port.name, DType(port.dtype), {}, {}};
  for (int32_t i = 0; i < port.rank; ++i) {
    result.dims.push_back(port.dims[i]);
    result.dimTexts.push_back(port.dim_texts[i] ? port.dim_texts[i] : "");
  }
  return result;
}

Error Runner::joinRanks() {
  if (options.rank.empty())
    return {};
  RankOptions rank;
  if (Error error = readRank(options.rank, rank))
    return error;
  weft_communicator_options all = {};
  all.struct_size = sizeof all;
  all.rank = rank.rank;
  all.ranks = rank.ranks;
  all.address = rank.address.c_str();
  all.timeout_ms = options.timeoutMs;
  all.nccl = rank.nccl.empty() ? nullptr : rank.nccl.c_str();
  weft_communicator *joined = nullptr;
  if (Error error = take(weft_communicator_create(&all, &joined)))
    return error;
  communicator.reset(joined);
  return {};
}

Error Runner::open() {
  weft_bundle_options bundleOptions = {sizeof bundleOptions, options.verify,
                                       options.weightsFolder.empty() ? nullptr : options.weightsFolder.c_str()};
  const std::string &file = options.compiled.empty() ? options.bundle : options.compiled;
  weft_bundle *openedBundle = nullptr;
  if (Error error = take(weft_bundle_open(file.c_str(), &bundleOptions, &openedBundle)))
    return error;
  bundle.reset(openedBundle);
  weft_session_options sessionOptions = {sizeof sessionOptions,
                                         options.threads,
                                         options.printStatistics || options.printPlacement || !options.trace.empty(),
                                         options.entry.empty() ? nullptr : options.entry.c_str(),
                                         options.memoryLimit,
                                         std::getenv("WEFT_CUDA_DRIVER"),
                                         nullptr,
                                         options.launchesKernels,
                                         options.turnLimit,
                                         options.nvtx.empty() ? nullptr : options.nvtx.c_str(),
                                         nullptr};
  if (Error error = joinRanks())
    return error;
  sessionOptions.communicator = communicator.get();
  std::string device = options.device;
  if (!options.counters.empty()) {
    if (device.substr(0, 4) != "emu:")
      return Error(ErrorCode::Usage, "--counters: device " + quote(device) + " counts nothing; use --device=emu:GPU");
    device += ",counters=on";
  }
  weft_session *createdSession = nullptr;
  if (Error error = take(weft_session_create(bundle.get(), device.c_str(), &sessionOptions, &createdSession)))
    return error;
  session.reset(createdSession);
  weft_port port;
  for (size_t i = 0; weft_session_input(session.get(), i, &port) == 0; ++i)
    inputPorts.push_back(describe(port));
  for (size_t i = 0; weft_session_output(session.get(), i, &port) == 0; ++i)
    outputPorts.push_back(describe(port));
  return {};
}

std::string Runner::getEntryName() const {
  return options.entry.empty() ? weft_bundle_entry_name(bundle.get(), 0) : options.entry;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Inputs
//===--------------------------------------------------------------------------------------------------------------===//

static std::vector<std::string> getNames(const std::vector<Port> &ports) {
  std::vector<std::string> names;
  for (const Port &port : ports)
    names.push_back(port.name);
  return names;
}

static std::optional<size_t> findPort(const std::vector<Port> &ports, std::string_view name) {
  for (size_t i = 0; i < ports.size(); ++i)
    if (ports[i].name == name)
      return i;
  return std::nullopt;
}

/// Specs with a name go to that port, the others to the ports in order.
Error Runner::assignSpecs(const std::vector<std::string> &texts, const std::vector<Port> &ports, const char *flag,
                          std::vector<std::optional<Spec>> &specs) {
  specs.assign(ports.size(), std::nullopt);
  size_t next = 0;
  for (const std::string &text : texts) {
    Spec spec;
    if (Error error = parseSpec(text, getNames(ports), spec))
      return std::move(error).within(flag);
    size_t index = spec.name ? *findPort(ports, *spec.name) : next++;
    if (index >= ports.size())
      return makeError(ErrorCode::Usage, "%s: expected at most %zu of them, got one more: %s", flag, ports.size(),
                       quote(text).c_str());
    if (specs[index])
      return Error(ErrorCode::Usage, std::string(flag) + ": " + quote(ports[index].name) + " is given twice");
    specs[index] = std::move(spec);
  }
  return {};
}

/// --dim=NAME=VALUE; symbols that nothing sets stay -1.
Error Runner::bindDims(std::vector<int64_t> &symbols) {
  size_t count = weft_session_symbol_count(session.get());
  symbols.assign(count, -1);
  for (const std::string &text : options.dims) {
    size_t equals = text.rfind('=');
    char *end = nullptr;
    long long value = equals == text.npos ? -1 : std::strtoll(text.c_str() + equals + 1, &end, 10);
    if (value < 0 || !end || *end || end == text.c_str() + equals + 1)
      return Error(ErrorCode::Usage, "--dim: expected NAME=VALUE, got " + quote(text));
    std::string known;
    bool found = false;
    for (size_t i = 0; i < count; ++i) {
      weft_symbol symbol;
      weft_session_symbol(session.get(), i, &symbol);
      known += (i ? ", " : "") + quote(symbol.name);
      if (text.compare(0, equals, symbol.name) == 0) {
        symbols[i] = value;
        found = true;
      }
    }
    if (!found)
      return Error(ErrorCode::Usage, "--dim: the model has no symbol " + quote(text.substr(0, equals)) +
                                         (known.empty() ? "; all its extents are static" : "; it has: " + known));
  }
  return {};
}

/// Symbols that the given tensors set.
Error Runner::learnSymbols(const std::vector<std::optional<Tensor>> &given, bool saysNotes,
                           std::vector<int64_t> &symbols) const {
  for (size_t i = 0; i < symbols.size(); ++i) {
    weft_symbol symbol;
    weft_session_symbol(session.get(), i, &symbol);
    for (size_t input = 0; input < given.size(); ++input)
      for (size_t d = 0; given[input] && d < inputPorts[input].dims.size() && d < given[input]->dims.size(); ++d)
        if (symbols[i] < 0 && inputPorts[input].dimTexts[d] == symbol.name)
          symbols[i] = given[input]->dims[d];
    if (symbols[i] >= 0)
      continue;
    symbols[i] = std::max<int64_t>(symbol.min, 1);
    if (saysNotes)
      std::fprintf(stderr, "note: symbol %s is %lld; set it with --dim=%s=N\n", quote(symbol.name).c_str(),
                   (long long)symbols[i], symbol.name);
  }
  return {};
}

Error Runner::readNpz(std::vector<std::optional<Tensor>> &given) {
  std::vector<uint8_t> bytes;
  std::map<std::string, Range> members;
  if (Error error = readFile(options.inputsNpz, bytes))
    return error;
  if (Error error = parseNpz(bytes, members))
    return std::move(error).within(quote(options.inputsNpz));
  for (const auto &[name, range] : members) {
    std::optional<size_t> index = findPort(inputPorts, name);
    if (!index)
      return Error(ErrorCode::Usage, quote(options.inputsNpz) + ": the model has no input " + quote(name));
    Tensor tensor;
    if (Error error = parseNpy(bytes.data() + range.offset, range.size, inputPorts[*index].dtype, tensor))
      return std::move(error).within(quote(options.inputsNpz) + ": " + quote(name));
    given[*index] = std::move(tensor);
  }
  return {};
}

static bool exists(const std::string &path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0;
}

/// PREFIX_0.pb, PREFIX_1.pb, ...: by the tensor's name if the model has it, else by number.
Error Runner::readTestSet(const char *prefix, const std::vector<Port> &ports,
                          std::vector<std::optional<Tensor>> &given) {
  auto pathOf = [&](size_t i) { return options.testSet + "/" + prefix + "_" + std::to_string(i) + ".pb"; };
  for (size_t i = 0; exists(pathOf(i)); ++i) {
    std::vector<uint8_t> bytes;
    Tensor tensor;
    std::string name;
    Error error = readFile(pathOf(i), bytes);
    if (!error && (error = parseTensorProto(bytes, tensor, name)))
      error = std::move(error).within(quote(pathOf(i)));
    if (error)
      return error;
    size_t index = findPort(ports, name).value_or(i);
    if (index >= ports.size())
      return makeError(ErrorCode::Usage, "%s: the model has only %zu %ss", quote(pathOf(i)).c_str(), ports.size(),
                       prefix);
    given[index] = std::move(tensor);
  }
  return {};
}

Error Runner::makeInputs(bool saysNotes) {
  std::vector<std::optional<Tensor>> given(inputPorts.size());
  std::vector<std::optional<Spec>> specs;
  std::vector<int64_t> symbols;
  if (Error error = bindDims(symbols))
    return error;
  if (!options.testSet.empty()) {
    if (!exists(options.testSet))
      return Error(ErrorCode::Input, quote(options.testSet) + ": no such folder");
    if (Error error = readTestSet("input", inputPorts, given))
      return error;
  }
  if (!options.inputsNpz.empty())
    if (Error error = readNpz(given))
      return error;
  if (Error error = assignSpecs(options.inputs, inputPorts, "--input", specs))
    return error;
  auto make = [&](size_t i, const Spec &spec, const std::vector<int64_t> &dims) {
    Tensor tensor;
    Error error = makeTensor(spec, inputPorts[i].dtype, dims, options.seed + i, tensor);
    given[i] = std::move(tensor);
    return error ? std::move(error).within("input " + quote(inputPorts[i].name)) : Error();
  };
  // First those that know their shape, which sets symbols; then those that take it from the model.
  auto knowsShape = [&](size_t i) { return specs[i] && (specs[i]->dims || specs[i]->value.substr(0, 1) == "@"); };
  for (size_t i = 0; i < specs.size(); ++i)
    if (knowsShape(i))
      if (Error error = make(i, *specs[i], {}))
        return error;
  bool needsSymbols = false;
  for (size_t i = 0; i < given.size(); ++i)
    needsSymbols |= !given[i] || (specs[i] && !knowsShape(i));
  if (needsSymbols)
    if (Error error = learnSymbols(given, saysNotes, symbols))
      return error;
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i] && (!specs[i] || knowsShape(i)))
      continue;
    std::vector<int64_t> dims(inputPorts[i].dims.size());
    if (Error error = take(weft_session_input_dims(session.get(), i, symbols.data(), dims.data())))
      return error;
    if (Error error = make(i, specs[i].value_or(Spec()), dims))
      return error;
  }
  inputs.clear();
  for (std::optional<Tensor> &tensor : given)
    inputs.push_back(std::move(*tensor));
  return {};
}

Error Runner::readExpected(std::vector<std::optional<Tensor>> &expected) {
  expected.assign(outputPorts.size(), std::nullopt);
  if (!options.testSet.empty())
    if (Error error = readTestSet("output", outputPorts, expected))
      return error;
  std::vector<std::optional<Spec>> specs;
  if (Error error = assignSpecs(options.expected, outputPorts, "--expected-output", specs))
    return error;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (!specs[i])
      continue;
    Tensor tensor;
    if (Error error = makeTensor(*specs[i], outputPorts[i].dtype, outputs[i].dims, options.seed, tensor))
      return std::move(error).within("output " + quote(outputPorts[i].name));
    expected[i] = std::move(tensor);
  }
  return {};
}

//===--------------------------------------------------------------------------------------------------------------===//
// Runs
//===--------------------------------------------------------------------------------------------------------------===//

static std::vector<weft_tensor> makeViews(std::vector<Tensor> &tensors) {
  std::vector<weft_tensor> views;
  for (Tensor &tensor : tensors)
    views.push_back({int32_t(tensor.dtype), int32_t(tensor.dims.size()), tensor.dims.data(), tensor.bytes.data(),
                     tensor.bytes.size(), WEFT_MEMORY_HOST, 0});
  return views;
}

std::vector<weft_tensor> Runner::getInputViews() { return makeViews(inputs); }

Error Runner::run() {
  std::vector<weft_tensor> views = makeViews(inputs), results(outputPorts.size());
  if (Error error = take(weft_session_run(session.get(), views.data(), views.size(), results.data(), results.size())))
    return error;
  outputs.clear();
  for (const weft_tensor &result : results) {
    const auto *data = static_cast<const uint8_t *>(result.data);
    outputs.push_back({DType(result.dtype), {result.dims, result.dims + result.rank}, {data, data + result.bytes}});
  }
  return {};
}

/// The value below which the fraction `p` of the sorted `times` lies.
static double percentile(const std::vector<double> &times, double p) {
  double place = p * double(times.size() - 1);
  auto below = size_t(place);
  size_t above = std::min(below + 1, times.size() - 1);
  return times[below] + (times[above] - times[below]) * (place - double(below));
}

Error Runner::benchmark(Benchmark &result) {
  constexpr int warmUps = 3;
  std::vector<weft_tensor> views = makeViews(inputs), results(outputPorts.size());
  std::vector<double> times;
  for (int i = -warmUps; i < options.benchmark; ++i) {
    std::fill(results.begin(), results.end(), weft_tensor{});
    auto begin = std::chrono::steady_clock::now();
    if (Error error = take(weft_session_run(session.get(), views.data(), views.size(), results.data(), results.size())))
      return error;
    std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
    if (i >= 0)
      times.push_back(time.count());
  }
  std::sort(times.begin(), times.end());
  result = {options.benchmark, percentile(times, 0.5), times.front(), percentile(times, 0.9)};
  return {};
}

// Times of a decoder's prompt and tokens.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The first run makes the caches: its outputs, in the device's memory, are inputs and outputs of all that follow. Then
// the prompt is run again, which is what counts, and the tokens, each behind all before.
#include "Generate.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>

using namespace weft;
using namespace weft::bench;
using weft::bundle::quote;

static const char *const kExpected = "--generate: expected prompt:N,tokens:M with numbers from 1 to 1000000, got ";

Error bench::parseGeneration(const std::string &text, Generation &generation) {
  std::string_view rest = text;
  for (auto [key, value] : {std::pair("prompt:", &generation.prompt), std::pair("tokens:", &generation.tokens)}) {
    std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    size_t length = std::string_view(key).size();
    const char *end = part.data() + part.size();
    bool isKey = part.substr(0, length) == key && part.size() > length;
    auto [last, failure] = isKey ? std::from_chars(part.data() + length, end, *value)
                                 : std::from_chars_result{end, std::errc::invalid_argument};
    if (failure != std::errc() || last != end || *value < 1 || *value > 1000000)
      return Error(ErrorCode::Usage, kExpected + quote(text));
  }
  return rest.empty() ? Error() : Error(ErrorCode::Usage, kExpected + quote(text));
}

namespace {
class Generator {
public:
  Generator(const run::Options &options, const Generation &generation)
      : runner(options), generation(generation), isOnCard(options.device.substr(0, 4) == "cuda") {}
  ~Generator() {
    for (void *cache : taken)
      weft_dlpack_release(cache, 1);
  }
  Generator(const Generator &) = delete;

  Error open();
  Error measure(double &prefill, std::vector<double> &steps);
  run::Runner runner;

private:
  Error fill(int64_t length, int64_t count);
  Error step(int64_t length, int64_t count, double &milliseconds);
  Error takeCaches();

  const Generation &generation;
  bool isOnCard;
  std::vector<weft_tensor> inputs, outputs;
  std::vector<std::vector<int64_t>> dims;  ///< By input.
  std::vector<std::vector<uint8_t>> bytes; ///< By input: those on the host.
  std::vector<void *> taken;               ///< DLPack tensors over the caches.
};
} // namespace

/// The bundle's ports; caches of the first run are zeros on the host.
Error Generator::open() {
  if (Error error = runner.open())
    return error;
  const std::vector<run::Port> &ports = runner.getInputPorts();
  inputs.resize(ports.size());
  outputs.resize(runner.getOutputPorts().size());
  dims.resize(ports.size());
  bytes.resize(ports.size());
  bool hasCaches = false;
  for (size_t o = 0; o < outputs.size(); ++o) {
    int input = weft_session_alias(runner.getSession(), o);
    if (input < 0)
      continue;
    hasCaches = true;
    const run::Port &port = ports[size_t(input)];
    uint64_t size = weft_dtype_bits(int32_t(port.dtype)) / 8;
    for (int64_t dim : port.dims) {
      bool isBatch = dims[size_t(input)].empty();
      dims[size_t(input)].push_back(dim >= 0 ? dim : isBatch ? 1 : generation.prompt + generation.tokens);
      size *= uint64_t(dims[size_t(input)].back());
    }
    int64_t places = dims[size_t(input)].size() > 2 ? dims[size_t(input)][2] : 0;
    if (places < generation.prompt + generation.tokens)
      return Error(ErrorCode::Usage, "--generate: expected caches of " +
                                         std::to_string(generation.prompt + generation.tokens) + " rows, got " +
                                         std::to_string(places) + " in " + quote(port.name));
    bytes[size_t(input)].resize(size);
    inputs[size_t(input)] = {int32_t(port.dtype),
                             int32_t(port.dims.size()),
                             dims[size_t(input)].data(),
                             bytes[size_t(input)].data(),
                             size,
                             WEFT_MEMORY_HOST,
                             0};
  }
  return hasCaches ? Error()
                   : Error(ErrorCode::Usage, "--generate: expected a bundle with caches in place; compile the model "
                                             "with --alias=caches");
}

/// What the other inputs are for `count` tokens behind `length` others, by their names.
Error Generator::fill(int64_t length, int64_t count) {
  const std::vector<run::Port> &ports = runner.getInputPorts();
  int64_t total = length + count;
  for (size_t i = 0; i < ports.size(); ++i) {
    const std::string &name = ports[i].name;
    bool isMask = name == "attention_mask", isLast = name == "seqlens_k", isTotal = name == "total_sequence_length";
    bool isPlaces = name == "position_ids" || name == "cache_position";
    bool isKnown = isMask || isLast || isTotal || isPlaces || name == "input_ids";
    if (inputs[i].data && !isKnown)
      continue; // A cache.
    unsigned width = weft_dtype_bits(int32_t(ports[i].dtype)) / 8;
    if (!isKnown || (ports[i].dtype != bundle::DType::I64 && ports[i].dtype != bundle::DType::I32))
      return Error(ErrorCode::Usage, "--generate: expected i32 or i64 inputs input_ids, attention_mask, position_ids, "
                                     "cache_position, seqlens_k and total_sequence_length beside the caches, got " +
                                         quote(name));
    dims[i].assign(ports[i].dims.size(), 1);
    int64_t elements = isLast || isTotal ? 1 : isMask ? total : count;
    if (!dims[i].empty())
      dims[i].back() = elements;
    bytes[i].assign(size_t(elements) * width, 0);
    for (int64_t j = 0; j < elements; ++j) {
      int64_t value = isMask ? 1 : isLast ? total - 1 : isTotal ? total : isPlaces ? length + j : 0;
      std::copy_n(reinterpret_cast<const uint8_t *>(&value), width, bytes[i].data() + size_t(j) * width);
    }
    inputs[i] = {int32_t(ports[i].dtype),
                 int32_t(dims[i].size()),
                 dims[i].data(),
                 bytes[i].data(),
                 bytes[i].size(),
                 WEFT_MEMORY_HOST,
                 0};
  }
  return {};
}

Error Generator::step(int64_t length, int64_t count, double &milliseconds) {
  if (Error error = fill(length, count))
    return error;
  for (size_t o = 0; o < outputs.size(); ++o)
    if (int input = weft_session_alias(runner.getSession(), o); input >= 0 && !taken.empty()) {
      outputs[o] = inputs[size_t(input)];
    } else {
      outputs[o] = {};
      outputs[o].memory = input >= 0 && isOnCard ? WEFT_MEMORY_CUDA : WEFT_MEMORY_HOST;
    }
  auto begin = std::chrono::steady_clock::now();
  Error error =
      run::take(weft_session_run(runner.getSession(), inputs.data(), inputs.size(), outputs.data(), outputs.size()));
  milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  return error;
}

/// The caches that the first run made, in the place of those on the host.
Error Generator::takeCaches() {
  for (size_t o = 0; o < outputs.size(); ++o) {
    int input = weft_session_alias(runner.getSession(), o);
    if (input < 0)
      continue;
    void *cache = nullptr;
    if (Error error = run::take(weft_session_take_output(runner.getSession(), o, 1, &cache)))
      return error;
    taken.push_back(cache);
    weft_tensor tensor = {};
    if (Error error = run::take(weft_tensor_from_dlpack(cache, 1, &tensor)))
      return error;
    tensor.dims = dims[size_t(input)].data();
    inputs[size_t(input)] = tensor;
    bytes[size_t(input)] = {};
  }
  return {};
}

Error Generator::measure(double &prefill, std::vector<double> &steps) {
  double ignored = 0;
  if (Error error = step(0, generation.prompt, ignored))
    return error;
  if (Error error = takeCaches())
    return error;
  for (double *time : {&ignored, &prefill})
    if (Error error = step(0, generation.prompt, *time))
      return error;
  for (int64_t i = 0; i < generation.tokens; ++i)
    if (Error error = step(generation.prompt + i, 1, steps.emplace_back()))
      return error;
  return {};
}

Error bench::runGeneration(const run::Options &program, const Generation &generation, bool asJson) {
  Generator generator(program, generation);
  double prefill = 0, sum = 0;
  std::vector<double> steps;
  if (Error error = generator.open())
    return error;
  if (Error error = generator.measure(prefill, steps))
    return error;
  for (double step : steps)
    sum += step;
  Summary summary = summarise(steps, {50, 90});
  double perSecond = double(generation.tokens) / sum * 1e3, promptPerSecond = double(generation.prompt) / prefill * 1e3;
  const char *format =
      asJson ? "{\"schema\": \"weft.generate/1\", \"device\": \"%s\", \"prompt\": %lld, \"prefill_ms\": %.4f, "
               "\"prefill_tokens_per_second\": %.2f, \"tokens\": %lld, \"p50_ms\": %.4f, \"p90_ms\": %.4f, "
               "\"tokens_per_second\": %.2f}\n"
             : "device   %s\nprefill  %lld tokens in %.3f ms, %.1f tokens/s\ndecode   %lld tokens, p50 %.3f ms, p90 "
               "%.3f ms, %.1f tokens/s\n";
  std::printf(format, program.device.c_str(), (long long)generation.prompt, prefill, promptPerSecond,
              (long long)generation.tokens, summary.percentiles[0], summary.percentiles[1], perSecond);
  return {};
}

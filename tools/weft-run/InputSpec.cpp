// What --input means.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses specs and makes tensors from files, lists of numbers, and a small generator of its own, so that a seed means
// the same numbers on every machine.
#include "InputSpec.h"

#include "Files.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>

using namespace weft;
using namespace weft::run;
using namespace weft::bundle;

static std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == text.npos)
      return parts;
    text.remove_prefix(at + 1);
  }
}

static bool startsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

static bool parseExtent(std::string_view text, int64_t &value) {
  value = 0;
  for (char c : text)
    if (c < '0' || c > '9' || __builtin_mul_overflow(value, 10, &value) ||
        __builtin_add_overflow(value, c - '0', &value))
      return false;
  return !text.empty();
}

bool weft::run::parseShape(std::string_view text, std::vector<int64_t> &dims, std::optional<DType> &dtype) {
  dims.clear();
  dtype.reset();
  std::vector<std::string_view> parts = split(text, 'x');
  for (size_t i = 0; i < parts.size(); ++i) {
    int64_t extent;
    DType parsed;
    if (parseExtent(parts[i], extent))
      dims.push_back(extent);
    else if (i + 1 == parts.size() && parseDType(parts[i], parsed))
      dtype = parsed;
    else
      return false;
  }
  // A lone number is a value, not a shape.
  return dtype || dims.size() > 1;
}

static bool isValue(std::string_view text) { return startsWith(text, "@") || startsWith(text, "rand:"); }

Error weft::run::parseSpec(std::string_view text, const std::vector<std::string> &names, Spec &spec) {
  spec = {};
  // The longest name that the text begins with, for names that contain "=".
  for (const std::string &name : names)
    if (startsWith(text, name + "=") && (!spec.name || name.size() > spec.name->size()))
      spec.name = name;
  if (spec.name)
    text.remove_prefix(spec.name->size() + 1);

  std::vector<int64_t> dims;
  std::optional<DType> dtype;
  size_t equals = text.find('=');
  std::string_view first = text.substr(0, equals);
  if (!spec.name && equals != text.npos && !isValue(text) && !parseShape(first, dims, dtype)) {
    auto nameAt = [](size_t i, const void *context) {
      return std::string_view((*static_cast<const std::vector<std::string> *>(context))[i]);
    };
    std::string nearest = nearestName(first, names.size(), nameAt, &names);
    return Error(ErrorCode::Usage, "the model has no " + quote(first) +
                                       (nearest.empty() ? "" : "; did you mean " + quote(nearest) + "?"));
  }
  if (!isValue(text) && parseShape(first, dims, dtype)) {
    spec.dims = dims;
    spec.dtype = dtype;
    text = equals == text.npos ? std::string_view() : text.substr(equals + 1);
  }
  spec.value = text;
  return {};
}

//===--------------------------------------------------------------------------------------------------------------===//
// Values
//===--------------------------------------------------------------------------------------------------------------===//

namespace {
/// SplitMix64 (Steele, Lea, Flood 2014): 64 random bits from a counter.
class Generator {
public:
  explicit Generator(uint64_t seed) : state(seed) {}

  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  /// In [0, 1).
  double uniform() { return double(next() >> 11) * 0x1p-53; }
  /// Box-Muller; one of the pair is thrown away.
  double normal() {
    constexpr double twoPi = 6.283185307179586;
    double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(twoPi * uniform());
  }

private:
  uint64_t state;
};
} // namespace

void weft::run::fillRandom(Tensor &tensor, std::string_view kind, uint64_t seed,
                           std::optional<std::pair<double, double>> range) {
  Generator generator(seed);
  auto [low, high] = range.value_or(std::pair(0.0, 1.0));
  bool isReal = isFloat(tensor.dtype);
  for (int64_t i = 0, n = tensor.getCount(); i < n; ++i) {
    if (isReal)
      tensor.set(i, kind == "normal" ? generator.normal() : low + (high - low) * generator.uniform());
    else
      tensor.setInteger(i, int64_t(std::floor(low + (high - low + 1) * generator.uniform())));
  }
}

/// rand:KIND[:SEED[:LOW:HIGH]]
static Error fillBySpec(std::string_view text, uint64_t seed, Tensor &tensor) {
  if (text.empty()) {
    fillRandom(tensor, "normal", seed, {});
    return {};
  }
  std::vector<std::string_view> parts = split(text, ':');
  std::vector<double> numbers;
  for (size_t i = 2; i < parts.size(); ++i) {
    std::string number(parts[i]);
    char *end = nullptr;
    numbers.push_back(std::strtod(number.c_str(), &end));
    if (number.empty() || *end)
      return Error(ErrorCode::Usage, "expected a number in " + quote(text) + ", got " + quote(parts[i]));
  }
  bool known = parts[1] == "normal" || parts[1] == "uniform";
  if (!known || numbers.size() == 2 || numbers.size() > 3)
    return Error(ErrorCode::Usage, "expected rand:normal[:SEED] or rand:uniform[:SEED[:LOW:HIGH]], got " + quote(text));
  std::optional<std::pair<double, double>> range;
  if (numbers.size() == 3)
    range = {numbers[1], numbers[2]};
  fillRandom(tensor, parts[1], numbers.empty() ? seed : uint64_t(numbers[0]), range);
  return {};
}

static Error fillFromNumbers(const std::string &text, Tensor &tensor) {
  std::vector<std::string> words;
  std::string word;
  for (char c : text + " ") {
    bool separates = c == ' ' || c == ',' || c == '[' || c == ']' || c == '\n' || c == '\t';
    if (!separates)
      word += c;
    else if (!word.empty())
      words.push_back(std::move(word)), word.clear();
  }
  int64_t count = tensor.getCount();
  if (words.size() != 1 && int64_t(words.size()) != count)
    return makeError(ErrorCode::Usage, "expected 1 or %lld numbers for %s, got %zu", (long long)count,
                     tensor.describe().c_str(), words.size());
  for (int64_t i = 0; i < count; ++i) {
    const std::string &number = words[words.size() == 1 ? 0 : size_t(i)];
    char *end = nullptr;
    errno = 0;
    if (isFloat(tensor.dtype)) {
      tensor.set(i, std::strtod(number.c_str(), &end));
    } else {
      bool isTrue = number == "true", isFalse = number == "false";
      int64_t value = isTrue                     ? 1
                      : isUnsigned(tensor.dtype) ? int64_t(std::strtoull(number.c_str(), &end, 0))
                                                 : std::strtoll(number.c_str(), &end, 0);
      tensor.setInteger(i, value);
      bool isKept = tensor.getInteger(i) == value || tensor.dtype == DType::I1;
      if (isTrue || isFalse)
        continue;
      if (!isKept || errno == ERANGE)
        return Error(ErrorCode::Usage, "number " + quote(number) + " does not fit into " + getName(tensor.dtype));
    }
    if (!end || *end)
      return Error(ErrorCode::Usage, "expected a number, got " + quote(number) + "; @FILE reads a file");
  }
  return {};
}

static bool endsWith(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

Error weft::run::readTensorFile(const std::string &path, const Spec &spec, DType dtype, Tensor &tensor) {
  std::vector<uint8_t> bytes;
  if (Error error = readFile(path, bytes))
    return error;
  Error error;
  if (isNpy(bytes)) {
    error = parseNpy(bytes.data(), bytes.size(), dtype, tensor);
  } else if (endsWith(path, ".pb")) {
    std::string name;
    error = parseTensorProto(bytes, tensor, name);
  } else if (spec.dims) {
    error = Tensor::create(spec.dtype.value_or(dtype), *spec.dims, tensor);
    if (!error && tensor.bytes.size() != bytes.size())
      error = makeError(ErrorCode::Input, "expected %zu bytes for %s, got %zu", tensor.bytes.size(),
                        tensor.describe().c_str(), bytes.size());
    if (!error)
      tensor.bytes = std::move(bytes);
  } else {
    error =
        Error(ErrorCode::Input, "expected a .npy or .pb file; raw bytes need a shape, as in --input=2x3xf32=@file.bin");
  }
  if (!error && spec.dims && (tensor.dims != *spec.dims || tensor.dtype != spec.dtype.value_or(tensor.dtype)))
    error = Error(ErrorCode::Input, "the file holds " + tensor.describe() + ", not the shape given for it");
  return error ? std::move(error).within(quote(path)) : Error();
}

Error weft::run::makeTensor(const Spec &spec, DType dtype, const std::vector<int64_t> &modelDims, uint64_t seed,
                            Tensor &tensor) {
  if (startsWith(spec.value, "@"))
    return readTensorFile(spec.value.substr(1), spec, dtype, tensor);
  if (Error error = Tensor::create(spec.dtype.value_or(dtype), spec.dims.value_or(modelDims), tensor))
    return error;
  if (spec.value.empty() || startsWith(spec.value, "rand:"))
    return fillBySpec(spec.value, seed, tensor);
  return fillFromNumbers(spec.value, tensor);
}

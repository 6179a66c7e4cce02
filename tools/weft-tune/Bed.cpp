// See the header. A cold run on a GPU follows a write of twice its L2 on the same stream; runs are graphs from the
// third on, as everywhere.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Bed.h"
#include "InputSpec.h"
#include "Runner.h"
#include "TimedCard.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

using namespace weft;
using namespace weft::tune;
using bundle::DType, run::Tensor;

double tune::now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

namespace {

struct Release {
  void operator()(weft_bundle *handle) const { weft_bundle_release(handle); }
  void operator()(weft_session *handle) const { weft_session_release(handle); }
};

/// A bundle and a session of it.
struct Opened {
  std::unique_ptr<weft_bundle, Release> bundle;
  std::unique_ptr<weft_session, Release> session;

  Error open(const std::string &path, const std::string &device) {
    weft_bundle *openedBundle = nullptr;
    weft_session *openedSession = nullptr;
    if (Error error = run::take(weft_bundle_open(path.c_str(), nullptr, &openedBundle)))
      return error;
    bundle.reset(openedBundle);
    weft_session_options options = {};
    options.struct_size = sizeof options;
    options.cuda_driver = std::getenv("WEFT_CUDA_DRIVER");
    if (Error error = run::take(weft_session_create(openedBundle, device.c_str(), &options, &openedSession)))
      return error;
    session.reset(openedSession);
    return {};
  }

  size_t countOutputs() const {
    weft_port port;
    size_t count = 0;
    while (weft_session_output(session.get(), count, &port) == 0)
      ++count;
    return count;
  }
};

/// Random numbers, which repeat after a prime number of elements: many tensors are too large to draw each of theirs.
Error fillInput(DType dtype, const std::vector<int64_t> &dims, uint64_t seed, Tensor &tensor) {
  constexpr int64_t period = 1000003;
  if (Error error = Tensor::create(dtype, dims, tensor))
    return error;
  if (tensor.getCount() <= period || bundle::getBits(dtype) < 8) {
    fillRandom(tensor, "normal", seed, std::nullopt);
    return {};
  }
  Tensor part;
  if (Error error = Tensor::create(dtype, {period}, part))
    return error;
  fillRandom(part, "normal", seed, std::nullopt);
  for (size_t at = 0; at < tensor.bytes.size(); at += part.bytes.size())
    std::memcpy(tensor.bytes.data() + at, part.bytes.data(), std::min(part.bytes.size(), tensor.bytes.size() - at));
  return {};
}

/// The inputs that a session takes with these extents of its symbols.
Error makeInputs(weft_session *session, const std::map<std::string, int64_t> &extents, std::vector<Tensor> &inputs) {
  std::vector<int64_t> symbols(weft_session_symbol_count(session));
  for (size_t i = 0; i < symbols.size(); ++i) {
    weft_symbol symbol;
    weft_session_symbol(session, i, &symbol);
    auto found = extents.find(symbol.name);
    symbols[i] = std::max<int64_t>(symbol.min, found == extents.end() ? 1 : found->second);
  }
  inputs.clear();
  weft_port port;
  for (size_t i = 0; weft_session_input(session, i, &port) == 0; ++i) {
    std::vector<int64_t> dims(size_t(port.rank));
    if (Error error = run::take(weft_session_input_dims(session, i, symbols.data(), dims.data())))
      return error;
    inputs.emplace_back();
    if (Error error = fillInput(DType(port.dtype), dims, i, inputs.back()))
      return error;
  }
  return {};
}

std::vector<weft_tensor> makeViews(std::vector<Tensor> &tensors) {
  std::vector<weft_tensor> views;
  for (Tensor &tensor : tensors)
    views.push_back({int32_t(tensor.dtype), int32_t(tensor.dims.size()), tensor.dims.data(), tensor.bytes.data(),
                     tensor.bytes.size(), WEFT_MEMORY_HOST, 0});
  return views;
}

//===--- The emulator: no clock ---===//

class EmulatedBed : public Bed {
public:
  explicit EmulatedBed(std::string device) : device(std::move(device)) {}
  std::string getCard() const override { return device; }
  bool hasClock() const override { return false; }
  Error begin(const std::string &path, const std::map<std::string, int64_t> &dims) override {
    Opened first;
    if (Error error = first.open(path, device))
      return error;
    return makeInputs(first.session.get(), dims, inputs);
  }
  std::vector<Tensor> &getInputs() override { return inputs; }
  Error open(const std::string &path, std::unique_ptr<Program> &program) override;

  std::string device;
  std::vector<Tensor> inputs;
};

/// Runs a session and copies its results.
Error runSession(const Opened &opened, std::vector<Tensor> &inputs, std::vector<Tensor> &results) {
  std::vector<weft_tensor> views = makeViews(inputs), outputs(opened.countOutputs());
  if (Error error =
          run::take(weft_session_run(opened.session.get(), views.data(), views.size(), outputs.data(), outputs.size())))
    return error;
  for (const weft_tensor &output : outputs) {
    const auto *data = static_cast<const uint8_t *>(output.data);
    results.push_back({DType(output.dtype), {output.dims, output.dims + output.rank}, {data, data + output.bytes}});
  }
  return {};
}

class EmulatedProgram : public Program {
public:
  explicit EmulatedProgram(EmulatedBed &bed) : bed(bed) {}
  Error run(std::vector<Tensor> &results) override { return runSession(opened, bed.inputs, results); }
  Error time(std::vector<double> &) override { return Error(ErrorCode::Unsupported, "the emulator measures no times"); }

  Opened opened;

private:
  EmulatedBed &bed;
};

Error EmulatedBed::open(const std::string &path, std::unique_ptr<Program> &program) {
  auto made = std::make_unique<EmulatedProgram>(*this);
  Error error = made->opened.open(path, device);
  program = std::move(made);
  return error;
}

//===--- A GPU ---===//

class CudaBed : public Bed {
public:
  ~CudaBed() override { freeInputs(); }
  Error openCard(const std::string &name, unsigned number);
  std::string getCard() const override { return card.getProperties().name; }
  Error begin(const std::string &path, const std::map<std::string, int64_t> &dims) override;
  std::vector<Tensor> &getInputs() override { return inputs; }
  Error open(const std::string &path, std::unique_ptr<Program> &program) override;

  static constexpr size_t kBegin = 0, kEnd = 1, kEvents = 2;
  tools::TimedCard card;
  std::string device;
  unsigned ordinal = 0;
  cuda::Address flushMemory = 0;
  uint64_t flushBytes = 0;
  unsigned char flushValue = 0;
  std::vector<Tensor> inputs;
  std::vector<weft_tensor> views;

private:
  void freeInputs();

  std::vector<cuda::Address> memory;
};

Error CudaBed::openCard(const std::string &name, unsigned number) {
  device = name;
  ordinal = number;
  if (Error error = card.open(ordinal, kEvents))
    return error;
  cuda::Context::Scope scope(card.getContext());
  if (Error error = scope.check())
    return error;
  flushBytes = 2 * std::max<uint64_t>(uint64_t(card.getProperties().l2Bytes), 1 << 20);
  return card.allocate(flushBytes, flushMemory);
}

void CudaBed::freeInputs() {
  if (memory.empty())
    return;
  cuda::Context::Scope scope(card.getContext());
  (void)card.wait();
  for (cuda::Address address : memory)
    (void)card.getDriver().memFree(address);
  memory.clear();
}

Error CudaBed::begin(const std::string &path, const std::map<std::string, int64_t> &dims) {
  Opened first;
  if (Error error = first.open(path, device))
    return error;
  if (Error error = makeInputs(first.session.get(), dims, inputs))
    return error;
  freeInputs();
  cuda::Context::Scope scope(card.getContext());
  if (Error error = scope.check())
    return error;
  const cuda::Driver &driver = card.getDriver();
  views = makeViews(inputs);
  for (weft_tensor &view : views) {
    cuda::Address address = 0;
    if (Error error = card.check(driver.memAlloc(&address, std::max<uint64_t>(view.bytes, 1)), "cuMemAlloc"))
      return error;
    memory.push_back(address);
    if (view.bytes)
      if (Error error =
              card.check(driver.memcpyToDevice(address, view.data, view.bytes, card.getStream()), "cuMemcpyHtoDAsync"))
        return error;
    // An address of the GPU, not of the host. NOLINTNEXTLINE(performance-no-int-to-ptr)
    view.data = reinterpret_cast<void *>(address);
    view.memory = WEFT_MEMORY_CUDA;
    view.card = int32_t(ordinal);
  }
  return card.wait();
}

class CudaProgram : public Program {
public:
  explicit CudaProgram(CudaBed &bed) : bed(bed) {}
  Error run(std::vector<Tensor> &results) override;
  Error time(std::vector<double> &seconds) override;

  Opened opened;

private:
  Error start() {
    outputs.assign(opened.countOutputs(), {});
    for (weft_tensor &output : outputs)
      output.memory = WEFT_MEMORY_CUDA;
    return run::take(weft_session_run_on(opened.session.get(), bed.card.getStream(), bed.views.data(), bed.views.size(),
                                         outputs.data(), outputs.size()));
  }

  CudaBed &bed;
  std::vector<weft_tensor> outputs;
};

Error CudaProgram::run(std::vector<Tensor> &results) {
  cuda::Context::Scope scope(bed.card.getContext());
  if (Error error = scope.check())
    return error;
  if (Error error = start())
    return error;
  for (const weft_tensor &output : outputs) {
    Tensor result;
    if (Error error = Tensor::create(DType(output.dtype), {output.dims, output.dims + output.rank}, result))
      return error;
    if (Error error = run::take(
            weft_session_copy_to_host(opened.session.get(), result.bytes.data(), output.data, result.bytes.size())))
      return error;
    results.push_back(std::move(result));
  }
  return {};
}

Error CudaProgram::time(std::vector<double> &seconds) {
  tools::TimedCard &card = bed.card;
  cuda::Context::Scope scope(card.getContext());
  if (Error error = scope.check())
    return error;
  if (Error error =
          card.check(card.getDriver().memsetBytes(bed.flushMemory, ++bed.flushValue, bed.flushBytes, card.getStream()),
                     "cuMemsetD8Async"))
    return error;
  if (Error error = card.record(CudaBed::kBegin))
    return error;
  if (Error error = start())
    return error;
  if (Error error = card.record(CudaBed::kEnd))
    return error;
  if (Error error = card.wait())
    return error;
  double milliseconds = 0;
  if (Error error = card.getMilliseconds(CudaBed::kBegin, CudaBed::kEnd, milliseconds))
    return error;
  seconds.push_back(milliseconds * 1e-3);
  return {};
}

Error CudaBed::open(const std::string &path, std::unique_ptr<Program> &program) {
  auto made = std::make_unique<CudaProgram>(*this);
  Error error = made->opened.open(path, device);
  program = std::move(made);
  return error;
}

} // namespace

Error Bed::create(const std::string &device, std::unique_ptr<Bed> &bed) {
  if (device.rfind("emu:", 0) == 0) {
    bed = std::make_unique<EmulatedBed>(device);
    return {};
  }
  bool isCard = device == "cuda" || device.rfind("cuda:", 0) == 0;
  std::string number = device.size() > 5 ? device.substr(5) : "0";
  if (!isCard || number.size() > 4 || number.find_first_not_of("0123456789") != number.npos)
    return Error(ErrorCode::Usage, "--device: expected cuda, cuda:N or emu:GPU, got " + bundle::quote(device));
  auto made = std::make_unique<CudaBed>();
  Error error = made->openCard(device, unsigned(std::strtoul(number.c_str(), nullptr, 10)));
  bed = std::move(made);
  return error;
}

Error tune::runOnHost(const std::string &path, std::vector<Tensor> &inputs, std::vector<Tensor> &results) {
  Opened opened;
  if (Error error = opened.open(path, "cpu"))
    return error;
  return runSession(opened, inputs, results);
}

void tune::warmUp(const std::vector<std::string> &paths, const std::string &device, unsigned processes,
                  double seconds) {
  double end = now() + seconds;
  std::vector<pid_t> children;
  for (unsigned child = 0; child < processes; ++child) {
    pid_t id = ::fork();
    if (id == 0) {
      for (size_t i = child; i < paths.size() && now() < end; i += processes) {
        Opened opened;
        (void)bool(opened.open(paths[i], device)); // Whoever times it says what is wrong.
      }
      ::_exit(0);
    }
    if (id > 0)
      children.push_back(id);
  }
  for (pid_t id : children)
    (void)::waitpid(id, nullptr, 0);
}

//===--- Results ---===//

/// What sums in another order may differ by, of the whole in the Euclidean norm.
static double getTolerance(DType dtype) {
  switch (dtype) {
  case DType::F64:
    return 1e-9;
  case DType::F32:
    return 2e-3; // Products may round their operands to tf32.
  case DType::F16:
    return 4e-3;
  case DType::BF16:
    return 2e-2;
  default:
    return isFloat(dtype) ? 0.1 : 0;
  }
}

std::string tune::compareResults(const std::vector<Tensor> &got, const std::vector<Tensor> &want) {
  constexpr int64_t mostElements = 1 << 18;
  if (got.size() != want.size())
    return "expected " + std::to_string(want.size()) + " results, got " + std::to_string(got.size());
  for (size_t r = 0; r < got.size(); ++r) {
    if (got[r].dtype != want[r].dtype || got[r].dims != want[r].dims)
      return "expected " + want[r].describe() + ", got " + got[r].describe();
    if (got[r].bytes == want[r].bytes)
      continue;
    int64_t count = got[r].getCount(), step = std::max<int64_t>(count / mostElements, 1) | 1; // Odd: not one column.
    double error = 0, norm = 0;
    for (int64_t i = 0; i < count; i += step) {
      double a = got[r].get(i), b = want[r].get(i);
      if (a == b || (std::isnan(a) && std::isnan(b)))
        a = b = std::isfinite(b) ? b : 0;
      error += (a - b) * (a - b);
      norm += b * b;
    }
    double relative = std::sqrt(error / std::max(norm, 1e-300));
    if (!(relative <= getTolerance(got[r].dtype)))
      return "result " + std::to_string(r) + " differs by " + std::to_string(relative) + " of its norm";
  }
  return "";
}

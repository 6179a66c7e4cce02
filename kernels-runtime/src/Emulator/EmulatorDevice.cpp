// The emulator as a device of the runtime.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device memory is the GPU's, addresses are the GPU's, and a dispatch returns when the launch has ended. Counters are
// kept per dispatch of the last run.
//
// Where kernels wait for the grids in front (programmatic dependent launch), launches overlap as far as that allows: a
// launch is held back until the next one has run up to its waits, or until its end is asked for. So what is read too
// early has not been written yet, and its errors come with the next call.
#include "EmulatorDevice.h"

#include "../Device.h"
#include "../Gpu/GpuCode.h"
#include "../Memory/WeightOrder.h"
#include "Async/TensorMap.h"
#include "Counters/LaunchCounters.h"
#include "Exec/Card.h"

#include <charconv>

using namespace weft;
using namespace weft::bundle;
using namespace weft::emu;

//===--------------------------------------------------------------------------------------------------------------===//
// The name
//===--------------------------------------------------------------------------------------------------------------===//

static std::string listCards() {
  std::string text;
  for (const Card &card : kCards)
    text += (text.empty() ? "" : ", ") + std::string(card.name) + " (" + std::string(card.architecture) + ")";
  return text;
}

static bool parseNumber(std::string_view text, uint64_t &value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

/// Sets `value` to the position of `text` in the list of words; false if it is not there.
template <class T, size_t N>
static bool parseWord(std::string_view text, const std::string_view (&words)[N], T &value) {
  for (size_t i = 0; i < N; ++i)
    if (words[i] == text) {
      value = T(i);
      return true;
    }
  return false;
}

static bool parseOption(std::string_view key, std::string_view value, LaunchOptions &options) {
  static constexpr std::string_view timings[] = {"early", "random", "late"};
  static constexpr std::string_view orders[] = {"random", "depth-first", "reverse"};
  static constexpr std::string_view placements[] = {"numbers", "reverse", "random"};
  static constexpr std::string_view switches[] = {"off", "on"};
  if (key == "seed")
    return parseNumber(value, options.seed);
  if (key == "limit")
    return parseNumber(value, options.instructionLimit) && options.instructionLimit;
  if (key == "timing")
    return parseWord(value, timings, options.timing);
  if (key == "order")
    return parseWord(value, orders, options.interleaving);
  if (key == "ctas")
    return parseWord(value, placements, options.beginOrder);
  if (key == "sanitizer")
    return parseWord(value, switches, options.isSanitized);
  return key == "counters" && parseWord(value, switches, options.isCounted);
}

Error emu::parseCard(std::string_view text, std::string &card, LaunchOptions &options) {
  size_t comma = text.find(',');
  card = text.substr(0, comma);
  if (!findCard(card))
    return Error(ErrorCode::Device, "the emulator has no GPU " + quote(card) + "; it has: " + listCards());
  while (comma != text.npos) {
    text.remove_prefix(comma + 1);
    comma = text.find(',');
    std::string_view option = text.substr(0, comma);
    size_t equals = option.find('=');
    if (equals == option.npos || !parseOption(option.substr(0, equals), option.substr(equals + 1), options))
      return Error(ErrorCode::Usage, "emulator: expected seed=N, timing=early|random|late, "
                                     "order=random|depth-first|reverse, ctas=numbers|reverse|random, "
                                     "sanitizer=on|off, counters=on|off or limit=N, got " +
                                         quote(option));
  }
  return {};
}

//===--------------------------------------------------------------------------------------------------------------===//
// The device
//===--------------------------------------------------------------------------------------------------------------===//

namespace {
class EmulatorDevice : public Device {
public:
  EmulatorDevice(std::string name, std::unique_ptr<Emulator> card, const LaunchOptions &options)
      : name(std::move(name)), emulator(std::move(card)), options(options),
        capabilities{this->name.c_str(), /*hostMemory=*/false,        /*workers=*/1, emulator->card().architecture,
                     /*card=*/-1,        emulator->card().memoryBytes} {}

  const DeviceCapabilities &getCapabilities() const override { return capabilities; }
  Error loadCode(LoadedBundle &bundle, std::string_view target) override;
  const std::string &getCode() const override { return codeText; }
  Error allocate(uint64_t bytes, void *&address) override;
  void free(void *address) override {
    settle();
    (void)emulator->free(toCard(address));
  }
  void discard(void *address, uint64_t bytes) override {
    settle();
    (void)emulator->poison(toCard(address), bytes);
  }
  Error upload(void *destination, const void *source, uint64_t bytes) override {
    Error error = synchronise();
    return error ? std::move(error) : emulator->write(toCard(destination), source, bytes);
  }
  Error download(void *destination, const void *source, uint64_t bytes) override {
    Error error = synchronise();
    return error ? std::move(error) : emulator->read(toCard(source), destination, bytes);
  }
  Error copy(void *destination, const void *source, uint64_t bytes) override;
  Error dispatch(const Launch &launch) override;
  Error synchronise() override {
    settle();
    return std::move(lateError);
  }
  Error placeReadOnly(LoadedBundle &bundle, std::vector<ReadOnlyData> &items) override;
  Error beginRun(std::optional<void *> stream) override {
    Error error = synchronise();
    launches.clear();
    return error ? std::move(error) : Device::beginRun(stream);
  }
  bool getCounters(bool asJson, std::string &text) const override;

private:
  /// A launch, from its dispatch to its end.
  struct Pending {
    std::unique_ptr<EarlyLaunch> launch;
    std::string kernel;
    Error error; ///< Of its begin.
  };
  static uint64_t toCard(const void *address) { return reinterpret_cast<uint64_t>(address); }
  Error prepare(const Launch &launch, Pending &next);
  Error finish(Pending &last);
  /// Ends the launch that was held back; what is wrong with it is for the next call.
  void settle() {
    std::unique_ptr<Pending> last = std::move(pending);
    if (!last)
      return;
    if (Error error = finish(*last); error && !lateError)
      lateError = std::move(error).within("kernel " + quote(last->kernel));
  }

  std::string name;
  std::unique_ptr<Emulator> emulator;
  LaunchOptions options;
  DeviceCapabilities capabilities;
  GpuCode code;
  const Tables *tables = nullptr;
  std::string codeText;
  uint32_t module = 0;
  std::vector<bool> waitsForGrids; ///< By kernel; empty: no kernel waits.
  std::unique_ptr<Pending> pending;
  Error lateError;
  struct Counted {
    std::string kernel;
    std::vector<Counter> counters;
  };
  std::vector<Counted> launches; ///< Of the last run.
};
} // namespace

Error EmulatorDevice::loadCode(LoadedBundle &bundle, std::string_view target) {
  if (Error error = GpuCode::choose(bundle, emulator->card().architecture, target, code))
    return error;
  tables = &bundle.getTables();
  codeText = code.getTarget();
  if (Error error = emulator->load(code.getPtx(), codeText, module))
    return error;
  std::vector<EntryInfo> entries;
  if (Error error = emulator->entries(module, entries))
    return error;
  for (const EntryInfo &entry : entries) {
    uint64_t number = 0;
    if (!entry.waitsForGrids || entry.name.empty() || !parseNumber(std::string_view(entry.name).substr(1), number))
      continue;
    if (number >= waitsForGrids.size())
      waitsForGrids.resize(number + 1);
    waitsForGrids[number] = true;
  }
  return {};
}

Error EmulatorDevice::allocate(uint64_t bytes, void *&address) {
  uint64_t result = 0;
  Error error = emulator->allocate(bytes ? bytes : 1, result);
  if (!error)
    // An address of the GPU, not of the host. NOLINTNEXTLINE(performance-no-int-to-ptr)
    address = reinterpret_cast<void *>(result);
  return error;
}

/// The GPU's memory is this session's alone, and goes with it.
Error EmulatorDevice::placeReadOnly(LoadedBundle &, std::vector<ReadOnlyData> &items) {
  for (ReadOnlyData &item : items) {
    uint64_t bytes = item.view.getBytes();
    if (Error error = allocate(bytes, item.address))
      return std::move(error).within(std::to_string(bytes) + " bytes of a weight");
    AlignedMemory made;
    const void *seen = item.view.part ? item.view.findInPlace() : item.view.stored;
    if (item.view.order || (item.view.part && !seen)) {
      if (Error error = makeSeenWeight(item.view, made))
        return error;
      seen = made.get();
    }
    if (Error error = upload(item.address, seen, bytes))
      return error;
  }
  return {};
}

Error EmulatorDevice::copy(void *destination, const void *source, uint64_t bytes) {
  if (Error error = synchronise())
    return error;
  std::vector<uint8_t> staging(bytes);
  if (Error error = emulator->read(toCard(source), staging.data(), bytes))
    return error;
  return emulator->write(toCard(destination), staging.data(), bytes);
}

/// The findings of one launch as an error: the first in full, the number of the others.
static Error makeError(const std::vector<Finding> &findings) {
  if (findings.empty())
    return {};
  std::string text = "sanitizer: " + findings.front().message;
  if (findings.size() > 1)
    text += "; and " + std::to_string(findings.size() - 1) + " more findings";
  return Error(ErrorCode::Device, text);
}

Error EmulatorDevice::prepare(const Launch &launch, Pending &next) {
  std::vector<uint8_t> parameters;
  if (Error error = code.packParameters(launch, encodeTensorMap, parameters))
    return error;
  const GpuKernelRecord &kernel = *code.getKernel(launch.kernel);
  std::string entry = "k" + std::to_string(launch.kernel);
  LaunchSpec spec;
  spec.module = module;
  spec.entry = entry;
  spec.grid.x = uint32_t(launch.grid);
  spec.block.x = kernel.threads;
  spec.cluster.x = kernel.clusterSize;
  spec.dynamicSharedBytes = kernel.sharedBytes;
  spec.parameters = parameters.data();
  spec.parameterBytes = parameters.size();
  spec.options = options;
  if (launch.steadyBytes) {
    spec.steady.emplace();
    for (uint32_t i = 0; i < launch.bufferCount; ++i)
      if (launch.steadyBytes[i] > 0)
        spec.steady->push_back({toCard(launch.buffers[i]), uint64_t(launch.steadyBytes[i])});
  }
  next.kernel = tables->getString(tables->kernels[launch.kernel].name);
  return emulator->prepare(spec, next.launch);
}

Error EmulatorDevice::finish(Pending &last) {
  if (last.error)
    return std::move(last.error);
  if (Error error = last.launch->finish())
    return error;
  if (options.isCounted)
    launches.push_back({last.kernel, std::move(last.launch->result.counters)});
  return makeError(last.launch->result.findings);
}

Error EmulatorDevice::dispatch(const Launch &launch) {
  auto next = std::make_unique<Pending>();
  bool isEarly = launch.kernel < waitsForGrids.size() && waitsForGrids[launch.kernel] && !launch.isFirst;
  if (!isEarly)
    settle();
  if (Error error = prepare(launch, *next))
    return error;
  if (waitsForGrids.empty())
    return finish(*next);
  if (isEarly)
    next->error = next->launch->begin();
  settle();
  if (lateError)
    return std::move(lateError).within("before it");
  pending = std::move(next);
  return {};
}

bool EmulatorDevice::getCounters(bool asJson, std::string &text) const {
  if (!options.isCounted)
    return false;
  text = asJson ? "[" : "";
  for (const Counted &launch : launches) {
    bool isFirst = &launch == &launches.front();
    if (asJson)
      text += std::string(isFirst ? "" : ", ") + "{\"kernel\": " + quoteJson(launch.kernel) +
              ", \"counters\": " + formatCountersJson(launch.counters) + "}";
    else
      text +=
          std::string(isFirst ? "" : "\n") + "kernel " + quote(launch.kernel) + "\n" + formatCounters(launch.counters);
  }
  text += asJson ? "]" : "";
  return true;
}

Error weft::createEmulatorDevice(std::string_view text, std::unique_ptr<Device> &device) {
  std::string card;
  LaunchOptions options;
  if (Error error = parseCard(text, card, options))
    return error;
  std::unique_ptr<Emulator> emulator;
  if (Error error = Emulator::create(card, emulator))
    return error;
  device = std::make_unique<EmulatorDevice>("emu:" + card, std::move(emulator), options);
  return {};
}

// NVIDIA GPUs as devices of the runtime.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work goes to one stream of the GPU's primary context at a time (StreamOrder.h), so everything happens in the order
// of the calls. Memory is allocated and freed in that order too where the driver can.
#include "CudaDevice.h"

#include "../Gpu/PtxEntries.h"
#include "Carveout.h"
#include "CudaCode.h"
#include "CudaData.h"
#include "CudaGraph.h"
#include "EarlyStart.h"
#include "SideStream.h"
#include "StreamOrder.h"

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cstring>
#include <optional>

using namespace weft;
using namespace weft::cuda;
using namespace weft::bundle;

namespace {
class CudaDevice : public Device {
public:
  CudaDevice(unsigned ordinal, std::shared_ptr<Context> sharedContext, const DeviceOptions &options)
      : name("cuda:" + std::to_string(ordinal)), context(std::move(sharedContext)), driver(context->getDriver()),
        options(options),
        capabilities{name.c_str(),
                     /*hostMemory=*/false,
                     /*workers=*/1,        context->getArchitecture(), int(ordinal), context->getMemoryBytes()},
        streams(*context), side(*context) {}
  Error open();

  const DeviceCapabilities &getCapabilities() const override { return capabilities; }
  Error loadCode(LoadedBundle &bundle, std::string_view target) override;
  const std::string &getCode() const override { return codeText; }
  Error allocate(uint64_t bytes, void *&address) override;
  void free(void *address) override;
  Error upload(void *destination, const void *source, uint64_t bytes) override;
  Error download(void *destination, const void *source, uint64_t bytes) override;
  Error copy(void *destination, const void *source, uint64_t bytes) override;
  Error placeReadOnly(LoadedBundle &bundle, std::vector<ReadOnlyData> &items) override;
  Error beginRun(std::optional<void *> stream) override;
  void endRun() override;
  ~CudaDevice() override;
  Error dispatch(const Launch &launch) override;
  Error dispatchTimed(const Launch &launch, uint64_t &nanoseconds) override;
  Error synchronise() override;
  Error query(bool &isDone) override;
  Error withStream(const std::function<Error(void *)> &start) override;
  Error startBeside(const std::function<Error(void *)> &start) override;
  Error awaitBeside(size_t left) override;
  void *getStream() const override { return streams.getOwn(); }
  Error makeWait(void *stream) override;
  bool canRecord() const override { return true; }
  Error beginRecording() override;
  Error endRecording(std::unique_ptr<Recording> &recording) override;
  Error replay(const Recording &recording) override;

private:
  static Address toCard(const void *address) { return reinterpret_cast<Address>(address); }
  Error placeParameters(const Launch &launch, uint32_t mapCount, const CudaCode::Function &function);
  Error encodeTensorMap(const TensorMapSpec &spec, uint8_t *bytes) const;
  /// At the begin of each method that uses the driver.
  Error enter(const Context::Scope &scope) {
    Error error = scope.check();
    return error || isRecording ? std::move(error) : streams.settle();
  }
  /// Where work goes: recordings are made on the own stream, whatever stream the run is on.
  Handle getTarget() const { return isRecording ? streams.getOwn() : streams.getCurrent(); }
  Error waitForStream() { return driver.check(driver.streamSynchronize(getTarget()), "cuStreamSynchronize"); }

  std::string name;
  std::shared_ptr<Context> context;
  const Driver &driver;
  DeviceOptions options;
  DeviceCapabilities capabilities;
  bool isRecording = false;
  GpuCode code;
  std::string codeText;
  std::shared_ptr<SharedResource> loaded;
  // Of a launch, kept for their memory.
  std::vector<uint8_t> parameters;
  struct alignas(kTensorMapAlignment) Line {
    uint8_t bytes[kTensorMapAlignment];
  };
  std::vector<Line> aligned;
  std::vector<void *> parameterAddresses;
  EarlyStart earlyStart;
  Carveout carveout;
  Handle timers[2] = {}; ///< Events around a launch, made when they are needed.
  StreamOrder streams;   ///< Behind what its work uses: it ends before that, and waits.
  SideStream side;       ///< The same.
};
} // namespace

//===--------------------------------------------------------------------------------------------------------------===//
// Begin and end
//===--------------------------------------------------------------------------------------------------------------===//

Error CudaDevice::open() {
  Context::Scope scope(*context);
  if (Error error = scope.check())
    return error;
  return streams.open();
}

CudaDevice::~CudaDevice() {
  Context::Scope scope(*context);
  for (Handle timer : timers)
    if (timer)
      (void)driver.eventDestroy(timer);
}

Error CudaDevice::loadCode(LoadedBundle &bundle, std::string_view target) {
  if (Error error = GpuCode::choose(bundle, context->getArchitecture(), target, code))
    return error;
  codeText = code.getTarget();
  auto load = [&](std::shared_ptr<SharedResource> &result) {
    std::string folder = options.cubinFolder ? *options.cubinFolder : getDefaultCubinFolder();
    return CudaCode::load(context, code, bundle.getTables(), folder, result);
  };
  if (hasGlobalVariables(code.getPtx())) // Of this session, whose launches come one after the other.
    return load(loaded);
  return bundle.getShared(name + "/" + codeText + "/" + options.cudaDriver, load, loaded);
}

Error CudaDevice::placeReadOnly(LoadedBundle &bundle, std::vector<ReadOnlyData> &items) {
  if (items.empty())
    return {};
  std::shared_ptr<SharedResource> shared;
  auto make = [&](std::shared_ptr<SharedResource> &result) {
    result = std::make_shared<CudaData>(context);
    return Error();
  };
  if (Error error = bundle.getShared(name + "/data/" + options.cudaDriver, make, shared))
    return error;
  return static_cast<CudaData &>(*shared).place(items, streams.getOwn());
}

//===--------------------------------------------------------------------------------------------------------------===//
// Memory
//===--------------------------------------------------------------------------------------------------------------===//

Error CudaDevice::allocate(uint64_t bytes, void *&address) {
  Context::Scope scope(*context);
  if (Error error = enter(scope))
    return error;
  Address result = 0;
  bytes = bytes ? bytes : 1;
  Error error = context->hasMemoryPools()
                    ? driver.check(driver.memAllocAsync(&result, bytes, getTarget()), "cuMemAllocAsync")
                    : driver.check(driver.memAlloc(&result, bytes), "cuMemAlloc");
  if (!error)
    // An address of the GPU, not of the host. NOLINTNEXTLINE(performance-no-int-to-ptr)
    address = reinterpret_cast<void *>(result);
  return error;
}

void CudaDevice::free(void *address) {
  Context::Scope scope(*context);
  (void)enter(scope); // If that fails, the context is gone, and the memory with it.
  if (context->hasMemoryPools())
    (void)driver.memFreeAsync(toCard(address), getTarget());
  else
    (void)driver.memFree(toCard(address));
}

Error CudaDevice::upload(void *destination, const void *source, uint64_t bytes) {
  if (bytes == 0)
    return {};
  Context::Scope scope(*context);
  if (Error error = enter(scope))
    return error;
  return driver.check(driver.memcpyToDevice(toCard(destination), source, bytes, getTarget()), "cuMemcpyHtoDAsync");
}

Error CudaDevice::download(void *destination, const void *source, uint64_t bytes) {
  if (bytes == 0)
    return {};
  Context::Scope scope(*context);
  if (Error error = enter(scope))
    return error;
  return driver.check(driver.memcpyToHost(destination, toCard(source), bytes, getTarget()), "cuMemcpyDtoHAsync");
}

Error CudaDevice::copy(void *destination, const void *source, uint64_t bytes) {
  if (bytes == 0)
    return {};
  Context::Scope scope(*context);
  if (Error error = enter(scope))
    return error;
  return driver.check(driver.memcpyOnDevice(toCard(destination), toCard(source), bytes, getTarget()),
                      "cuMemcpyDtoDAsync");
}

//===--------------------------------------------------------------------------------------------------------------===//
// Work
//===--------------------------------------------------------------------------------------------------------------===//

Error CudaDevice::encodeTensorMap(const TensorMapSpec &spec, uint8_t *bytes) const {
  if (Error error = checkTensorMap(spec))
    return error;
  alignas(kTensorMapAlignment) uint8_t encoded[kTensorMapBytes];
  Result result =
      driver.tensorMapEncodeTiled(encoded, int(spec.type), spec.rank, reinterpret_cast<void *>(spec.globalAddress),
                                  spec.globalDim, spec.globalStrides, spec.boxDim, spec.elementStrides,
                                  int(spec.interleave), int(spec.swizzle), int(spec.l2Promotion), int(spec.fill));
  if (Error error = driver.check(result, "cuTensorMapEncodeTiled"))
    return error;
  std::memcpy(bytes, encoded, sizeof encoded);
  return {};
}

/// The address of each parameter in the packed bytes: words, and tensor maps at the end. The driver gets them one by
/// one, since it alone knows where they go: it aligns tensor maps in the constant bank, whose parameters begin at 16
/// mod 64.
Error CudaDevice::placeParameters(const Launch &launch, uint32_t mapCount, const CudaCode::Function &function) {
  size_t words = size_t(launch.bufferCount) + launch.scalarCount, count = words + mapCount;
  if (function.parameters >= 0 && size_t(function.parameters) != count)
    return makeError(ErrorCode::Input, "expected %d parameters, got %zu", function.parameters, count);
  aligned.resize((parameters.size() + sizeof(Line) - 1) / sizeof(Line));
  auto *base = reinterpret_cast<uint8_t *>(aligned.data());
  std::copy(parameters.begin(), parameters.end(), base);
  parameterAddresses.clear();
  for (size_t i = 0; i < words; ++i)
    parameterAddresses.push_back(base + i * sizeof(uint64_t));
  for (size_t i = mapCount; i > 0; --i)
    parameterAddresses.push_back(base + parameters.size() - i * kTensorMapBytes);
  return {};
}

Error CudaDevice::dispatch(const Launch &launch) {
  auto encode = [this](const TensorMapSpec &spec, uint8_t *bytes) { return encodeTensorMap(spec, bytes); };
  Context::Scope scope(*context);
  if (Error error = enter(scope))
    return error;
  if (Error error = code.packParameters(launch, encode, parameters))
    return error;
  const GpuKernelRecord &kernel = *code.getKernel(launch.kernel);
  const CudaCode::Function &function = static_cast<const CudaCode &>(*loaded).getFunction(launch.kernel);
  // CTAs that wait for each other are to run all at once. Another library's kernel that waits for other GPUs would keep
  // SMs from some of them, as they would from it: neither would end.
  bool isAlone = kernel.residentCtas > 0;
  if (isAlone)
    if (Error error = side.await(getTarget(), 0))
      return error;
  LaunchAttribute attributes[2] = {};
  LaunchConfig config = {
      {unsigned(launch.grid), 1, 1}, {kernel.threads, 1, 1}, kernel.sharedBytes, getTarget(), attributes, 0};
  if (kernel.clusterSize > 1) {
    LaunchAttribute &attribute = attributes[config.attributeCount++];
    attribute.id = kLaunchClusterDimension;
    attribute.value.clusterDim[0] = kernel.clusterSize;
    attribute.value.clusterDim[1] = attribute.value.clusterDim[2] = 1;
  }
  const SmLimits &limits = static_cast<const CudaCode &>(*loaded).getLimits();
  CtaNeeds needs = {kernel.threads, function.registers, kernel.sharedBytes};
  // What a run reads stays as it is from its first kernel's begin on: others may read it before they wait.
  bool canStartEarly = function.waitsForGrids && !launch.isFirst && !isAlone;
  std::optional<unsigned> early = earlyStart.follow(limits, needs, launch.grid, canStartEarly);
  if (early && *early > needs.sharedBytes) {
    needs.sharedBytes = config.sharedBytes = *early;
    if (Error error = driver.check(driver.functionSetAttribute(function.handle, MaxDynamicSharedBytes, int(*early)),
                                   "cuFuncSetAttribute"))
      return error;
  }
  if (limits.sharedBytes > 1) // Known of code whose kernels start early.
    if (std::optional<int> percent = carveout.follow(limits, needs, launch.grid, launch.kernel))
      if (Error error = driver.check(driver.functionSetAttribute(function.handle, PreferredSharedPercent, *percent),
                                     "cuFuncSetAttribute"))
        return error;
  if (early) {
    LaunchAttribute &attribute = attributes[config.attributeCount++];
    attribute.id = kLaunchProgrammaticOrder;
    attribute.value.flag = 1;
  }
  if (Error error = placeParameters(launch, kernel.tensorMapCount, function))
    return error;
  return driver.check(driver.launchKernelEx(&config, function.handle, parameterAddresses.data(), nullptr),
                      "cuLaunchKernelEx");
}

/// Events around the launch: without the time that the host takes to start it and to be woken.
Error CudaDevice::dispatchTimed(const Launch &launch, uint64_t &nanoseconds) {
  Context::Scope scope(*context);
  if (Error error = enter(scope))
    return error;
  for (Handle &timer : timers)
    if (!timer)
      if (Error error = driver.check(driver.eventCreate(&timer, 0), "cuEventCreate"))
        return error;
  if (Error error = driver.check(driver.eventRecord(timers[0], getTarget()), "cuEventRecord"))
    return error;
  if (Error error = dispatch(launch))
    return error;
  if (Error error = driver.check(driver.eventRecord(timers[1], getTarget()), "cuEventRecord"))
    return error;
  if (Error error = waitForStream())
    return error;
  float milliseconds = 0;
  if (Error error = driver.check(driver.eventElapsedTime(&milliseconds, timers[0], timers[1]), "cuEventElapsedTime"))
    return error;
  nanoseconds = uint64_t(double(milliseconds) * 1e6);
  return {};
}

Error CudaDevice::synchronise() {
  Context::Scope scope(*context);
  if (Error error = enter(scope))
    return error;
  return waitForStream();
}

Error CudaDevice::query(bool &isDone) {
  Context::Scope scope(*context);
  if (Error error = enter(scope))
    return error;
  Result state = driver.streamQuery(getTarget());
  isDone = state != result::NotReady;
  return isDone ? driver.check(state, "cuStreamQuery") : Error();
}

Error CudaDevice::withStream(const std::function<Error(void *)> &start) {
  Context::Scope scope(*context);
  if (Error error = enter(scope))
    return error;
  return start(getTarget());
}

Error CudaDevice::startBeside(const std::function<Error(void *)> &start) {
  Context::Scope scope(*context);
  if (Error error = enter(scope))
    return error;
  return side.start(getTarget(), start);
}

Error CudaDevice::awaitBeside(size_t left) {
  Context::Scope scope(*context);
  if (Error error = enter(scope))
    return error;
  return side.await(getTarget(), left);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Streams and recordings
//===--------------------------------------------------------------------------------------------------------------===//

Error CudaDevice::beginRun(std::optional<void *> stream) {
  Context::Scope scope(*context);
  if (Error error = scope.check())
    return error;
  carveout.begin();
  return streams.begin(stream);
}

void CudaDevice::endRun() {
  Context::Scope scope(*context);
  (void)side.settle();
  streams.end();
}

Error CudaDevice::makeWait(void *stream) {
  Context::Scope scope(*context);
  if (Error error = scope.check())
    return error;
  return streams.makeWait(stream);
}

Error CudaDevice::beginRecording() {
  Context::Scope scope(*context);
  if (Error error = enter(scope))
    return error;
  if (Error error = CudaGraph::beginCapture(driver, streams.getOwn()))
    return error;
  isRecording = true;
  return {};
}

Error CudaDevice::endRecording(std::unique_ptr<Recording> &recording) {
  Context::Scope scope(*context);
  isRecording = false;
  if (!recording)
    recording = std::make_unique<CudaGraph>(context);
  Error error = static_cast<CudaGraph &>(*recording).endCapture(streams.getOwn());
  (void)side.settle(); // What failed has not joined.
  return error;
}

Error CudaDevice::replay(const Recording &recording) {
  Context::Scope scope(*context);
  if (Error error = enter(scope))
    return error;
  return static_cast<const CudaGraph &>(recording).launch(getTarget());
}

//===--------------------------------------------------------------------------------------------------------------===//
// The name
//===--------------------------------------------------------------------------------------------------------------===//

/// "cuda" or "cuda:N".
static bool parseName(std::string_view name, unsigned &ordinal) {
  constexpr std::string_view prefix = "cuda";
  ordinal = 0;
  if (name.substr(0, prefix.size()) != prefix)
    return false;
  name.remove_prefix(prefix.size());
  if (name.empty())
    return true;
  name.remove_prefix(1);
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), ordinal);
  return !name.empty() && name.data()[-1] == ':' && error == std::errc() && end == name.data() + name.size();
}

Error weft::createCudaDevice(std::string_view name, const DeviceOptions &options, std::unique_ptr<Device> &device) {
  unsigned ordinal;
  if (!parseName(name, ordinal))
    return Error(ErrorCode::Usage, "expected the device cuda or cuda:N with the number of a GPU, got " + quote(name));
  std::shared_ptr<Context> context;
  if (Error error = Context::create(options.cudaDriver, ordinal, context))
    return error;
  auto created = std::make_unique<CudaDevice>(ordinal, std::move(context), options);
  if (Error error = created->open())
    return error;
  device = std::move(created);
  return {};
}

// A driver library without a GPU.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entry points of Cuda/DriverApi.h over host memory. "Compiled" code is the PTX behind a signature; the kernels
// that run are that of makeAddPtx and those of Cuda/CudaOrder.h.
#include "FakeCuda.h"
#include "FakeKernels.h"

#include "Cuda/DriverApi.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sched.h>

using namespace weft::test;
using namespace weft::cuda;

#define EXPORT extern "C" __attribute__((visibility("default")))
#define ENTER(NAME)                                                                                                    \
  if (Result code = enter(NAME))                                                                                       \
    return code;
#define ENTER_WITH_CONTEXT(NAME)                                                                                       \
  if (state.contextStack.empty())                                                                                      \
    ++state.misuses;                                                                                                   \
  ENTER(NAME)

static FakeCuda state;
EXPORT FakeCuda *weftFakeCuda() { return &state; }

namespace {
/// At the end of the process: what was made and what is left, one `NAME COUNT` a line, into the file that the
/// environment names. For tests of processes that cannot look into `state`, which ends after this.
struct Report {
  ~Report();
} report;
} // namespace

Report::~Report() {
  const char *path = std::getenv("WEFT_FAKE_CUDA_REPORT");
  FILE *file = path ? std::fopen(path, "w") : nullptr;
  if (!file)
    return;
  const std::pair<const char *, size_t> numbers[] = {
      {"allocations", size_t(state.calls["cuMemAlloc"] + state.calls["cuMemAllocAsync"])},
      {"frees", size_t(state.calls["cuMemFree"] + state.calls["cuMemFreeAsync"])},
      {"memory", state.memory.size()},
      {"streams", state.streams.size()},
      {"modules", state.modules.size()},
      {"events", state.events.size()},
      {"graphs", state.graphs.size() + state.executables.size()},
      {"contexts", size_t(state.contexts)},
      {"misuses", state.misuses},
  };
  for (auto [name, value] : numbers)
    std::fprintf(file, "%s %zu\n", name, value);
  std::fclose(file);
}

namespace {
constexpr char kSignature[] = "CUBIN:";
struct Function {
  std::string name;
  std::vector<size_t> sizes; ///< Of its parameters.
  bool isAdd = false;        ///< That of makeAddPtx: its count has a name and a signed type.
};
struct Module {
  std::string text;
  std::map<std::string, Function> functions; ///< The handle of a function is its node's value.
};
struct Linker {
  char *log;
  std::string code;
};
} // namespace

static Result enter(const char *name) {
  ++state.calls[name];
  auto found = state.failures.find(name);
  return found == state.failures.end() ? result::Success : found->second;
}

/// The null stream is every context's.
static bool isStream(Handle stream) { return !stream || state.streams.count(stream); }

/// Does `work` now, or when the graph is launched that `stream` is captured for.
static Result start(Handle stream, const std::string &node, const std::function<void(void *)> &work) {
  state.misuses += !isStream(stream);
  if (!state.findCapture(stream))
    state.order.emplace_back(node == "copy" ? "copy" : "kernel", stream);
  state.add(stream, node, work);
  return result::Success;
}

static char *findLog(unsigned count, const int *options, void **values) {
  for (unsigned i = 0; i < count; ++i)
    if (options[i] == ErrorLogBuffer)
      return static_cast<char *>(values[i]);
  return nullptr;
}

static Result fail(Result code, char *log) {
  if (log)
    std::strcpy(log, state.log.c_str());
  return code;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Errors, devices, contexts, streams
//===--------------------------------------------------------------------------------------------------------------===//

static const struct {
  Result code;
  const char *name, *text;
} kErrors[] = {
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "PTX JIT compiler library not found"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

EXPORT Result cuGetErrorName(Result code, const char **name) {
  for (const auto &error : kErrors)
    if (error.code == code) {
      *name = error.name;
      return result::Success;
    }
  return result::InvalidValue;
}

EXPORT Result cuGetErrorString(Result code, const char **text) {
  for (const auto &error : kErrors)
    if (error.code == code) {
      *text = error.text;
      return result::Success;
    }
  return result::InvalidValue;
}

EXPORT Result cuInit(unsigned) { return enter("cuInit"); }

EXPORT Result cuDriverGetVersion(int *version) {
  ENTER("cuDriverGetVersion")
  *version = state.version;
  return result::Success;
}

EXPORT Result cuDeviceGetCount(int *count) {
  ENTER("cuDeviceGetCount")
  *count = state.devices;
  return result::Success;
}

EXPORT Result cuDeviceGet(DeviceNumber *device, int ordinal) {
  ENTER("cuDeviceGet")
  *device = ordinal + 10;
  return ordinal < state.devices ? result::Success : result::InvalidDevice;
}

EXPORT Result cuDeviceGetAttribute(int *value, int attribute, DeviceNumber device) {
  ENTER("cuDeviceGetAttribute")
  state.misuses += device < 10;
  *value = attribute == ComputeCapabilityMajor        ? state.major
           : attribute == ComputeCapabilityMinor      ? state.minor
           : attribute == L2CacheBytes                ? 1 << 20
           : attribute == MultiprocessorCount         ? 4
           : attribute == MemoryPoolsSupported        ? state.pools
           : attribute == ReservedSharedBytesPerBlock ? 0
                                                      : 1 << 16; // Threads, registers and bytes of an SM.
  return result::Success;
}

EXPORT Result cuDeviceGetName(char *name, int bytes, DeviceNumber) {
  ENTER("cuDeviceGetName")
  std::snprintf(name, size_t(bytes), "Fake GPU");
  return result::Success;
}

EXPORT Result cuDeviceTotalMem_v2(size_t *bytes, DeviceNumber) {
  ENTER("cuDeviceTotalMem")
  *bytes = state.memoryBytes;
  return result::Success;
}

EXPORT Result cuDevicePrimaryCtxRetain(Handle *context, DeviceNumber) {
  ENTER("cuDevicePrimaryCtxRetain")
  *context = &state;
  ++state.contexts;
  return result::Success;
}

EXPORT Result cuDevicePrimaryCtxRelease_v2(DeviceNumber) {
  ENTER("cuDevicePrimaryCtxRelease")
  --state.contexts;
  return result::Success;
}

EXPORT Result cuCtxPushCurrent_v2(Handle context) {
  ENTER("cuCtxPushCurrent")
  state.contextStack.push_back(context);
  return result::Success;
}

EXPORT Result cuCtxPopCurrent_v2(Handle *context) {
  ENTER_WITH_CONTEXT("cuCtxPopCurrent")
  *context = state.contextStack.back();
  state.contextStack.pop_back();
  return result::Success;
}

EXPORT Result cuStreamCreate(Handle *stream, unsigned) {
  ENTER_WITH_CONTEXT("cuStreamCreate")
  *stream = std::malloc(1);
  state.streams.insert(*stream);
  return result::Success;
}

EXPORT Result cuStreamDestroy_v2(Handle stream) {
  ENTER_WITH_CONTEXT("cuStreamDestroy")
  state.misuses += !state.streams.erase(stream) || state.captures.count(stream);
  std::free(stream);
  return result::Success;
}

EXPORT Result cuStreamSynchronize(Handle stream) {
  while (!state.finishPending())
    ::sched_yield();
  std::vector<std::function<void()>> downloads = std::move(state.downloads[stream]);
  state.downloads.erase(stream);
  ENTER_WITH_CONTEXT("cuStreamSynchronize")
  for (const auto &download : downloads)
    download();
  state.misuses += !isStream(stream) || state.captures.count(stream);
  return result::Success;
}

EXPORT Result cuStreamQuery(Handle stream) {
  return state.finishPending() ? cuStreamSynchronize(stream) : result::NotReady;
}

EXPORT Result cuStreamWaitEvent(Handle stream, Handle event, unsigned) {
  ENTER_WITH_CONTEXT("cuStreamWaitEvent")
  bool isOfCapture = state.joinCapture(stream, event);
  state.misuses += !isStream(stream) || !state.events.count(event) || (state.findCapture(stream) && !isOfCapture);
  state.order.emplace_back("wait", stream);
  return result::Success;
}

EXPORT Result cuEventCreate(Handle *event, unsigned) {
  ENTER_WITH_CONTEXT("cuEventCreate")
  *event = std::malloc(1);
  state.events.insert(*event);
  return result::Success;
}

EXPORT Result cuEventDestroy_v2(Handle event) {
  ENTER_WITH_CONTEXT("cuEventDestroy")
  state.misuses += !state.events.erase(event);
  std::free(event);
  return result::Success;
}

EXPORT Result cuEventRecord(Handle event, Handle stream) {
  ENTER_WITH_CONTEXT("cuEventRecord")
  state.misuses += !isStream(stream) || !state.events.count(event);
  state.marks.erase(event);
  if (void *capture = state.findCapture(stream))
    state.marks[event] = {capture, stream};
  state.order.emplace_back("record", stream);
  return result::Success;
}

EXPORT Result cuEventSynchronize(Handle event) {
  ENTER_WITH_CONTEXT("cuEventSynchronize")
  state.misuses += !state.events.count(event);
  return result::Success;
}

EXPORT Result cuEventElapsedTime(float *milliseconds, Handle begin, Handle end) {
  ENTER_WITH_CONTEXT("cuEventElapsedTime")
  state.misuses += !state.events.count(begin) || !state.events.count(end);
  *milliseconds = 0.25f + 0.001f * float(state.calls["cuEventElapsedTime"] % 7);
  return result::Success;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Graphs
//===--------------------------------------------------------------------------------------------------------------===//

EXPORT Result cuStreamBeginCapture_v2(Handle stream, int mode) {
  ENTER_WITH_CONTEXT("cuStreamBeginCapture")
  state.misuses += !stream || !isStream(stream) || mode != kCaptureThreadLocal;
  state.captures[stream] = {};
  return result::Success;
}

EXPORT Result cuStreamIsCapturing(Handle stream, int *status) {
  ENTER_WITH_CONTEXT("cuStreamIsCapturing")
  state.misuses += !isStream(stream);
  *status = int(state.captures.count(stream));
  return result::Success;
}

EXPORT Result cuStreamEndCapture(Handle stream, Handle *graph) {
  auto capture = state.captures.find(stream);
  state.misuses += capture == state.captures.end();
  if (capture == state.captures.end())
    return result::InvalidValue;
  FakeGraph captured = std::move(capture->second);
  state.captures.erase(capture); // Also when it fails.
  *graph = nullptr;
  constexpr Result unjoined = 904;
  for (const auto &fork : captured.forked)
    if (fork.second)
      return unjoined;
  ENTER_WITH_CONTEXT("cuStreamEndCapture")
  *graph = new FakeGraph(std::move(captured));
  state.graphs.insert(*graph);
  return result::Success;
}

EXPORT Result cuGraphInstantiateWithFlags(Handle *executable, Handle graph, unsigned long long) {
  ENTER_WITH_CONTEXT("cuGraphInstantiate")
  state.misuses += !state.graphs.count(graph);
  *executable = new FakeGraph(*static_cast<FakeGraph *>(graph));
  state.executables.insert(*executable);
  return result::Success;
}

EXPORT Result cuGraphExecUpdate_v2(Handle executable, Handle graph, GraphUpdateInfo *) {
  ENTER_WITH_CONTEXT("cuGraphExecUpdate")
  state.misuses += !state.graphs.count(graph) || !state.executables.count(executable);
  auto &target = *static_cast<FakeGraph *>(executable);
  const auto &source = *static_cast<FakeGraph *>(graph);
  constexpr Result updateFailure = 910;
  if (state.refusesUpdates || target.nodes != source.nodes)
    return updateFailure;
  target = source;
  return result::Success;
}

EXPORT Result cuGraphLaunch(Handle executable, Handle stream) {
  ENTER_WITH_CONTEXT("cuGraphLaunch")
  state.misuses += !state.executables.count(executable) || !isStream(stream);
  state.order.emplace_back("graph", stream);
  for (const auto &work : static_cast<FakeGraph *>(executable)->work)
    state.startWork([work, stream] { work(stream); });
  return result::Success;
}

EXPORT Result cuGraphDestroy(Handle graph) {
  ENTER_WITH_CONTEXT("cuGraphDestroy")
  state.misuses += !state.graphs.erase(graph);
  delete static_cast<FakeGraph *>(graph);
  return result::Success;
}

EXPORT Result cuGraphExecDestroy(Handle executable) {
  ENTER_WITH_CONTEXT("cuGraphExecDestroy")
  state.misuses += !state.executables.erase(executable);
  delete static_cast<FakeGraph *>(executable);
  return result::Success;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Memory
//===--------------------------------------------------------------------------------------------------------------===//

static Result allocate(const char *name, Address *address, size_t bytes) {
  constexpr size_t alignment = 256;
  uint64_t used = 0;
  for (const auto &[begin, size] : state.sizes)
    used += size;
  if (bytes > state.memoryBytes - used)
    return result::OutOfMemory;
  void *memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  *address = reinterpret_cast<Address>(memory);
  if (memory) {
    state.memory[*address] = name;
    state.sizes[*address] = bytes;
  }
  return memory ? result::Success : result::OutOfMemory;
}

static Result release(const char *maker, Address address) {
  auto found = state.memory.find(address);
  if (found == state.memory.end() || found->second != maker) {
    ++state.misuses;
    return result::InvalidValue;
  }
  state.memory.erase(found);
  state.sizes.erase(address);
  std::free(reinterpret_cast<void *>(address));
  return result::Success;
}

static Result move(void *destination, const void *source, size_t bytes, Handle stream) {
  return start(stream, "copy", [=](void *) { std::memmove(destination, source, bytes); });
}

EXPORT Result cuMemAlloc_v2(Address *address, size_t bytes) {
  ENTER_WITH_CONTEXT("cuMemAlloc")
  return allocate("cuMemAlloc", address, bytes);
}
EXPORT Result cuMemAllocAsync(Address *address, size_t bytes, Handle) {
  ENTER_WITH_CONTEXT("cuMemAllocAsync")
  return allocate("cuMemAllocAsync", address, bytes);
}
EXPORT Result cuMemFree_v2(Address address) {
  ENTER_WITH_CONTEXT("cuMemFree")
  return release("cuMemAlloc", address);
}
EXPORT Result cuMemFreeAsync(Address address, Handle) {
  ENTER_WITH_CONTEXT("cuMemFreeAsync")
  return release("cuMemAllocAsync", address);
}
EXPORT Result cuMemsetD8Async(Address address, unsigned char value, size_t bytes, Handle stream) {
  ENTER_WITH_CONTEXT("cuMemsetD8Async")
  return start(stream, "copy", [=](void *) { std::memset(reinterpret_cast<void *>(address), value, bytes); });
}
EXPORT Result cuMemcpyHtoDAsync_v2(Address destination, const void *source, size_t bytes, Handle stream) {
  ENTER_WITH_CONTEXT("cuMemcpyHtoDAsync")
  return move(reinterpret_cast<void *>(destination), source, bytes, stream);
}
EXPORT Result cuMemcpyDtoHAsync_v2(void *destination, Address source, size_t bytes, Handle stream) {
  ENTER_WITH_CONTEXT("cuMemcpyDtoHAsync")
  state.misuses += !isStream(stream) || state.captures.count(stream);
  state.order.emplace_back("copy", stream);
  const auto *begin = reinterpret_cast<const uint8_t *>(source);
  bool isLate =
      !state.pending.empty() || (state.isBusy && state.isBusy()); // What the other library makes is not there yet.
  state.downloads[stream].push_back([=, data = std::vector<uint8_t>(begin, begin + (isLate ? 0 : bytes))] {
    std::memcpy(destination, isLate ? begin : data.data(), bytes);
  });
  return result::Success;
}
EXPORT Result cuMemcpyDtoDAsync_v2(Address destination, Address source, size_t bytes, Handle stream) {
  ENTER_WITH_CONTEXT("cuMemcpyDtoDAsync")
  return move(reinterpret_cast<void *>(destination), reinterpret_cast<const void *>(source), bytes, stream);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Code
//===--------------------------------------------------------------------------------------------------------------===//

EXPORT Result cuModuleLoadDataEx(Handle *module, const void *image, unsigned count, int *options, void **values) {
  char *log = findLog(count, options, values);
  if (state.contextStack.empty())
    ++state.misuses;
  if (Result code = enter("cuModuleLoadDataEx"))
    return fail(code, log);
  std::string text = static_cast<const char *>(image);
  bool isCubin = text.rfind(kSignature, 0) == 0;
  if (isCubin ? state.refusesCubins : text.rfind(".version", 0) != 0)
    return fail(isCubin ? result::InvalidImage : result::InvalidPtx, log);
  state.compilations += !isCubin;
  *module = new Module{text, {}};
  state.modules.insert(*module);
  return result::Success;
}

EXPORT Result cuModuleUnload(Handle module) {
  ENTER_WITH_CONTEXT("cuModuleUnload")
  state.misuses += !state.modules.erase(module);
  delete static_cast<Module *>(module);
  return result::Success;
}

EXPORT Result cuModuleGetFunction(Handle *function, Handle handle, const char *name) {
  ENTER_WITH_CONTEXT("cuModuleGetFunction")
  auto &module = *static_cast<Module *>(handle);
  size_t begin = module.text.find(std::string(".entry ") + name + "(");
  if (begin == module.text.npos)
    return result::NotFound;
  Function &value = module.functions[name] = {name, {}, false};
  std::string list = module.text.substr(begin, module.text.find(')', begin) - begin);
  for (size_t at = list.find(".param"); at != list.npos; at = list.find(".param", at + 1))
    value.sizes.push_back(list.compare(at, 13, ".param .align") == 0 ? std::stoul(list.substr(list.find('[', at) + 1))
                                                                     : sizeof(uint64_t));
  value.isAdd = list.find(".param .s64 n") != list.npos;
  *function = &value;
  return result::Success;
}

EXPORT Result cuFuncGetAttribute(int *value, int, Handle function) {
  ENTER_WITH_CONTEXT("cuFuncGetAttribute")
  state.misuses += !function;
  *value = 32;
  return result::Success;
}

EXPORT Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int *value, Handle function, int threads, size_t) {
  ENTER_WITH_CONTEXT("cuOccupancyMaxActiveBlocksPerMultiprocessor")
  state.misuses += !function || threads < 1;
  *value = 2;
  return result::Success;
}

EXPORT Result cuFuncSetAttribute(Handle function, int attribute, int value) {
  ENTER_WITH_CONTEXT("cuFuncSetAttribute")
  state.attributes[static_cast<Function *>(function)->name][attribute] = value;
  return result::Success;
}

EXPORT Result cuLinkCreate_v2(unsigned count, int *options, void **values, Handle *linker) {
  ENTER_WITH_CONTEXT("cuLinkCreate")
  *linker = new Linker{findLog(count, options, values), kSignature};
  state.linkers.insert(*linker);
  return result::Success;
}

EXPORT Result cuLinkAddData_v2(Handle linker, int type, void *data, size_t bytes, const char *, unsigned, int *,
                               void **) {
  auto &target = *static_cast<Linker *>(linker);
  if (Result code = enter("cuLinkAddData"))
    return fail(code, target.log);
  const auto *text = static_cast<const char *>(data);
  state.misuses += type != kJitInputPtx || text[bytes - 1] != 0;
  if (std::strncmp(text, ".version", 8) != 0)
    return fail(result::InvalidPtx, target.log);
  target.code += text;
  return result::Success;
}

EXPORT Result cuLinkComplete(Handle linker, void **code, size_t *bytes) {
  auto &target = *static_cast<Linker *>(linker);
  if (Result error = enter("cuLinkComplete"))
    return fail(error, target.log);
  ++state.compilations;
  *code = target.code.data();
  *bytes = target.code.size() + 1;
  return result::Success;
}

EXPORT Result cuLinkDestroy(Handle linker) {
  ENTER_WITH_CONTEXT("cuLinkDestroy")
  state.misuses += !state.linkers.erase(linker);
  delete static_cast<Linker *>(linker);
  return result::Success;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Launches
//===--------------------------------------------------------------------------------------------------------------===//

EXPORT Result cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *address, const uint64_t *dims,
                                     const uint64_t *strides, const uint32_t *box, const uint32_t *, int interleave,
                                     int swizzle, int promotion, int fill) {
  ENTER("cuTensorMapEncodeTiled")
  state.maps.push_back({type,
                        swizzle,
                        interleave,
                        promotion,
                        fill,
                        reinterpret_cast<uint64_t>(address),
                        {dims, dims + rank},
                        {strides, strides + rank - 1},
                        {box, box + rank},
                        reinterpret_cast<uintptr_t>(map) % kTensorMapAlignment == 0});
  std::memset(map, 0xAB, kTensorMapBytes);
  return result::Success;
}

EXPORT Result cuLaunchKernelEx(const LaunchConfig *config, Handle function, void **parameters, void **extra) {
  ENTER_WITH_CONTEXT("cuLaunchKernelEx")
  state.misuses += extra != nullptr;
  const Function &target = *static_cast<Function *>(function);
  FakeLaunch launch{target.name, config->grid[0], config->block[0], config->sharedBytes, 0, {}, true, nullptr, false};
  for (size_t i = 0; i < target.sizes.size(); ++i) {
    const auto *bytes = static_cast<const uint8_t *>(parameters[i]);
    launch.parameters.push_back({bytes, bytes + target.sizes[i]});
    if (target.sizes[i] == kTensorMapBytes)
      launch.isAligned &= reinterpret_cast<uintptr_t>(bytes) % kTensorMapAlignment == 0;
  }
  for (unsigned i = 0; i < config->attributeCount; ++i)
    if (config->attributes[i].id == kLaunchClusterDimension)
      launch.cluster = config->attributes[i].value.clusterDim[0];
    else if (config->attributes[i].id == kLaunchProgrammaticOrder)
      launch.isProgrammatic = config->attributes[i].value.flag != 0;
    else
      ++state.misuses;
  return start(config->stream, target.name, [launch, isAdd = target.isAdd](void *stream) {
    if (isAdd)
      add(launch);
    else if (launch.function.compare(0, 5, "order") == 0)
      order(launch);
    state.launches.push_back(launch);
    state.launches.back().stream = stream;
  });
}

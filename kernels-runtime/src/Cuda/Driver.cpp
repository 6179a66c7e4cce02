// The CUDA driver, loaded at run time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Driver.h"

#include <dlfcn.h>

using namespace weft;
using namespace weft::cuda;
using namespace weft::bundle;

//===--------------------------------------------------------------------------------------------------------------===//
// Errors
//===--------------------------------------------------------------------------------------------------------------===//

static std::string versionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// What helps against an error; empty where nothing general does.
static std::string findRemedy(Result code, int version) {
  switch (code) {
  case result::OutOfMemory:
    return "use smaller shapes, or free memory of the GPU (nvidia-smi shows who holds it)";
  case result::StubLibrary:
    return "this is the toolkit's library for linking; install the NVIDIA driver";
  case result::NoDevice:
    return "nvidia-smi and CUDA_VISIBLE_DEVICES show which GPUs there are; the device \"cpu\" needs none";
  case result::DeviceUnavailable:
    return "another process has the GPU for itself";
  case result::UnsupportedPtxVersion:
    return "update the NVIDIA driver, which supports CUDA " + versionText(version);
  case result::JitCompilerNotFound:
    return "install libnvidia-ptxjitcompiler of the driver's version";
  case result::JitCompilationDisabled:
    return "unset CUDA_DISABLE_PTX_JIT";
  case result::IllegalAddress:
  case result::Assert:
  case result::HardwareStackError:
  case result::IllegalInstruction:
  case result::MisalignedAddress:
  case result::InvalidAddressSpace:
  case result::InvalidPc:
  case result::LaunchFailed:
    return "this process cannot use the GPU any more; --device=emu:GPU finds the instruction";
  case result::LaunchOutOfResources:
    return "the kernel needs more registers or shared memory than the GPU has";
  case result::SystemDriverMismatch:
    return "the driver's library and kernel module differ: restart the machine or reinstall the driver";
  default:
    return {};
  }
}

static ErrorCode toErrorCode(Result code) {
  switch (code) {
  case result::OutOfMemory:
    return ErrorCode::Resource;
  case result::InvalidPtx:
  case result::InvalidImage:
    return ErrorCode::Input;
  default:
    return ErrorCode::Device;
  }
}

/// The lines of a compiler's log in one line, without control characters.
static std::string joinLines(std::string_view log) {
  std::string text;
  bool isBreak = false;
  for (char c : log.substr(0, log.find('\0'))) {
    isBreak |= c == '\n';
    if (uint8_t(c) < 0x20 || c == 0x7F || (c == ' ' && (isBreak || text.empty())))
      continue;
    if (isBreak && !text.empty())
      text += "; ";
    isBreak = false;
    text += c;
  }
  return isUtf8(text) ? text : quote(text);
}

Error Driver::check(Result code, const char *call, std::string_view log) const {
  if (code == result::Success)
    return {};
  const char *name = nullptr, *words = nullptr;
  std::string text = std::string(call) + ": ";
  if (getErrorName(code, &name) == result::Success && name)
    text += name;
  else
    text += "error " + std::to_string(code);
  if (getErrorString(code, &words) == result::Success && words)
    text += std::string(" (") + words + ")";
  if (std::string lines = joinLines(log); !lines.empty())
    text += ": " + lines;
  if (std::string remedy = findRemedy(code, version); !remedy.empty())
    text += "; " + remedy;
  return Error(toErrorCode(code), text);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Loading
//===--------------------------------------------------------------------------------------------------------------===//

Error Driver::load(const std::string &path, Driver &driver) {
  const char *name = path.empty() ? kDriverLibrary : path.c_str();
  void *library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = ::dlerror();
    return Error(ErrorCode::Device, std::string("the CUDA driver could not be loaded: ") + (reason ? reason : name) +
                                        "; install the NVIDIA driver, or use the device \"cpu\"");
  }
  const char *missing = nullptr;
#define WEFT_CUDA_ENTRY(MEMBER, SYMBOL, ...)                                                                           \
  driver.MEMBER = reinterpret_cast<Result (*)(__VA_ARGS__)>(::dlsym(library, #SYMBOL));                                \
  if (!driver.MEMBER && !missing)                                                                                      \
    missing = #SYMBOL;
  WEFT_CUDA_ENTRIES(WEFT_CUDA_ENTRY)
#undef WEFT_CUDA_ENTRY
  if (missing) {
    ::dlclose(library);
    return Error(ErrorCode::Device, "the CUDA driver " + quote(name) + " has no " + missing +
                                        "; update the NVIDIA driver to one of CUDA 12.0 or later");
  }
  return driver.initialise();
}

Error Driver::initialise() {
  if (Error error = check(init(0), "cuInit"))
    return error;
  return check(driverGetVersion(&version), "cuDriverGetVersion");
}

//===--------------------------------------------------------------------------------------------------------------===//
// The context
//===--------------------------------------------------------------------------------------------------------------===//

Context::Scope::~Scope() {
  Handle popped;
  if (result == result::Success)
    (void)driver.contextPop(&popped);
}

Context::~Context() {
  if (handle)
    (void)driver.primaryContextRelease(device);
}

Error Context::create(const std::string &library, unsigned ordinal, std::shared_ptr<Context> &result) {
  std::shared_ptr<Context> context(new Context);
  if (Error error = Driver::load(library, context->driver))
    return error;
  if (Error error = context->open(ordinal))
    return error;
  result = std::move(context);
  return {};
}

/// The architecture whose code a GPU of this compute capability runs best: from 9.0 on each has features of its own.
static std::string nameArchitecture(int major, int minor) {
  return "sm_" + std::to_string(major * 10 + minor) + (major >= 9 ? "a" : "");
}

Error Context::open(unsigned ordinal) {
  int count = 0;
  if (Error error = driver.check(driver.deviceGetCount(&count), "cuDeviceGetCount"))
    return error;
  if (count < 1)
    return driver.check(result::NoDevice, "cuDeviceGetCount");
  if (ordinal >= unsigned(count))
    return makeError(ErrorCode::Device,
                     "no device cuda:%u: the driver shows %d, the last of them cuda:%d; nvidia-smi and "
                     "CUDA_VISIBLE_DEVICES show which GPUs there are",
                     ordinal, count, count - 1);
  if (Error error = driver.check(driver.deviceGet(&device, int(ordinal)), "cuDeviceGet"))
    return error;
  int major = 0, minor = 0, pools = 0;
  const std::pair<int, int *> attributes[] = {
      {ComputeCapabilityMajor, &major}, {ComputeCapabilityMinor, &minor}, {MemoryPoolsSupported, &pools}};
  for (auto [attribute, value] : attributes)
    if (Error error = driver.check(driver.deviceGetAttribute(value, attribute, device), "cuDeviceGetAttribute"))
      return error;
  architecture = nameArchitecture(major, minor);
  memoryPools = pools != 0;
  if (Error error = driver.check(driver.deviceTotalMem(&memoryBytes, device), "cuDeviceTotalMem"))
    return error;
  return driver.check(driver.primaryContextRetain(&handle, device), "cuDevicePrimaryCtxRetain");
}

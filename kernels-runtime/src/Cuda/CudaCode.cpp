// A module on a GPU.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With a cache, PTX is linked by itself, since that is the way to the compiled code; without one it is loaded directly.
// So is code for warpgroups: the linker compiles it as one of several units, where setmaxnreg is ignored (C7504) and
// wgmma serialised (C7509). The driver's own cache keeps that.
#include "CudaCode.h"

#include "../Gpu/PtxEntries.h"

using namespace weft;
using namespace weft::cuda;
using namespace weft::bundle;

namespace {
/// Options of a compilation that make the compiler write its errors here.
struct JitLog {
  char text[8192] = {};
  int options[2] = {ErrorLogBuffer, ErrorLogBytes};
  void *values[2] = {text, reinterpret_cast<void *>(uintptr_t(sizeof text - 1))};
};

/// A linker of the driver.
class Linker {
public:
  explicit Linker(const Driver &driver) : driver(driver) {}
  ~Linker() {
    if (state)
      (void)driver.linkDestroy(state);
  }
  Linker(const Linker &) = delete;
  Linker &operator=(const Linker &) = delete;

  /// Compiles `ptx`; the code lives as long as the linker.
  Error run(std::string_view ptx, void *&code, size_t &size) {
    if (Error error = check(driver.linkCreate(2, log.options, log.values, &state), "cuLinkCreate"))
      return error;
    // The driver takes PTX with the NUL behind it, and writes to neither.
    if (Error error = check(driver.linkAddData(state, kJitInputPtx, const_cast<char *>(ptx.data()), ptx.size() + 1,
                                               nullptr, 0, nullptr, nullptr),
                            "cuLinkAddData"))
      return error;
    return check(driver.linkComplete(state, &code, &size), "cuLinkComplete");
  }

private:
  Error check(Result result, const char *call) const { return driver.check(result, call, log.text); }

  const Driver &driver;
  JitLog log; ///< The linker writes to it as long as it lives.
  Handle state = nullptr;
};
} // namespace

/// Of a text that may be anything.
static std::string quoteVersion(std::string_view ptx) {
  std::string_view version = getPtxVersion(ptx);
  bool isNumber = !version.empty() && version.find_first_not_of("0123456789.") == version.npos;
  return isNumber ? std::string(version) : quote(version);
}

CudaCode::~CudaCode() {
  Context::Scope scope(*context);
  if (module)
    (void)context->getDriver().moduleUnload(module);
}

Error CudaCode::load(std::shared_ptr<Context> context, const GpuCode &code, const Tables &tables,
                     const std::string &cubinFolder, std::shared_ptr<SharedResource> &result) {
  std::shared_ptr<CudaCode> loaded(new CudaCode(std::move(context)));
  Context::Scope scope(*loaded->context);
  if (Error error = scope.check())
    return error;
  if (Error error = loaded->loadModule(code.getPtx(), cubinFolder))
    return std::move(error).within("GPU code for " + std::string(code.getTarget()) + ", PTX " +
                                   quoteVersion(code.getPtx()));
  if (Error error = loaded->findFunctions(code, tables))
    return error;
  result = std::move(loaded);
  return {};
}

Error CudaCode::loadImage(const void *image) {
  const Driver &driver = context->getDriver();
  JitLog log;
  return driver.check(driver.moduleLoadDataEx(&module, image, 2, log.options, log.values), "cuModuleLoadDataEx",
                      log.text);
}

Error CudaCode::link(std::string_view ptx, const CubinCache &cache, const Hash128 &key) {
  Linker linker(context->getDriver());
  void *code = nullptr;
  size_t size = 0;
  if (Error error = linker.run(ptx, code, size))
    return error;
  if (Error error = loadImage(code))
    return error;
  cache.write(key, code, size);
  return {};
}

/// Whether the linker would make worse code of it.
static bool isForWarpgroups(std::string_view ptx) {
  return ptx.find("setmaxnreg.") != ptx.npos || ptx.find("wgmma.") != ptx.npos;
}

Error CudaCode::loadModule(std::string_view ptx, const std::string &cubinFolder) {
  CubinCache cache;
  if (isForWarpgroups(ptx) || !cache.open(cubinFolder))
    return loadImage(ptx.data());
  Hash128 key = CubinCache::makeKey(ptx, context->getArchitecture(), context->getDriver().getVersion());
  std::vector<uint8_t> code;
  if (cache.read(key, code)) {
    Error error = loadImage(code.data());
    if (!error || error.getCode() == ErrorCode::Resource)
      return error;
    cache.remove(key); // The driver does not want it: compiled anew.
  }
  return link(ptx, cache, key);
}

Error CudaCode::prepareFunction(const GpuKernelRecord &kernel) {
  const Driver &driver = context->getDriver();
  Handle &function = functions[kernel.kernel].handle;
  std::string name = "k" + std::to_string(kernel.kernel);
  if (Error error = driver.check(driver.moduleGetFunction(&function, module, name.c_str()), "cuModuleGetFunction"))
    return error;
  if (kernel.sharedBytes > kMaxDefaultSharedBytes)
    if (Error error =
            driver.check(driver.functionSetAttribute(function, MaxDynamicSharedBytes, int(kernel.sharedBytes)),
                         "cuFuncSetAttribute"))
      return std::move(error).within(std::to_string(kernel.sharedBytes) + " bytes of shared memory");
  if (kernel.clusterSize > kMaxPortableCluster)
    if (Error error =
            driver.check(driver.functionSetAttribute(function, NonPortableClusterAllowed, 1), "cuFuncSetAttribute"))
      return std::move(error).within("cluster of " + std::to_string(kernel.clusterSize));
  return kernel.residentCtas ? checkResident(kernel) : Error();
}

/// CTAs that wait for each other must all be there, or those that are wait forever: a GPU with fewer SMs than the one
/// that the code was made for, or a part of one, refuses.
Error CudaCode::checkResident(const GpuKernelRecord &kernel) const {
  const Driver &driver = context->getDriver();
  int ofSm = 0, sms = 0;
  if (Error error = driver.check(
          driver.countActiveBlocks(&ofSm, functions[kernel.kernel].handle, int(kernel.threads), kernel.sharedBytes),
          "cuOccupancyMaxActiveBlocksPerMultiprocessor"))
    return error;
  if (Error error = driver.check(driver.deviceGetAttribute(&sms, MultiprocessorCount, context->getDevice()),
                                 "cuDeviceGetAttribute"))
    return error;
  if (int64_t(ofSm) * sms >= kernel.residentCtas)
    return {};
  return makeError(ErrorCode::Device,
                   "expected a GPU that holds at once the %u CTAs that wait for each other, got %d SMs with %d each; "
                   "compile for this GPU, or with --merge-launches=independent",
                   kernel.residentCtas, sms, ofSm);
}

/// What the choice of kernels that start early needs (EarlyStart.h).
Error CudaCode::findNeeds() {
  const Driver &driver = context->getDriver();
  const std::pair<int, int *> attributes[] = {{MultiprocessorCount, &limits.count},
                                              {ThreadsPerMultiprocessor, &limits.threads},
                                              {RegistersPerMultiprocessor, &limits.registers},
                                              {SharedBytesPerMultiprocessor, &limits.sharedBytes},
                                              {ReservedSharedBytesPerBlock, &limits.sharedBytesOfCta}};
  for (auto [attribute, value] : attributes)
    if (Error error =
            driver.check(driver.deviceGetAttribute(value, attribute, context->getDevice()), "cuDeviceGetAttribute"))
      return error;
  for (Function &function : functions) {
    int registers = 0;
    if (!function.handle)
      continue;
    if (Error error = driver.check(driver.functionGetAttribute(&registers, RegistersPerThread, function.handle),
                                   "cuFuncGetAttribute"))
      return error;
    function.registers = unsigned(registers);
  }
  return {};
}

Error CudaCode::findFunctions(const GpuCode &code, const Tables &tables) {
  functions.resize(tables.kernels.size);
  const std::map<std::string_view, PtxEntry> entries = scanPtxEntries(code.getPtx());
  for (uint32_t i = 0; i < tables.kernels.size; ++i) {
    const GpuKernelRecord *kernel = code.getKernel(i);
    if (!kernel)
      continue;
    if (Error error = prepareFunction(*kernel))
      return std::move(error).within("kernel " + quote(tables.getString(tables.kernels[i].name)));
    if (auto found = entries.find("k" + std::to_string(i)); found != entries.end()) {
      functions[i].parameters = int(found->second.parameters);
      functions[i].waitsForGrids = found->second.waitsForGrids;
    }
  }
  for (const Function &function : functions)
    if (function.waitsForGrids)
      return findNeeds();
  return {};
}

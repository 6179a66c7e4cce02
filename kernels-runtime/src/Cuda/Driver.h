// The CUDA driver, loaded at run time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of entry points, the driver's errors as ours, and the primary context of one GPU.
#ifndef WEFT_CUDA_DRIVER_H
#define WEFT_CUDA_DRIVER_H

#include "DriverApi.h"
#include "weft/Bundle/Error.h"

#include <memory>
#include <string>

namespace weft::cuda {

inline constexpr const char *kDriverLibrary = "libcuda.so.1";

/// The driver library. Stays loaded until the process ends: the driver has threads of its own.
class Driver {
public:
  /// Loads the library `path` (empty: kDriverLibrary), and initialises it. Device: no library, a library that is too
  /// old, or no GPU.
  static bundle::Error load(const std::string &path, Driver &driver);

  /// The error of a call that did not succeed: the call, the driver's name and text, and a remedy where there is one.
  /// `log`: what the driver's compiler said. Success gives no error. Codes: Resource (out of memory), Input (code that
  /// the driver's compiler refuses), Device.
  bundle::Error check(Result result, const char *call, std::string_view log = {}) const;

  /// 12040 for CUDA 12.4.
  int getVersion() const { return version; }

#define WEFT_CUDA_ENTRY(MEMBER, SYMBOL, ...) Result (*MEMBER)(__VA_ARGS__) = nullptr;
  WEFT_CUDA_ENTRIES(WEFT_CUDA_ENTRY)
#undef WEFT_CUDA_ENTRY

private:
  bundle::Error initialise();

  int version = 0;
};

/// A GPU and the use of its primary context. Shared by the sessions and modules of the GPU; every call of the driver
/// goes between the construction and the destruction of a Scope.
class Context {
public:
  ~Context();
  /// Retains the context of GPU number `ordinal`. Device if there is no such GPU.
  static bundle::Error create(const std::string &library, unsigned ordinal, std::shared_ptr<Context> &result);

  const Driver &getDriver() const { return driver; }
  /// "sm_80", "sm_90a".
  const std::string &getArchitecture() const { return architecture; }
  /// True if memory can be allocated and freed in the order of a stream.
  bool hasMemoryPools() const { return memoryPools; }
  /// Of the GPU, all of it.
  uint64_t getMemoryBytes() const { return memoryBytes; }
  DeviceNumber getDevice() const { return device; }

  /// Makes the context the calling thread's, and gives the thread its own back.
  class Scope {
  public:
    explicit Scope(const Context &context) : driver(context.driver), result(driver.contextPush(context.handle)) {}
    ~Scope();
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;
    bundle::Error check() const { return driver.check(result, "cuCtxPushCurrent"); }

  private:
    const Driver &driver;
    Result result;
  };

private:
  Context() = default;
  bundle::Error open(unsigned ordinal);

  Driver driver;
  DeviceNumber device = 0;
  Handle handle = nullptr;
  std::string architecture;
  bool memoryPools = false;
  size_t memoryBytes = 0;
};

} // namespace weft::cuda

#endif // WEFT_CUDA_DRIVER_H

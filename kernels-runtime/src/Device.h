// What a session needs from a machine.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface between the launch program and a machine: the CPU, a CUDA GPU and the PTX emulator implement the
// same verbs (load code, allocate, copy, dispatch, synchronise; and where they can, record and replay). One Device
// belongs to one session; calls come from one thread at a time, but not always the same.
#ifndef WEFT_DEVICE_H
#define WEFT_DEVICE_H

#include "Memory/WeightOrder.h"
#include "weft/Bundle/Error.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

class LoadedBundle;

struct DeviceOptions {
  unsigned threads = 0;                   ///< CPU workers, the calling thread included; 0: all CPUs of the process.
  std::string cudaDriver;                 ///< The driver's library; empty: libcuda.so.1.
  std::optional<std::string> cubinFolder; ///< Cache of compiled PTX; empty: none; unset: the user's cache folder.
};

/// What the session must know about the machine.
struct DeviceCapabilities {
  const char *name; ///< "cpu", "cuda:0".
  bool hostMemory;  ///< Device addresses are host addresses: no staging, and the host may read after synchronise().
  unsigned workers; ///< Workers that run grid points side by side, for statistics.
  std::string_view architecture = "cpu"; ///< Of GPU code: "sm_90a".
  int card = -1;                         ///< Number of the CUDA GPU whose memory kernels use as it is; -1: none.
  uint64_t memoryBytes = 0;              ///< Of the device; 0: it uses that of the machine.
};

/// One kernel start. Addresses are the device's.
struct Launch {
  uint32_t kernel;      ///< Number in the bundle's kernel table.
  int64_t grid;         ///< Grid points, > 0.
  void *const *buffers; ///< Inputs, then outputs.
  uint32_t bufferCount;
  const int64_t *scalars;
  uint32_t scalarCount;
  int64_t scratchBytes; ///< For each worker.
  bool isFirst = true;  ///< Of its run: it may not begin before all work before it has ended.
  /// Of each buffer, bytes from its address on that no kernel of the program writes (inputs, weights, constants); 0: it
  /// is written, or may be used for several tensors. Null: not known.
  const int64_t *steadyBytes = nullptr;
};

/// Weights and constants: data that no run changes.
struct ReadOnlyData {
  uint32_t id; ///< Unique in the bundle.
  WeightView view;
  void *address; ///< Set by placeReadOnly.
  int card = -1; ///< In whose memory it is stored, this device's; -1: the host's.
};

/// A sequence of dispatches and copies that the device can start at once. Does not outlive its device.
class Recording {
public:
  virtual ~Recording() = default;
};

class Device {
public:
  virtual ~Device() = default;
  virtual const DeviceCapabilities &getCapabilities() const = 0;

  /// Makes the kernels of `bundle` callable: those of its GPU code for `target`, or, if that is empty, of the best code
  /// that this machine can run. Called once, before dispatch.
  virtual bundle::Error loadCode(LoadedBundle &bundle, std::string_view target) = 0;
  /// The code chosen: target and features.
  virtual const std::string &getCode() const = 0;

  /// Memory aligned to bundle::kBufferAlignment. Resource if there is not enough.
  virtual bundle::Error allocate(uint64_t bytes, void *&address) = 0;
  virtual void free(void *address) = 0;

  /// Puts the data where kernels can read it, for as long as the bundle is open. Devices whose memory sessions can
  /// share hold it once for all sessions of a bundle.
  virtual bundle::Error placeReadOnly(LoadedBundle &bundle, std::vector<ReadOnlyData> &items) = 0;

  /// The contents of this device memory mean nothing from now on.
  virtual void discard(void *, uint64_t) {}

  /// Copies host memory to device memory, device memory to host memory, and within the device, after everything started
  /// before. May still run when this returns: host memory is in use until synchronise().
  virtual bundle::Error upload(void *destination, const void *source, uint64_t bytes) = 0;
  virtual bundle::Error download(void *destination, const void *source, uint64_t bytes) = 0;
  virtual bundle::Error copy(void *destination, const void *source, uint64_t bytes) = 0;

  /// A run of the session begins: what is counted is counted anew. Until its end work goes to the caller's `stream` (a
  /// CUstream), after everything that was started before; nothing: to the device's own. Usage: no streams here.
  virtual bundle::Error beginRun(std::optional<void *> stream);
  /// The run has ended, however: the caller's stream may go.
  virtual void endRun() {}

  /// Starts a kernel; it may still run when this returns, and runs after everything started before it.
  virtual bundle::Error dispatch(const Launch &launch) = 0;

  /// The same, and waits for its end: the time it took, by the device's own clock if it has one.
  virtual bundle::Error dispatchTimed(const Launch &launch, uint64_t &nanoseconds);

  /// Waits for everything that was started.
  virtual bundle::Error synchronise() = 0;

  /// Whether all of that is done. Devices without streams wait for it.
  virtual bundle::Error query(bool &isDone);
  /// `start` starts work of another library on the stream that work goes to, with the device's context current.
  virtual bundle::Error withStream(const std::function<bundle::Error(void *stream)> &start);

  /// The same on a second stream, whose work begins after everything started before and runs beside what follows.
  virtual bundle::Error startBeside(const std::function<bundle::Error(void *stream)> &start);
  /// What follows begins when all but the last `left` of those are done.
  virtual bundle::Error awaitBeside(size_t left);

  /// The stream that work goes to outside of runs on a stream of the caller; null: the device has none.
  virtual void *getStream() const { return nullptr; }
  /// Work that the caller starts on `stream` from now on begins after everything started here.
  virtual bundle::Error makeWait(void *stream);

  /// True if runs can be recorded. Between beginRecording and endRecording dispatches and copies are recorded and not
  /// started; nothing else is called. The device is out of that state after endRecording, whatever it returns.
  virtual bool canRecord() const { return false; }
  virtual bundle::Error beginRecording();
  /// `recording`: an old one, changed in place if the device can, or null.
  virtual bundle::Error endRecording(std::unique_ptr<Recording> &recording);
  /// Starts what was recorded, as if it were dispatched now.
  virtual bundle::Error replay(const Recording &recording);

  /// Counters of the dispatches of the last run, as a table or a JSON array; false if this device counts nothing.
  virtual bool getCounters(bool, std::string &) const { return false; }
};

/// Nanoseconds of a clock that never goes back.
uint64_t nowNs();

/// The CPU of this machine.
std::unique_ptr<Device> createCpuDevice(const DeviceOptions &options);

/// The device that `name` means ("cpu", "cuda:0", "emu:sm_90a"; EmulatorDevice.h lists the options), or an error that
/// lists the devices there are.
bundle::Error createDevice(std::string_view name, const DeviceOptions &options, std::unique_ptr<Device> &device);

} // namespace weft

#endif // WEFT_DEVICE_H

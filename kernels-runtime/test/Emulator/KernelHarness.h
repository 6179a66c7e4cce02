// Runs a kernel given as PTX text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A test describes a launch, runs it on an emulated GPU and compares the buffers with an oracle of its own. What ran
// is remembered for the test of coverage. With WEFT_EMU_DUMP=DIR in the environment every successful launch is written
// as a case folder DIR/<suite>.<test>.<n> (kernel.ptx, launch.json, in<i>.bin, out<i>.bin, counters.json), for replay
// on a real GPU; with WEFT_EMU_PTXAS=PATH of ptxas, every text that runs must also be accepted by it.
#ifndef WEFT_TEST_EMULATOR_KERNELHARNESS_H
#define WEFT_TEST_EMULATOR_KERNELHARNESS_H

#include "Emulator/Emulator.h"

#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace weft::emu::test {

using Bytes = std::vector<uint8_t>;

template <typename T> Bytes toBytes(const std::vector<T> &values) {
  Bytes bytes(values.size() * sizeof(T));
  if (!values.empty())
    std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <typename T> std::vector<T> fromBytes(const Bytes &bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty())
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

/// How far a GPU may be from a buffer's contents: that many units in the last place, or that absolute difference. Of
/// approximations, whose bits no manual fixes; the sum of the GPU's documented error and the emulator's. NaNs and
/// infinities have to be equal.
struct Tolerance {
  std::string type; ///< Of the elements: f16, bf16, f32 or f64; "" for bit equality.
  double units = 0;
  double absolute = 0;
};

/// One kernel parameter. Buffers are global memory: their address is passed, and they are read back.
struct Argument {
  enum class Kind { Buffer, Value, TensorMap };
  Kind kind = Kind::Value;
  Bytes bytes;             ///< Buffer: initial contents; Value: the parameter itself.
  size_t alignment = 8;    ///< Of the parameter.
  bool isPoisoned = false; ///< Buffer: uninitialised in place of `bytes` (whose size counts).
  bool isCompared = true;  ///< Buffer: for the replay; false when the result depends on the interleaving.
  Tolerance tolerance;     ///< Buffer: for the replay.
  /// TensorMap: makes the 128 bytes for a map of buffer `buffer` at that address; `description` is for the replay, a
  /// JSON object.
  size_t buffer = 0;
  std::function<bool(uint64_t address, uint8_t (&map)[128])> encode;
  std::string description;
};

Argument buffer(Bytes bytes);
template <typename T> Argument buffer(const std::vector<T> &values) { return buffer(toBytes(values)); }
/// `bytes` uninitialised bytes.
Argument output(size_t bytes);
template <typename T> Argument value(const T &value) {
  Argument argument;
  argument.bytes.resize(sizeof(T));
  std::memcpy(argument.bytes.data(), &value, sizeof(T));
  argument.alignment = sizeof(T) < 8 ? sizeof(T) : 8;
  return argument;
}

struct KernelCase {
  std::string ptx;
  std::string entry = "k";
  Dim3 grid, block, cluster;
  uint32_t dynamicShared = 0;
  std::vector<Argument> arguments;
  LaunchOptions options;
  std::string card = "H100";
  bool isDumped = true; ///< False for kernels whose result a GPU need not share (clocks, %smid, faults).
};

struct KernelResult {
  Error error; ///< Of load or launch.
  bool isLoaded = false;
  LaunchResult launch;
  std::vector<Bytes> buffers; ///< By argument; empty for values.
  template <typename T> std::vector<T> get(size_t argument) const { return fromBytes<T>(buffers[argument]); }
  /// True if a finding of that kind was made.
  bool found(std::string_view kind) const;
};

/// `.version` and `.target` lines before `body`.
std::string module(const std::string &body, const std::string &version = "8.0", const std::string &target = "sm_90a");

/// Runs a case. Does not fail the test: look at `error`.
KernelResult run(const KernelCase &kernel);
/// Runs it, and fails the test on an error or a finding.
KernelResult runClean(const KernelCase &kernel);
/// The same with several seeds, all timings and interleavings; every one must give the same buffers (of those that are
/// compared). Returns the first.
KernelResult runAllWays(const KernelCase &kernel);
/// The error of a module that must not load; fails the test if it does.
std::string refusal(const std::string &ptx);

/// Full names ("add.f32") of the instructions in kernels that have run without an error.
std::set<std::string> &executedForms();

} // namespace weft::emu::test

#endif // WEFT_TEST_EMULATOR_KERNELHARNESS_H

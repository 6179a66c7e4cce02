// Kernels with tensor maps for tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A GPU, buffers, kernel parameters (tensor maps too) and launches in a few words; every launch is repeated by
// `everyTiming` with asynchronous operations early, late and at random moments.
#ifndef WEFT_TEST_EMULATOR_ASYNCTESTCARD_H
#define WEFT_TEST_EMULATOR_ASYNCTESTCARD_H

#include "Emulator/Async/TensorMap.h"
#include "Emulator/Emulator.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

namespace weft::emu::test {

/// The parameter buffer of a kernel, in the order of its parameters.
class Arguments {
public:
  template <typename T> Arguments &add(T value) { return addBytes(&value, sizeof(T), sizeof(T)); }
  Arguments &add(const TensorMapSpec &spec) {
    uint8_t map[kTensorMapBytes];
    bundle::Error error = encodeTensorMap(spec, map);
    EXPECT_FALSE(error) << error.getMessage();
    return addBytes(map, sizeof(map), kTensorMapAlignment);
  }
  const std::vector<uint8_t> &get() const { return bytes; }

private:
  Arguments &addBytes(const void *source, size_t size, size_t alignment) {
    bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
    bytes.insert(bytes.end(), static_cast<const uint8_t *>(source), static_cast<const uint8_t *>(source) + size);
    return *this;
  }
  std::vector<uint8_t> bytes;
};

struct Shape {
  Dim3 grid, block{32, 1, 1}, cluster;
  uint32_t dynamicShared = 0;
};

inline std::string readText(const std::string &path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class AsyncTestCard {
public:
  AsyncTestCard() {
    bundle::Error error = Emulator::create("sm_90a", emulator);
    EXPECT_FALSE(error) << error.getMessage();
  }

  template <typename T> uint64_t upload(const std::vector<T> &data) {
    uint64_t address = allocate(data.size() * sizeof(T));
    EXPECT_FALSE(emulator->write(address, data.data(), data.size() * sizeof(T)));
    return address;
  }
  uint64_t allocate(size_t bytes) {
    uint64_t address = 0;
    EXPECT_FALSE(emulator->allocate(bytes, address));
    return address;
  }
  template <typename T> std::vector<T> download(uint64_t address, size_t count) {
    std::vector<T> data(count);
    EXPECT_FALSE(emulator->read(address, data.data(), count * sizeof(T)));
    return data;
  }

  /// Launches; the error, if any, is in `error`, findings in `result`.
  void launch(const std::string &ptx, const std::string &entry, const Shape &shape, const Arguments &arguments,
              const LaunchOptions &options) {
    if (ptx != loaded) {
      error = emulator->load(ptx, "test.ptx", module);
      ASSERT_FALSE(error) << error.getMessage();
      loaded = ptx;
    }
    LaunchSpec spec;
    spec.module = module;
    spec.entry = entry;
    spec.grid = shape.grid;
    spec.block = shape.block;
    spec.cluster = shape.cluster;
    spec.dynamicSharedBytes = shape.dynamicShared;
    spec.parameters = arguments.get().data();
    spec.parameterBytes = arguments.get().size();
    spec.options = options;
    error = emulator->launch(spec, result);
  }

  std::string findings() const {
    std::string all;
    for (const Finding &finding : result.findings)
      all += finding.kind + ": " + finding.message + "\n";
    return all;
  }
  bool hasFinding(const std::string &kind) const {
    for (const Finding &finding : result.findings)
      if (finding.kind == kind)
        return true;
    return false;
  }

  std::unique_ptr<Emulator> emulator;
  LaunchResult result;
  bundle::Error error;

private:
  uint32_t module = 0;
  std::string loaded;
};

/// Calls body(options, what) for early, late and random timings and several interleavings.
inline void everyTiming(const std::function<void(const LaunchOptions &, const std::string &)> &body) {
  for (AsyncTiming timing : {AsyncTiming::Early, AsyncTiming::Late, AsyncTiming::Random})
    for (Interleaving interleaving : {Interleaving::Random, Interleaving::DepthFirst, Interleaving::Reverse}) {
      LaunchOptions options;
      options.timing = timing;
      options.interleaving = interleaving;
      options.seed = 7 + unsigned(timing) * 3 + unsigned(interleaving);
      options.instructionLimit = 20000000;
      body(options,
           "timing " + std::to_string(unsigned(timing)) + " interleaving " + std::to_string(unsigned(interleaving)));
    }
}

/// A launch that must succeed without findings.
inline void expectClean(AsyncTestCard &card, const std::string &ptx, const std::string &entry, const Shape &shape,
                        const Arguments &arguments, const LaunchOptions &options, const std::string &what) {
  card.launch(ptx, entry, shape, arguments, options);
  EXPECT_FALSE(card.error) << what << ": " << card.error.getMessage();
  EXPECT_TRUE(card.result.findings.empty()) << what << ":\n" << card.findings();
}

} // namespace weft::emu::test

#endif // WEFT_TEST_EMULATOR_ASYNCTESTCARD_H

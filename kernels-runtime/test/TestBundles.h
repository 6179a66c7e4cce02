// Bundles for the runtime's tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small bundles around the kernels of Kernels.c, and helpers to run them through the C ABI.
#ifndef WEFT_TEST_TESTBUNDLES_H
#define WEFT_TEST_TESTBUNDLES_H

#include "weft/Bundle/Builder.h"
#include "weft/runtime.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weft::test {

/// Factor on bounds of processor time: sanitizers slow the code under test down.
#ifdef WEFT_SANITIZED
inline constexpr double kSlowdown = 8;
#else
inline constexpr double kSlowdown = 1;
#endif

/// The ELF file of Kernels.c.
std::vector<uint8_t> readKernels();
/// The target triple of this machine.
std::string getTarget();

/// Adds kernels k0..k4 and their code.
void addKernels(bundle::Builder &builder, const std::vector<std::string> &features = {});

/// y[n] = (a[n] + b[n]) + w[n] with symbol n, a constant-size weight of `maxElements` ones, and one transient.
void addSumEntry(bundle::Builder &builder, const std::vector<float> &ones);
/// y[rows] = exp(row sums of x[rows, cols]), with scratch.
void addRowEntry(bundle::Builder &builder);
/// y[count] = positions where x[n] > 0: an extent that depends on data.
void addPositionsEntry(bundle::Builder &builder);
/// y[n] = x[n] for every element type, without kernels: "copy_f32", "copy_ui4", ...
void addCopyEntries(bundle::Builder &builder);
/// All of these entries.
std::vector<uint8_t> buildExample();

/// PTX of a kernel k0: y = a + b + `step` over scalar 0 elements, 128 to a CTA.
std::string makeAddPtx(const char *target, const char *step = "0f00000000");
/// Entry "main" without native code: y[n] = a[n] + b[n] + b[n] by way of a transient, in these modules (target, PTX).
std::vector<uint8_t> buildGpuBundle(const std::vector<std::pair<const char *, std::string>> &modules,
                                    uint32_t cluster = 1, bool hasScratch = false, uint32_t resident = 0);

/// Entry "main": y[n] = a[n] + `length` b[n] by as many kernels, each of which needs the one before. `isEarly`: they
/// may start before its end, and wait (sm_90).
std::vector<uint8_t> buildChainBundle(uint32_t length, bool isEarly);
/// y[n] = a[n] + 2 b[n] by variants: (a + b) + b of at most 100 elements, a + (b + b) of more, in loops of one turn or
/// none.
std::vector<uint8_t> buildVariantBundle();

/// Entry "main": y[n] = x[n] + 2 w[n], with an embedded weight of `elements` ones that two buffers stand for.
std::vector<uint8_t> buildWeightBundle(int64_t elements);

/// Entries "stored" and "seen" copy one weight of 2 x 3 x 2 bytes, which `add` adds, to their output: as it is, and in
/// the order [1, 2, 0]: seen[a][b][c] = stored[c][a][b].
std::vector<uint8_t> buildOrdersBundle(const std::function<bundle::WeightId(bundle::Builder &)> &add);

/// Entry "main" for sm_90a: y[rows, 32] = x[rows, 32] + 2, where 2 is the cluster size that the kernel sees: one tensor
/// map, and 98,368 bytes of dynamic shared memory.
std::vector<uint8_t> buildTileBundle();

struct BundleDeleter {
  void operator()(weft_bundle *bundle) const { weft_bundle_release(bundle); }
};
struct SessionDeleter {
  void operator()(weft_session *session) const { weft_session_release(session); }
};
using BundlePtr = std::unique_ptr<weft_bundle, BundleDeleter>;
using SessionPtr = std::unique_ptr<weft_session, SessionDeleter>;

/// Message of `error`, which is freed; empty if there is none.
std::string take(weft_error *error);

/// Opens `bytes`, which must outlive the bundle; fails the test on an error.
BundlePtr open(const std::vector<uint8_t> &bytes);
SessionPtr createSession(weft_bundle *bundle, const char *entry, int threads, uint64_t memoryLimit = 0,
                         uint64_t turnLimit = 0);

/// A tensor of f32 that owns its data.
struct Floats {
  std::vector<int64_t> dims;
  std::vector<float> data;
  weft_tensor view() {
    return {WEFT_F32, int32_t(dims.size()), dims.data(), data.data(), data.size() * sizeof(float), WEFT_MEMORY_HOST, 0};
  }
};

} // namespace weft::test

#endif // WEFT_TEST_TESTBUNDLES_H

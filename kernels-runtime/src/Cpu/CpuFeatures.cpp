// What this CPU can do.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// x86: CPUID bits (Intel SDM volume 2, CPUID; AMD APM volume 3, appendix E), and XCR0 for the register state that the
// operating system saves: a CPU that has AVX under a kernel that does not save YMM cannot run it. Other architectures:
// the baseline only.
#include "CpuFeatures.h"

#include <cstdint>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

using namespace weft;

#if defined(__x86_64__)

namespace {
enum Register { EAX, EBX, ECX, EDX };
/// Register state the operating system must save, as masks of XCR0.
enum State : uint64_t { None = 0, Ymm = 0x6, Zmm = 0xe6, Amx = 0x60000 };
struct Feature {
  std::string_view name;
  uint32_t leaf, subleaf;
  Register reg;
  unsigned bit;
  State state;
};
} // namespace

static constexpr Feature features[] = {
    {"cx8", 1, 0, EDX, 8, None},
    {"cmov", 1, 0, EDX, 15, None},
    {"mmx", 1, 0, EDX, 23, None},
    {"fxsr", 1, 0, EDX, 24, None},
    {"sse", 1, 0, EDX, 25, None},
    {"sse2", 1, 0, EDX, 26, None},
    {"sse3", 1, 0, ECX, 0, None},
    {"pclmul", 1, 0, ECX, 1, None},
    {"ssse3", 1, 0, ECX, 9, None},
    {"fma", 1, 0, ECX, 12, Ymm},
    {"cx16", 1, 0, ECX, 13, None},
    {"sse4.1", 1, 0, ECX, 19, None},
    {"sse4.2", 1, 0, ECX, 20, None},
    {"movbe", 1, 0, ECX, 22, None},
    {"popcnt", 1, 0, ECX, 23, None},
    {"aes", 1, 0, ECX, 25, None},
    {"xsave", 1, 0, ECX, 26, None},
    {"avx", 1, 0, ECX, 28, Ymm},
    {"f16c", 1, 0, ECX, 29, Ymm},
    {"rdrnd", 1, 0, ECX, 30, None},
    {"bmi", 7, 0, EBX, 3, None},
    {"avx2", 7, 0, EBX, 5, Ymm},
    {"bmi2", 7, 0, EBX, 8, None},
    {"avx512f", 7, 0, EBX, 16, Zmm},
    {"avx512dq", 7, 0, EBX, 17, Zmm},
    {"adx", 7, 0, EBX, 19, None},
    {"avx512ifma", 7, 0, EBX, 21, Zmm},
    {"clflushopt", 7, 0, EBX, 23, None},
    {"clwb", 7, 0, EBX, 24, None},
    {"avx512cd", 7, 0, EBX, 28, Zmm},
    {"sha", 7, 0, EBX, 29, None},
    {"avx512bw", 7, 0, EBX, 30, Zmm},
    {"avx512vl", 7, 0, EBX, 31, Zmm},
    {"avx512vbmi", 7, 0, ECX, 1, Zmm},
    {"avx512vbmi2", 7, 0, ECX, 6, Zmm},
    {"gfni", 7, 0, ECX, 8, None},
    {"vaes", 7, 0, ECX, 9, Ymm},
    {"vpclmulqdq", 7, 0, ECX, 10, Ymm},
    {"avx512vnni", 7, 0, ECX, 11, Zmm},
    {"avx512bitalg", 7, 0, ECX, 12, Zmm},
    {"avx512vpopcntdq", 7, 0, ECX, 14, Zmm},
    {"avx512vp2intersect", 7, 0, EDX, 8, Zmm},
    {"amx-bf16", 7, 0, EDX, 22, Amx},
    {"avx512fp16", 7, 0, EDX, 23, Zmm},
    {"amx-tile", 7, 0, EDX, 24, Amx},
    {"amx-int8", 7, 0, EDX, 25, Amx},
    {"avxvnni", 7, 1, EAX, 4, Ymm},
    {"avx512bf16", 7, 1, EAX, 5, Zmm},
    {"amx-fp16", 7, 1, EAX, 21, Amx},
    {"avxifma", 7, 1, EAX, 23, Ymm},
    {"avxvnniint8", 7, 1, EDX, 4, Ymm},
    {"avxneconvert", 7, 1, EDX, 5, Ymm},
    {"lzcnt", 0x80000001, 0, ECX, 5, None},
    {"sse4a", 0x80000001, 0, ECX, 6, None},
    {"prfchw", 0x80000001, 0, ECX, 8, None},
    {"sahf", 0x80000001, 0, ECX, 0, None},
    {"64bit", 0x80000001, 0, EDX, 29, None},
};

/// The state components that the operating system saves; 0 without XSAVE.
static uint64_t getSavedState() {
  uint32_t a, b, c, d;
  constexpr uint32_t osxsave = 1u << 27;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & osxsave))
    return 0;
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

bool weft::hasCpuFeature(std::string_view name) {
  for (const Feature &feature : features) {
    if (feature.name != name)
      continue;
    uint32_t values[4];
    if (!__get_cpuid_count(feature.leaf, feature.subleaf, &values[EAX], &values[EBX], &values[ECX], &values[EDX]))
      return false;
    return (values[feature.reg] >> feature.bit & 1) && (getSavedState() & feature.state) == feature.state;
  }
  return false;
}

static constexpr std::string_view architecture = "x86_64";

#else

bool weft::hasCpuFeature(std::string_view) { return false; }

#if defined(__aarch64__)
static constexpr std::string_view architecture = "aarch64";
#else
static constexpr std::string_view architecture = "unknown";
#endif

#endif

bool weft::isNativeTarget(std::string_view triple) {
  return triple.substr(0, architecture.size() + 1) == std::string(architecture) + "-" &&
         triple.find("-linux") != triple.npos;
}

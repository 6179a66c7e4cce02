// What this CPU can do.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Answers whether the CPU and the operating system support a feature, by its LLVM name.
#ifndef WEFT_CPU_CPUFEATURES_H
#define WEFT_CPU_CPUFEATURES_H

#include <string_view>

namespace weft {

/// True if this machine has the feature called `name` in LLVM ("avx2", "avx512f"). A name that is not known counts as
/// missing.
bool hasCpuFeature(std::string_view name);

/// True if code for the target triple `triple` runs on this machine and operating system, features aside.
bool isNativeTarget(std::string_view triple);

} // namespace weft

#endif // WEFT_CPU_CPUFEATURES_H

// What a kernel is called in tables, traces and profiles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_PLAN_APPLY_KERNELNAME_H
#define WEFT_LIB_PLAN_APPLY_KERNELNAME_H

#include "weft/Plan/Groups.h"
#include <string>

namespace weft::plan {

/// The main op of a group, then what is computed around it: `gemm_add_gelu`, `softmax`, `conv_add_max`. It follows from
/// the ops in their order alone, so equal groups have equal names.
std::string nameKernel(const Group &group);

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_APPLY_KERNELNAME_H

// Kernels that sum over windows element by element (depthwise convolutions): their tiles and the time of their
// instructions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_PLAN_MODELS_WINDOWS_H
#define WEFT_LIB_PLAN_MODELS_WINDOWS_H

#include "weft/Plan/Schedule.h"

namespace weft::plan {

/// A tile in which a thread has neighbouring elements along a dimension that windows slide along, and loads once what
/// their terms have in common (weft-tk-layouts): the one whose instructions take the least time. Nothing where windows
/// slide along what is contiguous alone.
std::optional<ScheduleChoice> chooseWindows(const KernelToSchedule &kernel, tg::ContractOp contract,
                                            const Device &device);

/// Seconds of the instructions of `contract` in such a kernel.
std::optional<double> estimateWindows(const KernelToSchedule &kernel, tg::ContractOp contract,
                                      tg::ScheduleAttr schedule, const Device &device);

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_MODELS_WINDOWS_H

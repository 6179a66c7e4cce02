// The time of a kernel as it was scheduled, by the models that choose schedules: for the explanation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PLAN_KERNELTIME_H
#define WEFT_PLAN_KERNELTIME_H

#include "weft/Plan/Schedule.h"
#include "weft/Target/PlanAttributes.h"
#include <optional>

namespace weft::plan {

/// Seconds with this schedule; with its launch, by estimates of symbolic extents. Of
/// products by GemmModel.h, of folds by FoldModel.h, of what memory bounds by ReadTime.h. None where no model has a
/// price: tiles that the model would refuse.
std::optional<double> estimateKernel(const KernelToSchedule &kernel, tg::ScheduleAttr schedule, const Device &device);

/// Its parts: kernels that chooseFold and chooseContraction schedule.
std::optional<double> estimateFoldKernel(const KernelToSchedule &kernel, tg::FoldOp fold, tg::ScheduleAttr schedule,
                                         const Device &device);
std::optional<double> estimateContraction(const KernelToSchedule &kernel, tg::ContractOp contract,
                                          tg::ScheduleAttr schedule, const Device &device);

} // namespace weft::plan

#endif // WEFT_PLAN_KERNELTIME_H

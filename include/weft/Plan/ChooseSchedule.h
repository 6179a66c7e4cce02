// Choice of a kernel's #tg.schedule for a GPU: a legal one for every kernel, a good one by a simple model.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels with a contraction are priced (GemmModel.h) over all tile shapes that fit the device; all others are bound by
// memory: their tiles make enough vectors of 16 bytes per thread and enough CTAs. A symbolic extent counts as
// `symbolEstimate`; schedules are legal for all values.
#ifndef WEFT_PLAN_CHOOSESCHEDULE_H
#define WEFT_PLAN_CHOOSESCHEDULE_H

#include "weft/Plan/Schedule.h"

namespace weft::plan {

/// The schedule of any kernel of tg primitives.
ScheduleChoice chooseSchedule(const KernelToSchedule &kernel, const Device &device);

/// Its parts: kernels that only map elements, kernels that reduce rows or columns, kernels with a contraction or a
/// fold.
ScheduleChoice chooseElementwise(const KernelToSchedule &kernel, const Device &device);
ScheduleChoice chooseReduction(const KernelToSchedule &kernel, const Device &device);
ScheduleChoice chooseFold(const KernelToSchedule &kernel, tg::FoldOp fold, const Device &device);
/// A product whose rows, which a tile has all, a reduction adds up; `stream` has its steps behind the reduction's.
ScheduleChoice chooseSummedProduct(const KernelToSchedule &kernel, tg::ContractOp contract, const Device &device);
ScheduleChoice chooseContraction(const KernelToSchedule &kernel, tg::ContractOp contract, const Device &device);

} // namespace weft::plan

#endif // WEFT_PLAN_CHOOSESCHEDULE_H

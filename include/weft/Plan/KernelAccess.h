// What a kernel accesses (weft/Dialect/TileGraph/IR/KernelAccess.h), by the names that this room calls it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PLAN_KERNELACCESS_H
#define WEFT_PLAN_KERNELACCESS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "weft/Dialect/TileGraph/IR/KernelAccess.h"

namespace weft::plan {

using tg::analyseAccess;
using tg::estimateExtent;
using tg::KernelAccess;
using tg::KernelDim;
using tg::KernelRequest;
using tg::ReshapeSegment;
using tg::splitReshape;
using tg::symbolEstimate;

} // namespace weft::plan

#endif // WEFT_PLAN_KERNELACCESS_H

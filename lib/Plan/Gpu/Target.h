// The device of a pass's option.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_PLAN_GPU_TARGET_H
#define WEFT_LIB_PLAN_GPU_TARGET_H

#include "mlir/IR/Operation.h"
#include "weft/Target/ContextDevices.h"

namespace weft::plan {

/// The device that stands for `target`; none, with an error at `op`, if no architecture has that name.
inline const Device *findDeviceOrError(mlir::Operation *op, llvm::StringRef target) {
  const Device *device = findDevice(op->getContext(), target);
  if (!device)
    op->emitError() << "expected a target of " << getArchitectureList() << ", got '" << target << "'";
  return device;
}

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_GPU_TARGET_H

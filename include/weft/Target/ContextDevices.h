// The devices of one compilation: what is measured of a GPU belongs to the context that compiles for it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TARGET_CONTEXTDEVICES_H
#define WEFT_TARGET_CONTEXTDEVICES_H

#include "weft/Target/DeviceTable.h"

namespace mlir {
class MLIRContext;
class Operation;
} // namespace mlir

namespace weft {

/// From now on the context's passes find this table's devices. Before any of them runs.
void setDevices(mlir::MLIRContext &context, DeviceTable devices);

/// As weft::findDevice, in the context's table if it has one. From any thread.
const Device *findDevice(mlir::MLIRContext *context, llvm::StringRef nameOrArchitecture);

/// The device that stands for `target`, a pass's option; none, with an error at `op`, if no architecture has that name.
const Device *findDeviceOrError(mlir::Operation *op, llvm::StringRef target);

} // namespace weft

#endif // WEFT_TARGET_CONTEXTDEVICES_H

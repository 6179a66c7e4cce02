// A dialect without ops is MLIR's home for what a context owns.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Target/ContextDevices.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Operation.h"

namespace weft {

namespace {
class DeviceDialect : public mlir::Dialect {
public:
  static constexpr llvm::StringLiteral getDialectNamespace() { return "weft_devices"; }
  explicit DeviceDialect(mlir::MLIRContext *context)
      : Dialect(getDialectNamespace(), context, mlir::TypeID::get<DeviceDialect>()) {}

  DeviceTable devices;
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DeviceDialect)
};
} // namespace

void setDevices(mlir::MLIRContext &context, DeviceTable devices) {
  context.getOrLoadDialect<DeviceDialect>()->devices = std::move(devices);
}

const Device *findDevice(mlir::MLIRContext *context, llvm::StringRef nameOrArchitecture) {
  auto *dialect = context->getLoadedDialect<DeviceDialect>();
  return dialect ? dialect->devices.find(nameOrArchitecture) : findDevice(nameOrArchitecture);
}

const Device *findDeviceOrError(mlir::Operation *op, llvm::StringRef target) {
  const Device *device = findDevice(op->getContext(), target);
  if (!device)
    op->emitError() << "expected a target of " << getArchitectureList() << ", got '" << target << "'";
  return device;
}

} // namespace weft

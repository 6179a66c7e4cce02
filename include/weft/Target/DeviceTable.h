// Measured rates of a GPU in place of the table's: what `weft calibrate` writes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TARGET_DEVICETABLE_H
#define WEFT_TARGET_DEVICETABLE_H

#include "weft/Target/Device.h"
#include <deque>
#include <string>

namespace weft {

/// The device of the table that a calibration (JSON, schema weft.calibration/1) was taken on, with what was measured:
/// rates of DRAM, L2 and the matrix units, the L2's effective size, the cost of a launch. Fails (false, `error`) for
/// text that is no calibration, one of an emulated GPU, numbers out of range, and GPUs that are not in the table.
bool readDeviceTable(llvm::StringRef text, Device &device, std::string &error);

/// The devices that the compiler knows, some of them with measured rates.
class DeviceTable {
public:
  /// Replaces the device of that name, and stands for its architecture. Pointers that were found before stay
  /// valid; those to a device that was set before have the new rates.
  void set(const Device &device);
  /// As weft::findDevice does it.
  const Device *find(llvm::StringRef nameOrArchitecture) const;

private:
  std::deque<Device> measured;
};

} // namespace weft

#endif // WEFT_TARGET_DEVICETABLE_H

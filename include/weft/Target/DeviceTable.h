// Measured rates of a card in place of the table's: what `weft calibrate` writes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TARGET_DEVICETABLE_H
#define WEFT_TARGET_DEVICETABLE_H

#include "weft/Target/Device.h"
#include <string>

namespace weft {

/// The device of the table that a calibration (JSON, schema weft.calibration/1) was taken on, with what was measured:
/// rates of DRAM, L2 and the matrix units, the L2's effective size, the cost of a launch. Fails (false, `error`) for
/// text that is no calibration, one of an emulated card, numbers out of range, and cards that are not in the table.
bool readDeviceTable(llvm::StringRef text, Device &device, std::string &error);

/// From now on findDevice answers with these for the device's name, and for its architecture. Once, before any work:
/// the table is read by all threads.
void useDevice(const Device &device);

} // namespace weft

#endif // WEFT_TARGET_DEVICETABLE_H

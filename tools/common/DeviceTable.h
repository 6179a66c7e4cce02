// The flag --device-table of the tools that use the table of devices.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_COMMON_DEVICETABLE_H
#define WEFT_TOOLS_COMMON_DEVICETABLE_H

#include "TextFile.h"
#include "weft/Target/DeviceTable.h"

namespace weft::tools {

/// What the flag does, if it is given: the calibration's GPU has what was measured.
inline bundle::Error readDeviceTable(const std::string &path, DeviceTable &devices) {
  std::string text, reason;
  if (path.empty())
    return {};
  if (bundle::Error error = readTextFile(path, text))
    return error;
  Device device;
  if (!weft::readDeviceTable(text, device, reason))
    return bundle::Error(bundle::ErrorCode::Input, bundle::quote(path) + ": " + reason);
  devices.set(device);
  return {};
}

} // namespace weft::tools

#endif // WEFT_TOOLS_COMMON_DEVICETABLE_H

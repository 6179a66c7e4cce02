// The flag --device-table of the tools that use the table of devices.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_COMMON_DEVICETABLE_H
#define WEFT_TOOLS_COMMON_DEVICETABLE_H

#include "TextFile.h"
#include "weft/Target/DeviceTable.h"

namespace weft::tools {

/// What the flag does, if it is given: the calibration's card answers with what was measured.
inline bundle::Error useDeviceTable(const std::string &path) {
  std::string text, reason;
  if (path.empty())
    return {};
  if (bundle::Error error = readTextFile(path, text))
    return error;
  Device device;
  if (!readDeviceTable(text, device, reason))
    return bundle::Error(bundle::ErrorCode::Input, bundle::quote(path) + ": " + reason);
  useDevice(device);
  return {};
}

} // namespace weft::tools

#endif // WEFT_TOOLS_COMMON_DEVICETABLE_H

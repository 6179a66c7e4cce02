// What goes from device to device, measured by a process for each.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_WEFT_CALIBRATE_LINKCALIBRATION_H
#define WEFT_TOOLS_WEFT_CALIBRATE_LINKCALIBRATION_H

#include "weft/Bundle/Error.h"

#include <cstdint>
#include <string>

namespace weft::calibrate {

struct LinkTimes {
  uint32_t ranks = 0;        ///< 0: not measured.
  double bytesPerSecond = 0; ///< That each rank sends, in an all_reduce of many bytes.
  double seconds = 0;        ///< Of an all_reduce of few.
};

/// Sums over the ranks that `rank` ("R/N@HOST:PORT", or "env") joins, on `device` ("cpu", "cuda:N").
bundle::Error measureLinks(const std::string &device, const std::string &rank, LinkTimes &times);

} // namespace weft::calibrate

#endif // WEFT_TOOLS_WEFT_CALIBRATE_LINKCALIBRATION_H

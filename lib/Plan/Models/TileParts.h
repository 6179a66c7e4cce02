// What tiles take whose steps several CTAs share (`tail<w,p,ORDER>`), of folds and of products.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_PLAN_MODELS_TILEPARTS_H
#define WEFT_LIB_PLAN_MODELS_TILEPARTS_H

#include "weft/Target/Device.h"
#include <cmath>

namespace weft::plan {

/// Clocks beside its steps of the CTA that merges a tile's parts, which others have sent: the bytes of one leave, those
/// of all come back from the L2, at an SM's share of its rate.
inline double mergeClocks(double bytes, double parts, const Device &device) {
  double l2Rate = double(device.l2BytesPerClock) / device.sms;
  return 3 * device.loadClocks + device.mergeClocks + bytes / device.mergeBytesPerClock + parts * bytes / l2Rate;
}

/// Of a CTA that merges a share of them: so many of the tile's pieces at most, which all others have sent.
inline double mergeShareClocks(double bytes, double parts, double pieces, const Device &device) {
  double l2Rate = double(device.l2BytesPerClock) / device.sms, share = std::ceil(pieces / parts) / pieces;
  return 3 * device.loadClocks + device.mergeClocks + bytes * ((parts - 1) / parts + share * (parts - 1)) / l2Rate;
}

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_MODELS_TILEPARTS_H

// What tiles take whose steps several CTAs share (`tail<w,p,ORDER>`), of folds and of products.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_PLAN_MODELS_TILEPARTS_H
#define WEFT_LIB_PLAN_MODELS_TILEPARTS_H

#include "weft/Target/Device.h"

namespace weft::plan {

/// Clocks beside its steps of the CTA that merges a tile's parts, which others have sent: the bytes of one leave, those
/// of all come back from the L2, at this part of an SM's share of its rate.
inline double mergeClocks(double bytes, double parts, double part, const Device &device) {
  double l2Rate = part * double(device.l2BytesPerClock) / device.sms;
  return 3 * device.loadClocks + device.mergeClocks + bytes / device.mergeBytesPerClock + parts * bytes / l2Rate;
}

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_MODELS_TILEPARTS_H

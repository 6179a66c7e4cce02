// How passes tell each other that the CTAs of a cluster read once what they have in common.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TARGET_MULTICAST_H
#define WEFT_TARGET_MULTICAST_H

#include "llvm/ADT/StringRef.h"

namespace weft::gpu {

/// Of a `tk.copy` by TMA, unit, from --weft-tk-roles: each CTA of the cluster copies an equal part of the tile's lines,
/// to all of them. Of the `tk.make_channel` of such a copy, unit: a slot is free when it is in all CTAs.
inline constexpr llvm::StringLiteral multicastAttr = "tk.multicast";

} // namespace weft::gpu

#endif // WEFT_TARGET_MULTICAST_H

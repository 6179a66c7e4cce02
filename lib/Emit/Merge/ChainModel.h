// Whether a wait inside of a launch is cheaper than another launch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_EMIT_MERGE_CHAINMODEL_H
#define WEFT_EMIT_MERGE_CHAINMODEL_H

#include "Part.h"

namespace weft::emit {

/// Why `back` should start by a launch of its own instead of waiting in the launch whose results it reads, with the
/// numbers; empty if the wait is cheaper.
std::string findLoss(llvm::ArrayRef<Part> back, const Device &device);

} // namespace weft::emit

#endif // WEFT_EMIT_MERGE_CHAINMODEL_H

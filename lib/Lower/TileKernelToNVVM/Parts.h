// Patterns of tk.part_send and part_receive; apart from Patterns.h, as the ops are from the others.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_LOWER_TILEKERNELTONVVM_PARTS_H
#define WEFT_LIB_LOWER_TILEKERNELTONVVM_PARTS_H

#include "Patterns.h"

namespace weft::gpu {

void populatePartPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                          const KernelInfo &info);

} // namespace weft::gpu

#endif // WEFT_LIB_LOWER_TILEKERNELTONVVM_PARTS_H

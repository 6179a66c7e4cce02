// One kernel to the text of one PTX module, and modules to one text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_EMIT_PTX_PTXMODULE_H
#define WEFT_LIB_EMIT_PTX_PTXMODULE_H

#include "weft/Emit/Ptx.h"

namespace weft::emit {

/// The lowest PTX ISA with all of `architecture`, as 80 for 8.0; 0 for an unknown one.
unsigned getFirstPtxVersion(llvm::StringRef architecture);

/// A PTX module with the entry `k<number>`. Every other symbol at module scope is prefixed by `k<number>_`, so that
/// modules can be joined. The NVPTX back end must have been initialised.
llvm::Expected<std::string> compilePtxModule(mlir::ModuleOp module, const GpuKernel &kernel, unsigned number);

} // namespace weft::emit

#endif // WEFT_LIB_EMIT_PTX_PTXMODULE_H

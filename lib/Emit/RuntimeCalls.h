// Functions that code generation may call and that no library we link has.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_EMIT_RUNTIMECALLS_H
#define WEFT_LIB_EMIT_RUNTIMECALLS_H

namespace llvm {
class Module;
} // namespace llvm

namespace weft::emit {

/// Defines `__truncsfbf2` (f32 to bf16, to nearest even) in an optimised module that computes with bf16: LLVM forms
/// bf16 comparisons and selections of its own, which the x86 back end widens and rounds by that call.
void defineRuntimeCalls(llvm::Module &module);

} // namespace weft::emit

#endif // WEFT_LIB_EMIT_RUNTIMECALLS_H

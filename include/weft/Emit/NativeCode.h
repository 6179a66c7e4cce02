// Kernel modules in the LLVM dialect to native code: one object a kernel, one shared object for all.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_EMIT_NATIVECODE_H
#define WEFT_EMIT_NATIVECODE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace weft::emit {

/// What native code is generated for.
struct Target {
  std::string triple;
  std::string cpu;                   ///< LLVM's name, e.g. "x86-64-v4".
  std::vector<std::string> features; ///< LLVM names of the features that a machine must have to run the code, sorted.
  unsigned vectorBits = 128;         ///< Width of a vector register.
};

/// The target called `cpu`: "native" (the x86-64 level of this machine), "x86-64-v2", "x86-64-v3", "x86-64-v4", or
/// "x86-64-v4-vnni" (with AVX-512 VNNI).
llvm::Expected<Target> resolveTarget(llvm::StringRef cpu);

enum class CodeKind { LlvmIr, Assembly, Object };

/// Code of each kernel module, in order; kernel N defines `kN`. Kernels are compiled in the threads of the modules'
/// context; the bytes do not depend on their number. Asks `isCancelled` before each one, from any thread;
/// yes is an error.
llvm::Expected<std::vector<std::string>> compileKernels(llvm::ArrayRef<mlir::ModuleOp> kernels, const Target &target,
                                                        CodeKind kind,
                                                        llvm::function_ref<bool()> isCancelled = nullptr);

/// Links objects into an ELF shared object that needs libc and libm only, with the ld.lld or else the
/// ld found on the PATH.
llvm::Expected<std::vector<uint8_t>> linkObjects(llvm::ArrayRef<std::string> objects);

} // namespace weft::emit

#endif // WEFT_EMIT_NATIVECODE_H

// A lowered program (@main of dispatches, kernel modules with grid and scratch) and its native code as one bundle file.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_EMIT_BUNDLEWRITER_H
#define WEFT_EMIT_BUNDLEWRITER_H

#include "weft/Emit/NativeCode.h"

namespace weft::emit {

enum class Weights {
  Embed,    ///< Bytes of weights are copied into the bundle.
  External, ///< Weights of files are referred to by path relative to the bundle's folder; others are embedded.
};

struct BundleOptions {
  std::string path;           ///< Of the bundle.
  std::string productVersion; ///< Such as "weft 0.1.0".
  std::string modelName;      ///< For metadata and `explain`.
  Weights weights = Weights::Embed;
};

/// Sizes for people.
struct BundleStatistics {
  uint64_t fileBytes = 0, weightBytes = 0, codeBytes = 0;
  uint64_t dispatches = 0, kernels = 0;
  uint64_t arenaBytes = 0;    ///< Packed transient memory; 0 if it depends on symbols without a single value.
  uint64_t unsharedBytes = 0; ///< The same without sharing.
};

/// Kernel modules nested in `program`, in the order that native code numbers them.
llvm::SmallVector<mlir::ModuleOp> getKernels(mlir::ModuleOp program);

/// Writes the bundle. `elf` is linked from the code of `getKernels(program)`. Fails with a message if a type or op of
/// @main has no form in a bundle, a weight is missing, or the file cannot be written.
llvm::Expected<BundleStatistics> writeBundle(mlir::ModuleOp program, const Target &target, std::vector<uint8_t> elf,
                                             const BundleOptions &options);

} // namespace weft::emit

#endif // WEFT_EMIT_BUNDLEWRITER_H

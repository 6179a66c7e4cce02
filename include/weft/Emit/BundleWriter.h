// Lowered programs (@main of dispatches, kernel modules) and their code as one bundle file.
//
// One model may be compiled for several targets; each has a program of its own, because plans differ. The program for
// the CPU becomes the entry `main`, that for a GPU architecture `main@sm_90a`; weights and constants are shared.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_EMIT_BUNDLEWRITER_H
#define WEFT_EMIT_BUNDLEWRITER_H

#include "weft/Emit/NativeCode.h"
#include "llvm/Support/JSON.h"

namespace weft::emit {

enum class Weights {
  Embed,    ///< Bytes of weights are copied into the bundle.
  External, ///< Weights of files are referred to by path relative to the bundle's folder; others are embedded.
  Omit,     ///< Neither read nor written: a bundle to look at, not to run.
};

struct BundleOptions {
  std::string path;                      ///< Of the bundle; unless
  std::vector<uint8_t> *bytes = nullptr; ///< takes it.
  std::string productVersion;            ///< Such as "weft 0.1.0".
  std::string modelName;                 ///< For metadata and `explain`.
  bool explain = true;                   ///< Write the section that `weft explain` reads.
  Weights weights = Weights::Embed;
};

/// Sizes of one program, for people.
struct ProgramStatistics {
  std::string target; ///< "cpu", "sm_90a".
  uint64_t codeBytes = 0, dispatches = 0, kernels = 0;
  uint64_t arenaBytes = 0;    ///< Packed transient memory; 0 if it depends on symbols without a single value.
  uint64_t unsharedBytes = 0; ///< The same without sharing.
};

struct BundleStatistics {
  uint64_t fileBytes = 0, weightBytes = 0;
  std::vector<ProgramStatistics> programs; ///< In the order they were added.
};

/// Of a program with variants: its body functions' attribute with the names of the variant's kernels, in their order
/// there.
inline constexpr llvm::StringLiteral variantKernelsAttr = "weft.kernels";

/// Kernel modules nested in `program`, in the order that code numbers them.
llvm::SmallVector<mlir::ModuleOp> getKernels(mlir::ModuleOp program);

/// Collects programs, then writes the file. The programs' modules must live until then. An `add` fails with a message
/// if a type or op of @main has no form in a bundle, a weight is missing, or a kernel's attributes do not fit its
/// dispatches; the writer is of no use afterwards.
class BundleWriter {
public:
  explicit BundleWriter(const BundleOptions &options);
  ~BundleWriter();

  /// The number of the next program's first kernel: its code must define the kernels by this and the following numbers.
  unsigned getNextKernel() const;

  /// `elf` is linked from the code of `getKernels(program)`. The CPU's program must be the first: native code numbers
  /// kernels from 0.
  llvm::Error addCpuProgram(mlir::ModuleOp program, const Target &target, std::vector<uint8_t> elf);

  /// `ptx` is the code of `getKernels(program)` for `architecture`. `registers`: of a thread of each kernel, or empty
  /// if not known.
  llvm::Error addGpuProgram(mlir::ModuleOp program, llvm::StringRef architecture, llvm::StringRef ptx,
                            llvm::ArrayRef<unsigned> registers);

  /// What the planner says of the program that was added last, for the section `explain`: one for each variant.
  void setPlans(std::vector<llvm::json::Object> plans);

  /// Writes the bundle.
  llvm::Expected<BundleStatistics> write();

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace weft::emit

#endif // WEFT_EMIT_BUNDLEWRITER_H

// What NVIDIA's assembler says of PTX: registers, spills, shared memory, and losses that it warns about. It is a check
// at compile time; bundles hold PTX, and compiling works without it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_EMIT_PTXAS_H
#define WEFT_EMIT_PTXAS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace mlir {
class MLIRContext;
}

namespace weft::emit {

/// One entry function. Sizes in bytes; spills of all threads' code, not counted by how often it runs.
struct PtxasEntry {
  std::string name;
  unsigned registers = 0, stack = 0, spillStores = 0, spillLoads = 0, sharedBytes = 0, barriers = 0;
  /// "C7508: Potential Performance Loss: ...": codes of the C75xx family.
  std::vector<std::string> losses;

  bool hasProblem() const { return spillStores || spillLoads || !losses.empty(); }
};

struct PtxasReport {
  std::vector<PtxasEntry> entries; ///< In the order of the report.
  std::vector<std::string> losses; ///< Those that name no function.
};

/// Reads what `ptxas -v` printed. Lines of other forms are skipped, so that it can take any version's report.
PtxasReport parsePtxasReport(llvm::StringRef text);

/// Assembles `ptx` for `architecture` ("sm_90a") with the program `ptxas` and throws the code away. Fails with the
/// first error it prints, or if it cannot be run or takes over two minutes.
llvm::Expected<PtxasReport> runPtxas(llvm::StringRef ptxas, llvm::StringRef ptx, llvm::StringRef architecture);

/// The same for modules with one entry each, in the threads of `context`: one entry a module, in order.
llvm::Expected<std::vector<PtxasEntry>> assemblePtx(llvm::StringRef ptxas, llvm::ArrayRef<std::string> modules,
                                                    llvm::StringRef architecture, mlir::MLIRContext &context);

} // namespace weft::emit

#endif // WEFT_EMIT_PTXAS_H

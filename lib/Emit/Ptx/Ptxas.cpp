// Running ptxas on a temporary file.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Emit/Ptxas.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Threading.h"
#include "weft/Support/Process.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

namespace weft::emit {

static constexpr std::chrono::seconds longest(120);

/// The first line that reports an error.
static std::string firstError(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  for (llvm::StringRef line : lines)
    if (line.contains("error") || line.contains("fatal"))
      return line.trim().str();
  return "no message";
}

llvm::Expected<PtxasReport> runPtxas(llvm::StringRef ptxas, llvm::StringRef ptx, llvm::StringRef architecture) {
  llvm::SmallString<128> path;
  int input = -1;
  if (std::error_code code = llvm::sys::fs::createTemporaryFile("weft", "ptx", input, path))
    return llvm::createStringError(code, "cannot make a temporary file");
  llvm::FileRemover remover(path);
  llvm::raw_fd_ostream(input, /*shouldClose=*/true) << ptx;
  auto result =
      runProcess({ptxas.str(), "-v", "-arch=" + architecture.str(), path.str().str(), "-o", "/dev/null"}, longest);
  if (!result)
    return llvm::createStringError("cannot run %s: %s", ptxas.str().c_str(),
                                   llvm::toString(result.takeError()).c_str());
  if (result->exitCode != 0)
    return llvm::createStringError("%s: %s", ptxas.str().c_str(), firstError(result->output).c_str());
  return parsePtxasReport(result->output);
}

llvm::Expected<std::vector<PtxasEntry>> assemblePtx(llvm::StringRef ptxas, llvm::ArrayRef<std::string> modules,
                                                    llvm::StringRef architecture, mlir::MLIRContext &context) {
  std::vector<PtxasEntry> entries(modules.size());
  std::vector<std::string> errors(modules.size());
  mlir::parallelFor(&context, 0, modules.size(), [&](size_t i) {
    llvm::Expected<PtxasReport> report = runPtxas(ptxas, modules[i], architecture);
    if (!report) {
      errors[i] = llvm::toString(report.takeError());
    } else if (report->entries.size() != 1) {
      errors[i] = llvm::formatv("{0}: expected a report of one entry, got {1}", ptxas, report->entries.size());
    } else {
      entries[i] = std::move(report->entries.front());
      llvm::append_range(entries[i].losses, report->losses);
    }
  });
  for (const std::string &error : errors)
    if (!error.empty())
      return llvm::createStringError(error);
  return entries;
}

} // namespace weft::emit

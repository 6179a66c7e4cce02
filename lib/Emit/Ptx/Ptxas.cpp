// Running ptxas on temporary files.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Emit/Ptxas.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Threading.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

namespace weft::emit {

static constexpr unsigned timeoutSeconds = 120;

/// A file that goes when the object does.
static llvm::Expected<std::unique_ptr<llvm::FileRemover>> createFile(llvm::StringRef suffix, int &descriptor,
                                                                     llvm::SmallVectorImpl<char> &path) {
  if (std::error_code code = llvm::sys::fs::createTemporaryFile("weft", suffix, descriptor, path))
    return llvm::createStringError(code, "cannot make a temporary file");
  return std::make_unique<llvm::FileRemover>(llvm::StringRef(path.data(), path.size()));
}

/// The first line that tells of an error.
static std::string firstError(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  for (llvm::StringRef line : lines)
    if (line.contains("error") || line.contains("fatal"))
      return line.trim().str();
  return "no message";
}

llvm::Expected<PtxasReport> runPtxas(llvm::StringRef ptxas, llvm::StringRef ptx, llvm::StringRef architecture) {
  llvm::SmallString<128> inputPath, outputPath;
  int input = -1, output = -1;
  auto inputFile = createFile("ptx", input, inputPath);
  if (!inputFile)
    return inputFile.takeError();
  llvm::raw_fd_ostream(input, /*shouldClose=*/true) << ptx;
  auto outputFile = createFile("txt", output, outputPath);
  if (!outputFile)
    return outputFile.takeError();
  llvm::raw_fd_ostream(output, /*shouldClose=*/true).flush();
  std::string target = "-arch=" + architecture.str(), message;
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(), outputPath.str(), outputPath.str()};
  int code = llvm::sys::ExecuteAndWait(ptxas, {ptxas, "-v", target, inputPath, "-o", "/dev/null"}, std::nullopt,
                                       redirects, timeoutSeconds, /*MemoryLimit=*/0, &message);
  auto text = llvm::MemoryBuffer::getFile(outputPath);
  if (code < 0 || !text)
    return llvm::createStringError("cannot run %s: %s", ptxas.str().c_str(), message.c_str());
  if (code != 0)
    return llvm::createStringError("%s: %s", ptxas.str().c_str(), firstError((*text)->getBuffer()).c_str());
  return parsePtxasReport((*text)->getBuffer());
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

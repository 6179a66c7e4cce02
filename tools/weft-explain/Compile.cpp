// A model that is no bundle yet: compiled by weft-compile into a temporary one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Explain.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace weft;
using bundle::Error;
using bundle::ErrorCode;

Error weft::explain::compileAndLoad(const std::string &path, const std::vector<std::string> &flags,
                                    const Symbols &symbols, const DeviceTable &devices, Model &model) {
  std::string self = llvm::sys::fs::getMainExecutable(nullptr, nullptr);
  llvm::SmallString<256> tool(llvm::sys::path::parent_path(self)), file;
  llvm::sys::path::append(tool, "weft-compile");
  if (std::error_code code = llvm::sys::fs::createTemporaryFile("weft-explain", "weft", file))
    return Error(ErrorCode::Resource, "temporary file: " + code.message());
  llvm::FileRemover remover(file);
  std::vector<llvm::StringRef> arguments{tool, path, "-o", file, "--quiet", "--weights=omit"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  std::string message;
  int exitCode = llvm::sys::ExecuteAndWait(tool, arguments, std::nullopt, {}, 0, 0, &message);
  if (exitCode != 0) // weft-compile has said why.
    return Error(exitCode > 0 ? ErrorCode(exitCode) : ErrorCode::Internal,
                 bundle::quote(path) + ": not compiled" + (message.empty() ? "" : ": " + message));
  return loadBundle(std::string(file), symbols, devices, model);
}

// See the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Environment.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include <cstdlib>
#include <dlfcn.h>

namespace weft {

std::string findPtxas() {
  if (llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName("ptxas"))
    return *found;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *root = std::getenv(variable)) {
      llvm::SmallString<128> folder(root);
      llvm::sys::path::append(folder, "bin");
      if (llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName("ptxas", {folder.str()}))
        return *found;
    }
  llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName("ptxas", {"/usr/local/cuda/bin"});
  return found ? *found : "";
}

std::string getOwnPath() {
  static int anchor;
  Dl_info info;
  // Of a statically linked tool dladdr gives the name that it was called by.
  if (dladdr(&anchor, &info) && info.dli_fname && llvm::StringRef(info.dli_fname).contains(".so"))
    return info.dli_fname;
  return llvm::sys::fs::getMainExecutable(nullptr, &anchor);
}

} // namespace weft

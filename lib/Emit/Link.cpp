// Linking objects into a shared object with lld or GNU ld, in a temporary folder of our own.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Emit/NativeCode.h"
#include "weft/Support/Process.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

namespace weft::emit {

static constexpr std::chrono::minutes longest(10);

static llvm::Error writeFile(llvm::StringRef path, llvm::StringRef bytes) {
  std::error_code code;
  llvm::raw_fd_ostream os(path, code);
  if (code)
    return llvm::createStringError(code, "cannot write '%s'", path.str().c_str());
  os << bytes;
  os.close();
  if (os.has_error())
    return llvm::createStringError(os.error(), "cannot write '%s'", path.str().c_str());
  return llvm::Error::success();
}

static llvm::Expected<std::string> findLinker() {
  for (llvm::StringRef name : {"ld.lld-22", "ld.lld"})
    if (llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName(name))
      return *path;
  if (llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName("ld.lld", {"/usr/lib/llvm-22/bin"}))
    return *path;
  if (llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName("ld")) // GNU's: where there is a C compiler.
    return *path;
  return llvm::createStringError("no linker found; install lld or binutils, or put ld.lld or ld on the PATH");
}

/// The C library's shared objects on this machine: named at link time so that the result states what it needs.
static std::vector<std::string> findCLibraries() {
  std::vector<std::string> found;
  for (llvm::StringRef name : {"libm.so.6", "libc.so.6"})
    for (llvm::StringRef folder :
         {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"}) {
      llvm::SmallString<64> path(folder);
      llvm::sys::path::append(path, name);
      if (llvm::sys::fs::exists(path)) {
        found.push_back(path.str().str());
        break;
      }
    }
  return found;
}

llvm::Expected<std::vector<uint8_t>> linkObjects(llvm::ArrayRef<std::string> objects) {
  llvm::SmallString<64> folder;
  if (std::error_code code = llvm::sys::fs::createUniqueDirectory("weft", folder))
    return llvm::createStringError(code, "cannot make a temporary folder");
  llvm::scope_exit cleanUp([&] { (void)llvm::sys::fs::remove_directories(folder); });
  llvm::Expected<std::string> linker = findLinker();
  if (!linker)
    return linker.takeError();
  auto inFolder = [&](const llvm::Twine &name) {
    llvm::SmallString<64> path(folder);
    llvm::sys::path::append(path, name);
    return path.str().str();
  };
  std::string result = inFolder("kernels.so");
  std::vector<std::string> arguments = {
      *linker, "-shared", "--hash-style=gnu", "--build-id=none", "--gc-sections",   "--strip-all", "-z",  "noexecstack",
      "-z",    "now",     "--as-needed",      "-soname",         "weft-kernels.so", "-o",          result};
  for (auto [i, object] : llvm::enumerate(objects)) {
    arguments.push_back(inFolder("k" + llvm::Twine(i) + ".o"));
    if (llvm::Error error = writeFile(arguments.back(), object))
      return std::move(error);
  }
  for (const std::string &library : findCLibraries())
    arguments.push_back(library);
  llvm::Expected<ProcessResult> linked = runProcess(arguments, longest);
  if (!linked)
    return llvm::createStringError("cannot run %s: %s", linker->c_str(), llvm::toString(linked.takeError()).c_str());
  if (linked->exitCode != 0)
    return llvm::createStringError("linking failed: %s", linked->output.c_str());
  auto bytes = llvm::MemoryBuffer::getFile(result);
  if (!bytes)
    return llvm::createStringError(bytes.getError(), "cannot read the linked kernels");
  return std::vector<uint8_t>((*bytes)->getBufferStart(), (*bytes)->getBufferEnd());
}

} // namespace weft::emit

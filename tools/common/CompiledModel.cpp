// A model where a bundle is expected: compiled by weft-compile into a temporary file.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CompiledModel.h"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <spawn.h>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>

using namespace weft;
using bundle::Error;
using bundle::ErrorCode;

std::string tools::getOwnFolder() {
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  std::string file(path, length > 0 ? size_t(length) : 0);
  return file.substr(0, file.rfind('/'));
}

static bool endsIn(std::string_view path, std::string_view ending) {
  return path.size() >= ending.size() && path.substr(path.size() - ending.size()) == ending;
}

bool tools::isBundle(const std::string &path) { return endsIn(path, ".weft"); }
bool tools::isModel(const std::string &path) { return endsIn(path, ".onnx"); }

tools::CompiledModel::~CompiledModel() {
  if (!path.empty())
    unlink(path.c_str());
}

/// The exit code of the program; 128 and more: it was ended by a signal.
static Error runProgram(const std::vector<std::string> &words, int &exitCode) {
  std::vector<char *> argv;
  for (const std::string &word : words)
    argv.push_back(const_cast<char *>(word.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  int status = 0;
  if (int code = posix_spawn(&child, argv[0], nullptr, nullptr, argv.data(), environ))
    return Error(ErrorCode::Resource, bundle::quote(words.front()) + ": " + strerror(code) +
                                          "; a model is compiled by weft-compile, which is expected beside this tool");
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return Error(ErrorCode::Resource, bundle::quote(words.front()) + ": " + strerror(errno));
  exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return {};
}

Error tools::CompiledModel::compile(const std::string &folder, const std::string &model,
                                    const std::vector<std::string> &flags) {
  const char *temporary = std::getenv("TMPDIR");
  std::string parent = temporary && *temporary ? temporary : "/tmp", pattern = parent + "/weft-XXXXXX.weft";
  int file = mkstemps(pattern.data(), int(strlen(".weft")));
  if (file < 0)
    return Error(ErrorCode::Resource, "no temporary file in " + bundle::quote(parent) + ": " + strerror(errno) +
                                          "; set TMPDIR to a folder that can be written to");
  close(file);
  path = pattern;
  std::vector<std::string> words = {folder + "/weft-compile", model, "-o", path, "--quiet"};
  words.insert(words.end(), flags.begin(), flags.end());
  int exitCode = 0;
  if (Error error = runProgram(words, exitCode))
    return error;
  if (exitCode == 0)
    return {};
  // weft-compile has said why.
  return Error(exitCode < 128 ? ErrorCode(exitCode) : ErrorCode::Internal, bundle::quote(model) + ": not compiled");
}

Error tools::compileIfModel(const std::string &path, const std::string &device, const std::vector<std::string> &flags,
                            CompiledModel &compiled, std::string &bundle) {
  if (!isModel(path))
    return flags.empty() ? Error()
                         : Error(ErrorCode::Usage,
                                 "--compile-flag: expected a model (.onnx) to compile, got " + bundle::quote(path));
  std::vector<std::string> all = {"--explain=off"};
  all.insert(all.end(), flags.begin(), flags.end());
  bool hasTarget = false;
  for (const std::string &flag : flags)
    hasTarget |= flag.compare(0, 9, "--target=") == 0;
  if (!hasTarget && device.compare(0, 4, "cuda") == 0)
    return Error(ErrorCode::Usage, "expected --compile-flag=--target=GPU, since a model is compiled for a GPU; `weft "
                                   "doctor` says which one is here");
  if (!hasTarget) {
    size_t begin = device.compare(0, 4, "emu:") == 0 ? 4 : 0;
    all.push_back("--target=" + device.substr(begin, device.find(',') - begin));
  }
  if (Error error = compiled.compile(getOwnFolder(), path, all))
    return error;
  bundle = compiled.getPath();
  return {};
}

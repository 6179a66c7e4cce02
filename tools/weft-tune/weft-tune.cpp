// weft-tune MODEL|FOLDER: schedules of a model's kernels, timed on a device; --merge: files of records.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../common/CommandLine.h"
#include "Bed.h"
#include "Tuner.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <limits.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace weft;
using namespace weft::tune;

static const char *const kDescription =
    "Times schedules of a model's kernels on a device and records the best: weft-tune MODEL --target=H100 -o "
    "RECORDS\n\n"
    "`weft compile --records=RECORDS` takes them instead of what the planner's model says. MODEL: an ONNX model, "
    "which\n"
    "weft-compile (beside this program) compiles to its kernels, with the schedules that the model ranks first; or a\n"
    "folder of these, as `weft compile --emit=candidates` made it, perhaps on another machine. Each schedule's "
    "results\n"
    "are checked before it is timed, with cold caches and in turns. A call that ended early goes on where it was.";

namespace {
struct Flags {
  Options tune;
  std::string model, target = "H100", budget, folder;
  std::vector<std::string> merge, compile;
  unsigned candidates = 12;
};
} // namespace

static void declareFlags(CLI::App &app, Flags &flags) {
  app.add_option("model", flags.model, "Model, or folder of candidates");
  app.add_option("--device", flags.tune.device,
                 "cuda[:N] (default: cuda), or emu:GPU, which checks results and measures no times");
  app.add_option("--target", flags.target, "Device to compile for, as weft-compile knows it (default: H100)");
  app.add_option("-o,--records", flags.tune.records, "File of records, which grows")->option_text("FILE");
  app.add_option("--budget", flags.budget, "Time after which no more kernel is begun: 45s, 10m (default: none)");
  app.add_option("--trials", flags.tune.trials, "Schedules after which no more kernel is begun (default: all)")
      ->check(CLI::Range(1, 100000000));
  app.add_option("--candidates", flags.candidates, "The most schedules of a kernel (default: 12)")
      ->check(CLI::Range(1, 64));
  app.add_option("--jobs", flags.tune.processes, "Processes that have the driver compile ahead (default: one a core)")
      ->check(CLI::Range(1, 256));
  app.add_option("--folder", flags.folder, "Where a model's candidates go, and stay (default: RECORDS.MODEL)");
  app.add_option("--compile-flag", flags.compile, "A flag for weft-compile, such as --allow-tf32")
      ->allow_extra_args(false);
  app.add_option("--merge", flags.merge, "Files of records, of which -o gets the best of each kernel");
  app.add_flag("--quiet", flags.tune.isQuiet, "No progress on stderr");
}

/// "45s", "10m"; a bare number is seconds.
static Error parseBudget(const std::string &text, double &seconds) {
  const char *end = text.data() + text.size();
  auto [rest, code] = std::from_chars(text.data(), end, seconds);
  std::string_view unit(rest, size_t(end - rest));
  if (unit == "m")
    seconds *= 60;
  if (code == std::errc() && (unit.empty() || unit == "s" || unit == "m") && seconds > 0 && seconds <= 1e6)
    return {};
  return Error(ErrorCode::Usage, "--budget: expected a time like 45s or 10m, got " + bundle::quote(text));
}

/// Runs weft-compile, which lies beside this program.
static Error compileCandidates(const Flags &flags, const std::string &folder) {
  char path[PATH_MAX];
  ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  std::string tool(path, length > 0 ? size_t(length) : 0);
  tool = tool.substr(0, tool.rfind('/') + 1) + "weft-compile";
  std::vector<std::string> words = {tool,
                                    flags.model,
                                    "--target=" + flags.target,
                                    "--emit=candidates",
                                    "--candidates=" + std::to_string(flags.candidates),
                                    "-o",
                                    folder};
  words.insert(words.end(), flags.compile.begin(), flags.compile.end());
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t id = ::fork();
  if (id == 0) {
    ::execv(tool.c_str(), arguments.data());
    ::_exit(127);
  }
  int status = 0;
  if (id < 0 || ::waitpid(id, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) == 127)
    return Error(ErrorCode::Unsupported,
                 "cannot run " + bundle::quote(tool) + "; give a folder that `weft compile --emit=candidates` made");
  int code = WEXITSTATUS(status);
  return code == 0 ? Error() : Error(ErrorCode(code), "weft-compile ended with exit code " + std::to_string(code));
}

/// The folder of candidates; a model's is made, unless it is whole already.
static Error findFolder(const Flags &flags, std::string &folder) {
  std::error_code code;
  folder = flags.model;
  if (std::filesystem::is_directory(folder, code))
    return {};
  if (!std::filesystem::exists(folder, code))
    return Error(ErrorCode::Input, "cannot open " + bundle::quote(folder));
  folder = flags.folder.empty() ? flags.tune.records + "." + std::filesystem::path(flags.model).stem().string()
                                : flags.folder;
  if (std::filesystem::exists(folder, code))
    return {};
  std::string partial = folder + ".partial";
  std::filesystem::remove_all(partial, code);
  if (Error error = compileCandidates(flags, partial))
    return error;
  std::filesystem::rename(partial, folder, code);
  return code ? Error(ErrorCode::Input, "cannot write " + bundle::quote(folder)) : Error();
}

/// A kernel may take the GPU's context with it, or the process: each round runs in one of its own, and what it was at
/// is left out by the next.
static int runRounds(const std::string &folder, const Options &options) {
  constexpr int mostRounds = 32, lostCode = 75;
  for (int round = 0; round < mostRounds; ++round) {
    pid_t id = ::fork();
    if (id == 0) {
      bool isLost = false;
      Error error = tuneKernels(folder, options, isLost);
      std::fflush(nullptr);
      ::_exit(error ? tools::reportError("weft-tune", error) : isLost ? lostCode : 0);
    }
    int status = 0;
    if (id < 0 || ::waitpid(id, &status, 0) < 0)
      break;
    if (WIFEXITED(status) && WEXITSTATUS(status) != lostCode)
      return WEXITSTATUS(status);
    std::fprintf(stderr, "weft-tune: a schedule broke the GPU's context: going on without it\n");
  }
  return tools::reportError("weft-tune", Error(ErrorCode::Device, "the GPU fails again and again"));
}

static Error checkFlags(Flags &flags) {
  if (flags.tune.records.empty())
    return Error(ErrorCode::Usage, "expected -o FILE for the records");
  if (flags.merge.empty() == flags.model.empty())
    return Error(ErrorCode::Usage, "expected a model, a folder of candidates, or --merge, and one of them");
  double seconds = std::numeric_limits<double>::infinity();
  if (!flags.budget.empty())
    if (Error error = parseBudget(flags.budget, seconds))
      return error;
  flags.tune.end = now() + seconds;
  return {};
}

int main(int argc, char **argv) {
  Flags flags;
  CLI::App app(kDescription, "weft-tune");
  declareFlags(app, flags);
  int exitCode = 0;
  if (tools::parse(app, argc, argv, exitCode))
    return exitCode;
  std::string folder;
  Error error = checkFlags(flags);
  if (!error)
    error = flags.merge.empty() ? findFolder(flags, folder) : mergeRecords(flags.merge, flags.tune.records);
  if (error)
    return tools::reportError("weft-tune", error);
  return folder.empty() ? 0 : runRounds(folder, flags.tune);
}

// weft-doctor: what of Weft works on this machine, and what to do about the rest.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../common/CommandLine.h"
#include "../common/CompiledModel.h"
#include "../common/TimedCard.h"
#include "Cpu/CpuFeatures.h"
#include "Cuda/CubinCache.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <sys/stat.h>
#include <unistd.h>

using namespace weft;
using bundle::Error;
using bundle::ErrorCode;

namespace {
/// Lines "ok/no/-- subject  what is there, or what to do".
class Findings {
public:
  enum State { Good, Missing, Broken };

  void add(State state, const char *subject, const std::string &text) {
    static constexpr const char *marks[] = {"ok", "--", "NO"};
    std::printf("%s  %-9s %s\n", marks[state], subject, text.c_str());
    broken |= state == Broken;
  }
  bool hasBroken() const { return broken; }

private:
  bool broken = false;
};
} // namespace

/// The first of these programs on the PATH or in one of the folders; empty: none.
static std::string findProgram(const std::vector<std::string> &names, std::vector<std::string> folders) {
  const char *variable = std::getenv("PATH");
  std::string path = variable ? variable : "", folder;
  std::vector<std::string> all;
  for (size_t begin = 0; begin <= path.size();) {
    size_t end = std::min(path.find(':', begin), path.size());
    all.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  all.insert(all.end(), folders.begin(), folders.end());
  for (const std::string &name : names)
    for (const std::string &each : all)
      if (std::string file = each + "/" + name; !each.empty() && access(file.c_str(), X_OK) == 0)
        return file;
  return "";
}

static void checkCompiler(Findings &findings) {
  std::string tool = tools::getOwnFolder() + "/weft-compile";
  bool isThere = access(tool.c_str(), X_OK) == 0;
  findings.add(isThere ? Findings::Good : Findings::Missing, "compiler",
               isThere ? tool : "no weft-compile beside this tool: bundles run here, models are compiled elsewhere");
  if (!isThere)
    return;
  std::string linker = findProgram({"ld.lld-22", "ld.lld", "ld"}, {"/usr/lib/llvm-22/bin"});
  findings.add(linker.empty() ? Findings::Broken : Findings::Good, "linker",
               linker.empty() ? "no ld.lld or ld, which make native code: install lld or binutils" : linker);
  std::vector<std::string> folders = {"/usr/local/cuda/bin"};
  for (const char *name : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *root = std::getenv(name))
      folders.insert(folders.begin(), std::string(root) + "/bin");
  std::string ptxas = findProgram({"ptxas"}, folders);
  findings.add(ptxas.empty() ? Findings::Missing : Findings::Good, "ptxas",
               ptxas.empty() ? "not found: code for GPUs is made, and not checked for spilled registers" : ptxas);
}

static void checkCpu(Findings &findings) {
  static constexpr struct {
    const char *level, *feature;
  } levels[] = {
      {"x86-64-v2", "sse4.2"}, {"x86-64-v3", "avx2"}, {"x86-64-v4", "avx512vl"}, {"x86-64-v4-vnni", "avx512vnni"}};
  std::string best;
  for (const auto &[level, feature] : levels)
    if (isNativeTarget("x86_64-unknown-linux-gnu") && hasCpuFeature(feature))
      best = level;
  findings.add(best.empty() ? Findings::Broken : Findings::Good, "cpu",
               best.empty()
                   ? "no code runs here: expected a CPU of x86-64-v2 or above"
                   : "runs code up to --cpu=" + best + ", " + std::to_string(sysconf(_SC_NPROCESSORS_ONLN)) + " CPUs");
}

/// `isWanted`: that there is no GPU is a fault.
static void checkCards(Findings &findings, bool isWanted) {
  for (unsigned ordinal = 0;; ++ordinal) {
    tools::TimedCard card;
    if (Error error = card.open(ordinal, 0)) {
      if (ordinal == 0)
        findings.add(isWanted ? Findings::Broken : Findings::Missing, "cuda:0", error.getMessage());
      return;
    }
    const tools::CardProperties &known = card.getProperties();
    findings.add(Findings::Good, ("cuda:" + std::to_string(ordinal)).c_str(),
                 known.name + ", " + known.architecture + ", " + std::to_string(known.sms) + " SMs, " + known.driver);
  }
}

static void checkFolder(Findings &findings, const char *subject, const std::string &folder, const char *use) {
  struct stat status;
  if (folder.empty())
    return findings.add(Findings::Missing, subject, std::string("none: ") + use + " are not kept");
  if (::stat(folder.c_str(), &status) != 0)
    return findings.add(Findings::Good, subject, folder + " (not made yet)");
  bool isOwn = S_ISDIR(status.st_mode) && status.st_uid == geteuid() && !(status.st_mode & 022);
  findings.add(isOwn ? Findings::Good : Findings::Broken, subject,
               isOwn ? folder : folder + ": expected a folder that only its user can write to; chmod go-w it");
}

int main(int argc, char **argv) {
  std::string device;
  CLI::App app("What of Weft works on this machine, and what to do about the rest", "weft-doctor");
  app.add_option("--device", device, "A device that must work: cpu or cuda")->option_text("NAME");
  int exitCode = 0;
  if (tools::parse(app, argc, argv, exitCode))
    return exitCode;
  if (!device.empty() && device != "cpu" && device != "cuda")
    return tools::reportError("weft-doctor",
                              Error(ErrorCode::Usage, "--device: expected cpu or cuda, got " + bundle::quote(device)));
  Findings findings;
  findings.add(Findings::Good, "weft", tools::getVersionText());
  checkCompiler(findings);
  checkCpu(findings);
  checkCards(findings, device == "cuda");
  checkFolder(findings, "cubins", cuda::getDefaultCubinFolder(), "kernels that the driver compiled");
  const char *cache = std::getenv("WEFT_CACHE");
  checkFolder(findings, "bundles", cache && std::string(cache) != "off" ? cache : "", "bundles ($WEFT_CACHE)");
  return findings.hasBroken() ? int(ErrorCode::Device) : 0;
}

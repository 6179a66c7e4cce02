// weft: one front for all tools. `weft compile ...` replaces itself by the `weft-compile` that lies beside it, so exit
// codes, signals and the terminal are the tool's own.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Bundle/Error.h"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

using namespace weft::bundle;

static constexpr int kUsage = static_cast<int>(ErrorCode::Usage);

/// The folder of this executable, without a final slash; empty when the system does not tell.
static std::string ownFolder() {
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  if (length <= 0)
    return "";
  std::string file(path, static_cast<size_t>(length));
  return file.substr(0, file.rfind('/'));
}

/// The tools for users, without "weft-", that lie beside this one.
static std::vector<std::string> subcommands(const std::string &folder) {
  std::vector<std::string> names;
  for (const char *name :
       {"bench", "calibrate", "compare", "compare-counters", "compile", "counters", "doctor", "emu", "explain",
        "explore", "inspect", "lsp-server", "opt", "reduce", "reference", "run", "translate", "tune"})
    if (access((folder + "/weft-" + name).c_str(), X_OK) == 0)
      names.push_back(name);
  return names;
}

static void printUsage(FILE *out, const std::vector<std::string> &names) {
  static constexpr struct {
    const char *name, *what;
  } tools[] = {{"compile", "an ONNX model to a bundle"},
               {"run", "a bundle, on files or random inputs"},
               {"bench", "how fast a bundle is, alone or against another"},
               {"explain", "what was made of a model, and why"},
               {"inspect", "what a model is made of, and what of it is supported"},
               {"compare", "the first tensor at which two programs differ, or Weft and onnxruntime"},
               {"reduce", "a smaller model that still fails, or differs"},
               {"doctor", "what works on this machine"},
               {"tune", "measure schedules on a GPU, for --records"},
               {"calibrate", "measure a GPU, for --device-table"},
               {"explore", "a page to try traversal orders on"},
               {"counters", "predicted counters of launches"},
               {"compare-counters", "predicted and measured ones"},
               {"emu", "run PTX in the emulator"},
               {"opt", "passes on modules"},
               {"translate", "a model to a module, as text"},
               {"reference", "evaluate a module op by op"},
               {"lsp-server", "the language server, for editors"}};
  fprintf(out, "usage: weft SUBCOMMAND [ARGUMENTS]\n\nsubcommands:\n");
  for (const auto &[name, what] : tools)
    if (std::find(names.begin(), names.end(), name) != names.end())
      fprintf(out, "  %-18s%s\n", name, what);
  fprintf(out, "\n`weft SUBCOMMAND --help` explains one; `weft --version` is the version.\n");
}

static int reportUnknown(const char *word, const std::vector<std::string> &names) {
  auto nameAt = [](size_t i, const void *context) {
    return std::string_view((*static_cast<const std::vector<std::string> *>(context))[i]);
  };
  std::string nearest = nearestName(word, names.size(), nameAt, &names);
  std::string hint = nearest.empty() ? "; see `weft --help`" : "; did you mean " + nearest + "?";
  fprintf(stderr, "weft: error: unknown subcommand %s%s\n", quote(word).c_str(), hint.c_str());
  return kUsage;
}

int main(int argc, char **argv) {
  std::string folder = ownFolder();
  std::vector<std::string> names = subcommands(folder);
  if (argc < 2) {
    printUsage(stderr, names);
    return kUsage;
  }
  std::string_view word = argv[1];
  if (word == "--help" || word == "-h" || word == "help") {
    printUsage(stdout, names);
    return 0;
  }
  if (word == "--version") {
    printf("weft " WEFT_VERSION "\n");
    return 0;
  }
  if (std::find(names.begin(), names.end(), word) == names.end())
    return reportUnknown(argv[1], names);
  std::string tool = folder + "/weft-" + argv[1];
  argv[1] = tool.data();
  execv(tool.c_str(), argv + 1);
  perror(("weft: " + tool).c_str());
  return kUsage;
}

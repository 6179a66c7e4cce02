// weft: one front for all tools. `weft compile ...` replaces itself by the `weft-compile` that lies beside it, so exit
// codes, signals and terminal are the tool's own. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>

static constexpr int kUsage = 2;

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
  for (const char *name : {"bench", "compile", "inspect", "opt", "reference", "run", "translate"})
    if (access((folder + "/weft-" + name).c_str(), X_OK) == 0)
      names.push_back(name);
  return names;
}

/// Levenshtein distance, for the suggestion.
static size_t distance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

static void printUsage(FILE *out, const std::vector<std::string> &names) {
  fprintf(out, "usage: weft SUBCOMMAND [ARGUMENTS]\n\nsubcommands:");
  for (const std::string &name : names)
    fprintf(out, " %s", name.c_str());
  fprintf(out, "\n\n`weft SUBCOMMAND --help` explains one.\n");
}

/// Only what is printable reaches the terminal, and no more than a line of it.
static std::string printable(const char *text) {
  std::string out;
  for (; *text && out.size() < 60; ++text)
    out += *text >= 0x20 && *text < 0x7f ? *text : '?';
  return out;
}

int main(int argc, char **argv) {
  std::string folder = ownFolder();
  std::vector<std::string> names = subcommands(folder);
  if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "help")) {
    printUsage(argc < 2 ? stderr : stdout, names);
    return argc < 2 ? kUsage : 0;
  }
  if (std::find(names.begin(), names.end(), argv[1]) != names.end()) {
    std::string tool = folder + "/weft-" + argv[1];
    argv[1] = const_cast<char *>(tool.c_str());
    execv(tool.c_str(), argv + 1);
    perror(("weft: " + tool).c_str());
    return kUsage;
  }
  fprintf(stderr, "weft: unknown subcommand `%s`", printable(argv[1]).c_str());
  auto nearest = std::min_element(names.begin(), names.end(), [&](const std::string &a, const std::string &b) {
    return distance(a, argv[1]) < distance(b, argv[1]);
  });
  if (nearest != names.end() && distance(*nearest, argv[1]) <= 3)
    fprintf(stderr, "; did you mean `%s`", nearest->c_str());
  fprintf(stderr, "\n");
  return kUsage;
}

// What the LLVM-free tools share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CommandLine.h"

#include "weft/bundle_format.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>

using namespace weft;
using namespace weft::bundle;

std::string tools::getVersionText() {
  return "weft " WEFT_VERSION ", bundle format " + std::to_string(kFormatMajor) + "." + std::to_string(kFormatMinor);
}

int tools::reportError(const char *tool, const Error &error) {
  std::fprintf(stderr, "%s: error: %s\n", tool, error.getMessage().c_str());
  return int(error.getCode());
}

/// The arguments with --flagfile replaced by what it holds; files do not nest.
static Error expandFlagFiles(int argc, char **argv, std::vector<std::string> &arguments) {
  constexpr std::string_view flag = "--flagfile=";
  for (int i = 1; i < argc; ++i) {
    std::string_view argument = argv[i];
    if (argument.substr(0, flag.size()) != flag) {
      arguments.emplace_back(argument);
      continue;
    }
    std::string path(argument.substr(flag.size())), line;
    std::ifstream file(path);
    if (!file)
      return Error(ErrorCode::Usage, "--flagfile: cannot open " + quote(path));
    while (std::getline(file, line))
      if (!line.empty() && line[0] != '#')
        arguments.push_back(line);
  }
  return {};
}

/// The flag of `app` that is nearest to `word` ("--thread" -> "--threads"), or empty.
static std::string suggest(const CLI::App &app, const std::string &word) {
  std::vector<std::string> names;
  for (const CLI::Option *option : app.get_options())
    for (const std::string &name : option->get_lnames())
      names.push_back("--" + name);
  names.push_back("--flagfile");
  auto nameAt = [](size_t i, const void *context) {
    return std::string_view((*static_cast<const std::vector<std::string> *>(context))[i]);
  };
  return nearestName(word, names.size(), nameAt, &names);
}

bool tools::parse(CLI::App &app, int argc, char **argv, int &exitCode) {
  constexpr int usage = int(ErrorCode::Usage);
  std::string tool = app.get_name();
  std::vector<std::string> arguments;
  if (Error error = expandFlagFiles(argc, argv, arguments)) {
    exitCode = reportError(tool.c_str(), error);
    return true;
  }
  std::reverse(arguments.begin(), arguments.end()); // the order CLI11 wants
  app.allow_extras();
  app.set_version_flag("--version", getVersionText());
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::Success &success) {
    exitCode = app.exit(success);
    return true;
  } catch (const CLI::ParseError &error) {
    exitCode = reportError(tool.c_str(), Error(ErrorCode::Usage, std::string(error.what()) + "; see --help"));
    return true;
  } catch (const std::logic_error &) { // CLI11 reads the value of a flag that takes none as a number.
    exitCode = reportError(tool.c_str(), Error(ErrorCode::Usage, "expected flags without values, got one of another "
                                                                 "kind than true or false; see --help"));
    return true;
  }
  std::vector<std::string> extras = app.remaining();
  if (extras.empty())
    return false;
  std::string word = extras.front().substr(0, extras.front().find('='));
  std::string nearest = word.substr(0, 1) == "-" ? suggest(app, word) : "";
  std::string hint = nearest.empty() ? "; see --help" : "; did you mean " + nearest + "?";
  const char *what = word.substr(0, 1) == "-" ? "unknown flag " : "unexpected argument ";
  reportError(tool.c_str(), Error(ErrorCode::Usage, what + quote(word) + hint));
  exitCode = usage;
  return true;
}

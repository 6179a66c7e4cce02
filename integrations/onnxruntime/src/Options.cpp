// Options of a session come as entries of its configuration: a provider's own below "ep." and its name in lower case.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Options.h"
#include "weft/runtime.h"

#include <algorithm>
#include <cstdlib>

using namespace weft::ort;

/// The value of an entry, or `text` as it was.
static std::string readEntry(Api api, const SessionOptions *session, const char *key, std::string &text) {
  int has = 0;
  size_t size = 0;
  Status *status = api.HasSessionConfigEntry(session, key, &has);
  if (!status && has) {
    // Without room the call says how much it needs, as an error or not.
    if (Status *ignored = api.GetSessionConfigEntry(session, key, static_cast<char *>(nullptr), &size))
      api.ReleaseStatus(ignored);
    std::string value(size, '\0');
    status = api.GetSessionConfigEntry(session, key, value.data(), &size);
    text = value.c_str();
  }
  if (!status)
    return "";
  std::string error = api.GetErrorMessage(status);
  api.ReleaseStatus(status);
  return error;
}

/// What a bundle is compiled for: of GPUs all that there is code for, since which one it is shows when it runs.
static std::string findTarget(const std::string &device) {
  if (device.rfind("emu:", 0) == 0)
    return device.substr(4, device.find(',') - 4);
  return device.rfind("cuda", 0) == 0 ? "sm_80,sm_86,sm_89,sm_90a" : "cpu";
}

static std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin)
      parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::string Options::read(Api api, const SessionOptions *session, Options &options) {
  std::string enable, embed, threads, flags;
  const std::pair<const char *, std::string *> entries[] = {{"ep.context_enable", &enable},
                                                            {"ep.context_embed_mode", &embed},
                                                            {"ep.context_file_path", &options.contextPath},
                                                            {"ep.context_node_name_prefix", &options.contextPrefix},
                                                            {"ep.weftexecutionprovider.device", &options.device},
                                                            {"ep.weftexecutionprovider.threads", &threads},
                                                            {"ep.weftexecutionprovider.compile_flags", &flags}};
  for (auto [key, value] : entries)
    if (std::string error = readEntry(api, session, key, *value); !error.empty())
      return error;
  options.makesContexts = enable == "1";
  options.embedsContexts = embed == "1";
  char *end = nullptr;
  long number = std::strtol(threads.c_str(), &end, 10);
  constexpr long mostThreads = 1024;
  if (*end || number < 0 || number > mostThreads)
    return "threads: expected 0 to 1024, got '" + threads + "'";
  options.threads = int(number);
  options.partition.flags = split(flags, ' ');
  options.partition.flags.push_back("--target=" + findTarget(options.device));
  options.partition.flags.push_back("--explain=off");
  return "";
}

//===--- Compatibility ---===//

static constexpr const char *kLevels[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};

/// The highest level of this CPU; -1: none of them.
static int findLevel() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
    return 2;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return 1;
  return __builtin_cpu_supports("sse4.2") ? 0 : -1;
}

static std::string getFormat(uint32_t &minor) {
  uint32_t major;
  weft_format_version(&major, &minor);
  return std::to_string(major);
}

std::string weft::ort::describeCompatibility(const Options &options) {
  uint32_t minor;
  std::string text = "format=" + getFormat(minor) + "." + std::to_string(minor);
  std::string target = findTarget(options.device);
  int level = findLevel();
  if (target != "cpu" || level < 0)
    return text + ";target=" + target;
  return text + ";target=cpu;cpu=" + kLevels[level];
}

Compatibility weft::ort::checkCompatibility(std::string_view text) {
  Compatibility result = kOptimal;
  bool hasFormat = false;
  for (const std::string &part : split(std::string(text), ';')) {
    std::string key = part.substr(0, part.find('=')), value = part.substr(std::min(part.find('=') + 1, part.size()));
    uint32_t minor;
    if (key == "format") {
      hasFormat = true;
      size_t dot = value.find('.');
      if (value.substr(0, dot) != getFormat(minor) || dot == value.npos ||
          std::strtoul(value.c_str() + dot + 1, nullptr, 10) > minor)
        return kUnsupported;
    }
    if (key == "cpu") {
      int level = -1;
      for (int i = 0; i < 3; ++i)
        if (value == kLevels[i])
          level = i;
      if (level < 0 || level > findLevel())
        return kUnsupported;
      if (level < findLevel())
        result = kRecompile;
    }
  }
  return hasFormat ? result : kNotApplicable;
}

// Reading a text file for the tools that use LLVM.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_COMMON_TEXTFILE_H
#define WEFT_TOOLS_COMMON_TEXTFILE_H

#include "weft/Bundle/Error.h"
#include "weft/Plan/Cost/Configuration.h"
#include "weft/Support/InputFile.h"

namespace weft::tools {

/// A file's text, or standard input for "-"; at most 64 MiB.
inline bundle::Error readTextFile(const std::string &path, std::string &text) {
  using bundle::ErrorCode;
  std::string reason;
  if (readInputFile(path, text, reason))
    return {};
  return bundle::Error(ErrorCode::Input, bundle::quote(path) + ": " + reason);
}

/// The launches of a JSON file (docs/explorer.md), and its text.
inline bundle::Error readLaunchFile(const std::string &path, std::string &text,
                                    std::vector<plan::Configuration> &launches, const DeviceTable &devices = {}) {
  if (bundle::Error error = readTextFile(path, text))
    return error;
  std::string reason;
  if (!plan::readConfigurations(text, launches, reason, devices))
    return bundle::Error(bundle::ErrorCode::Input, bundle::quote(path) + ": " + reason);
  return {};
}

} // namespace weft::tools

#endif // WEFT_TOOLS_COMMON_TEXTFILE_H

// Reading a text file for the tools that use LLVM.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_COMMON_TEXTFILE_H
#define WEFT_TOOLS_COMMON_TEXTFILE_H

#include "weft/Bundle/Error.h"
#include "weft/Plan/Cost/Configuration.h"
#include "llvm/Support/MemoryBuffer.h"

namespace weft::tools {

/// A file's text, or standard input for "-"; at most 64 MiB.
inline bundle::Error readTextFile(const std::string &path, std::string &text) {
  using bundle::ErrorCode;
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> buffer = llvm::MemoryBuffer::getFileOrSTDIN(path, /*IsText=*/true);
  if (!buffer)
    return bundle::Error(ErrorCode::Input, bundle::quote(path) + ": " + buffer.getError().message());
  if ((*buffer)->getBufferSize() > size_t(64) << 20)
    return bundle::Error(ErrorCode::Resource, bundle::quote(path) + ": expected at most 64 MiB of text");
  text = (*buffer)->getBuffer().str();
  return {};
}

/// The launches of a JSON file (docs/explorer.md), and its text.
inline bundle::Error readLaunchFile(const std::string &path, std::string &text,
                                    std::vector<plan::Configuration> &launches) {
  if (bundle::Error error = readTextFile(path, text))
    return error;
  std::string reason;
  if (!plan::readConfigurations(text, launches, reason))
    return bundle::Error(bundle::ErrorCode::Input, bundle::quote(path) + ": " + reason);
  return {};
}

} // namespace weft::tools

#endif // WEFT_TOOLS_COMMON_TEXTFILE_H

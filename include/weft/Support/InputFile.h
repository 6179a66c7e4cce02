// Text and JSON from elsewhere: read within limits, with an error instead of a crash, a hang or a huge allocation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SUPPORT_INPUTFILE_H
#define WEFT_SUPPORT_INPUTFILE_H

#include "llvm/Support/JSON.h"
#include <optional>
#include <string>

namespace weft {

constexpr size_t mostInputBytes = size_t(64) << 20;

/// The text of a file, or of standard input for "-". False with the reason in `error`, without the path, if it cannot
/// be read, is no regular file (a device or a pipe may have no end), or has more than `most` bytes.
bool readInputFile(llvm::StringRef path, std::string &text, std::string &error, size_t most = mostInputBytes);

/// JSON whose brackets nest at most 64 deep (the parser recurses). None with the reason in `error`.
std::optional<llvm::json::Value> parseJson(llvm::StringRef text, std::string &error);

} // namespace weft

#endif // WEFT_SUPPORT_INPUTFILE_H

// Reading text and JSON from elsewhere.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Support/InputFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

namespace weft {

bool readInputFile(StringRef path, std::string &text, std::string &error, size_t most) {
  std::string tooLarge = "expected at most " + std::to_string(most >> 20) + " MiB of text";
  uint64_t size = 0;
  if (path != "-" && sys::fs::exists(path) && !sys::fs::is_regular_file(path))
    error = "expected a file";
  else if (path != "-" && !sys::fs::file_size(path, size) && size > most)
    error = tooLarge;
  if (!error.empty())
    return false;
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFileOrSTDIN(path, /*IsText=*/true);
  if (!buffer)
    error = buffer.getError().message();
  else if ((*buffer)->getBufferSize() > most)
    error = tooLarge;
  else
    text = (*buffer)->getBuffer().str();
  return error.empty();
}

static bool nestsTooDeeply(StringRef text) {
  constexpr int most = 64;
  int depth = 0;
  bool isQuoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (isQuoted && c == '\\')
      ++i;
    else if (c == '"')
      isQuoted = !isQuoted;
    else if (!isQuoted)
      depth += (c == '[' || c == '{') - (c == ']' || c == '}');
    if (depth > most)
      return true;
  }
  return false;
}

std::optional<json::Value> parseJson(StringRef text, std::string &error) {
  if (nestsTooDeeply(text)) {
    error = "expected JSON that nests at most 64 deep";
    return std::nullopt;
  }
  Expected<json::Value> value = json::parse(text);
  if (value)
    return std::move(*value);
  error = "expected JSON: " + toString(value.takeError());
  return std::nullopt;
}

} // namespace weft

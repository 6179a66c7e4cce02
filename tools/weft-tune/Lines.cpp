// See the header. Values are taken as they stand: nothing here needs to know what is in a list of shapes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lines.h"

#include <cstdlib>
#include <unistd.h>

using namespace weft;
using namespace weft::tune;

std::string Fields::getRaw(const std::string &name) const {
  auto found = values.find(name);
  return found == values.end() ? "" : found->second;
}

std::string Fields::getText(const std::string &name) const {
  std::string raw = getRaw(name), text;
  if (raw.size() < 2 || raw.front() != '"')
    return "";
  for (size_t i = 1; i + 1 < raw.size(); ++i)
    text += raw[i] == '\\' && i + 2 < raw.size() ? raw[++i] : raw[i];
  return text;
}

std::optional<double> Fields::getNumber(const std::string &name) const {
  std::string raw = getRaw(name);
  char *end = nullptr;
  double value = std::strtod(raw.c_str(), &end);
  return raw.empty() || *end ? std::nullopt : std::optional(value);
}

namespace {
/// Takes one value after the other from a line.
class Scanner {
public:
  explicit Scanner(std::string_view text) : text(text) {}

  bool take(char wanted) {
    skipBlanks();
    bool found = at < text.size() && text[at] == wanted;
    at += found;
    return found;
  }
  bool isAtEnd() {
    skipBlanks();
    return at == text.size();
  }
  /// A string, number, word, list or object; empty if there is none, or brackets do not match.
  std::string takeValue() {
    constexpr size_t mostDepth = 16;
    std::string value, open;
    for (skipBlanks(); at < text.size(); skipBlanks()) {
      char c = text[at];
      if (c == '"') {
        if (!takeString(value))
          return "";
      } else if (c == '[' || c == '{') {
        open += c == '[' ? ']' : '}';
        value += text[at++];
      } else if (c == ']' || c == '}') {
        if (open.empty())
          return value; // The end of what the value is in.
        if (open.back() != c)
          return "";
        open.pop_back();
        value += text[at++];
      } else if (c == ',' && open.empty()) {
        return value;
      } else {
        value += text[at++];
      }
      if (open.size() > mostDepth)
        return "";
    }
    return open.empty() ? value : "";
  }
  /// Appends a string with its quotes.
  bool takeString(std::string &value) {
    size_t begin = at++;
    while (at < text.size() && text[at] != '"')
      at += text[at] == '\\' ? 2 : 1;
    if (at >= text.size())
      return false;
    value += text.substr(begin, ++at - begin);
    return true;
  }
  bool isString() {
    skipBlanks();
    return at < text.size() && text[at] == '"';
  }

private:
  void skipBlanks() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r'))
      ++at;
  }

  std::string_view text;
  size_t at = 0;
};
} // namespace

std::optional<Fields> tune::parseLine(std::string_view line) {
  Fields fields;
  Scanner scanner(line);
  if (!scanner.take('{'))
    return std::nullopt;
  while (scanner.isString()) {
    std::string name;
    if (!scanner.takeString(name) || !scanner.take(':'))
      return std::nullopt;
    std::string value = scanner.takeValue();
    if (value.empty())
      return std::nullopt;
    fields.values[name.substr(1, name.size() - 2)] = std::move(value);
    if (!scanner.take(','))
      break;
  }
  return scanner.take('}') && scanner.isAtEnd() ? std::optional(fields) : std::nullopt;
}

std::string tune::formatLine(const Fields &fields) {
  std::string text;
  for (const auto &[name, value] : fields.values)
    text += (text.empty() ? "{\"" : ", \"") + name + "\": " + value;
  return text.empty() ? "{}" : text + "}";
}

static bool readFile(const std::string &path, std::string &text) {
  std::FILE *file = std::fopen(path.c_str(), "rb");
  if (!file)
    return false;
  char buffer[1 << 16];
  constexpr size_t mostBytes = size_t(64) << 20;
  for (size_t count; text.size() <= mostBytes && (count = std::fread(buffer, 1, sizeof buffer, file)) > 0;)
    text.append(buffer, count);
  bool isRead = !std::ferror(file) && text.size() <= mostBytes;
  std::fclose(file);
  return isRead;
}

Error tune::readLines(const std::string &path, std::vector<Fields> &lines, bool &isTorn) {
  std::string text;
  isTorn = false;
  if (!readFile(path, text))
    return Error(ErrorCode::Input, "expected a file of lines of at most 64 MiB, cannot read " + bundle::quote(path));
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = text.find('\n', begin);
    ++number;
    if (end == text.npos) {
      isTorn = true;
      break;
    }
    std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    if (line.empty())
      continue;
    std::optional<Fields> fields = parseLine(line);
    if (!fields)
      return Error(ErrorCode::Input, bundle::quote(path) + ": line " + std::to_string(number) +
                                         ": expected a JSON object, got " + bundle::quote(line.substr(0, 60)));
    lines.push_back(std::move(*fields));
  }
  return {};
}

LineWriter::~LineWriter() {
  if (file)
    std::fclose(file);
}

Error LineWriter::open(const std::string &name) {
  path = name;
  std::string text;
  if (readFile(path, text) && !text.empty() && text.back() != '\n')
    if (::truncate(path.c_str(), off_t(text.rfind('\n') + 1)) != 0) // npos + 1: no line is whole.
      return Error(ErrorCode::Input, "cannot write " + bundle::quote(path));
  file = std::fopen(path.c_str(), "ab");
  return file ? Error() : Error(ErrorCode::Input, "cannot write " + bundle::quote(path));
}

Error LineWriter::write(const Fields &fields) {
  std::string line = formatLine(fields) + "\n";
  bool isWritten = std::fwrite(line.data(), 1, line.size(), file) == line.size() && std::fflush(file) == 0;
  return isWritten ? Error() : Error(ErrorCode::Input, "cannot write " + bundle::quote(path));
}

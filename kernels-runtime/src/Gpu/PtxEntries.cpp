// The signatures in a PTX text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A scanner that knows few words: what begins a function, what a parameter, and the one instruction.
#include "PtxEntries.h"

using namespace weft;

static bool isWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         c == '%' || c == '.';
}

namespace {
/// Words and single characters, without blanks and comments.
class Words {
public:
  explicit Words(std::string_view text) : text(text) {}

  /// Empty at the end.
  std::string_view next() {
    skip();
    size_t begin = at;
    while (at < text.size() && isWordCharacter(text[at]))
      ++at;
    if (at == begin && at < text.size())
      ++at;
    return text.substr(begin, at - begin);
  }

private:
  void skip() {
    while (at < text.size()) {
      std::string_view rest = text.substr(at, 2);
      if (rest == "//")
        skipPast("\n");
      else if (rest == "/*")
        skipPast("*/");
      else if (rest[0] == ' ' || (rest[0] >= '\t' && rest[0] <= '\r'))
        ++at;
      else
        return;
    }
  }
  void skipPast(std::string_view end) {
    size_t found = text.find(end, at + 2);
    at = found == text.npos ? text.size() : found + end.size();
  }

  std::string_view text;
  size_t at = 0;
};
} // namespace

/// Reads the name and the parameters behind `.entry`; false at the end of the text.
static bool scanSignature(Words &words, std::string_view &name, PtxEntry &entry) {
  name = words.next();
  std::string_view word = words.next();
  if (word == "(")
    for (word = words.next(); !word.empty() && word != ")"; word = words.next())
      entry.parameters += word == ".param";
  return !word.empty();
}

std::map<std::string_view, PtxEntry> weft::scanPtxEntries(std::string_view ptx) {
  std::map<std::string_view, PtxEntry> entries;
  PtxEntry *current = nullptr;
  Words words(ptx);
  for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
    if (word == ".func")
      current = nullptr;
    if (current && word == "griddepcontrol.wait")
      current->waitsForGrids = true;
    if (word != ".entry")
      continue;
    std::string_view name;
    PtxEntry entry;
    if (scanSignature(words, name, entry))
      current = &(entries[name] = entry);
  }
  return entries;
}

bool weft::hasGlobalVariables(std::string_view ptx) {
  Words words(ptx);
  std::string_view before;
  for (std::string_view word = words.next(); !word.empty(); before = word, word = words.next())
    if (word == ".global" && before != ".ptr") // A parameter's `.ptr .global` says where it points to.
      return true;
  return false;
}

std::string_view weft::getPtxVersion(std::string_view ptx) {
  Words words(ptx); // It is the first word of any PTX.
  return words.next() == ".version" ? words.next() : std::string_view();
}

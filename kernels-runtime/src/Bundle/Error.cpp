// Error texts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formatting of error messages, and the escaping that keeps names from hostile files out of terminals.
#include "weft/Bundle/Error.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <vector>

using namespace weft::bundle;

Error weft::bundle::makeError(ErrorCode code, const char *format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  int length = std::vsnprintf(nullptr, 0, format, arguments);
  va_end(arguments);
  std::string text(length > 0 ? size_t(length) : 0, '\0');
  if (length > 0)
    std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  return Error(code, std::move(text));
}

/// Length of the well-formed UTF-8 sequence at the start of `text`, 0 if there is none.
static size_t utf8Length(std::string_view text) {
  auto byte = [&](size_t i) { return i < text.size() ? uint8_t(text[i]) : 0; };
  auto continues = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  uint8_t first = byte(0);
  if (text.empty())
    return 0;
  if (first < 0x80)
    return 1;
  if (first >= 0xC2 && first <= 0xDF)
    return continues(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    bool overlong = first == 0xE0 && byte(1) < 0xA0;
    bool surrogate = first == 0xED && byte(1) > 0x9F;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    bool overlong = first == 0xF0 && byte(1) < 0x90;
    bool tooLarge = first == 0xF4 && byte(1) > 0x8F;
    return continues(1) && continues(2) && continues(3) && !overlong && !tooLarge ? 4 : 0;
  }
  return 0;
}

bool weft::bundle::isUtf8(std::string_view text) {
  while (!text.empty()) {
    size_t length = utf8Length(text);
    if (!length)
      return false;
    text.remove_prefix(length);
  }
  return true;
}

/// True for sequences that a terminal would act on or that reorder text: C0, DEL, C1, bidirectional controls.
static bool isControl(std::string_view sequence) {
  uint8_t first = uint8_t(sequence[0]);
  if (sequence.size() == 1)
    return first < 0x20 || first == 0x7F;
  if (sequence.size() == 2)
    return first == 0xC2 && uint8_t(sequence[1]) < 0xA0;
  if (sequence.size() == 3 && first == 0xE2) {
    uint8_t second = uint8_t(sequence[1]), third = uint8_t(sequence[2]);
    return (second == 0x80 && ((third >= 0x8B && third <= 0x8F) || (third >= 0xA8 && third <= 0xAE))) ||
           (second == 0x81 && third >= 0xA6 && third <= 0xA9);
  }
  return false;
}

std::string weft::bundle::quote(std::string_view text) {
  constexpr size_t limit = 200;
  std::string result = "\"";
  size_t position = 0;
  while (position < text.size() && position < limit) {
    std::string_view rest = text.substr(position);
    size_t length = utf8Length(rest);
    std::string_view sequence = rest.substr(0, std::max<size_t>(length, 1));
    if (!length || isControl(sequence)) {
      for (char c : sequence) {
        char escape[5];
        std::snprintf(escape, sizeof escape, "\\x%02x", uint8_t(c));
        result += escape;
      }
    } else {
      if (sequence == "\"" || sequence == "\\")
        result += '\\';
      result += sequence;
    }
    position += sequence.size();
  }
  result += position < text.size() ? "...\"" : "\"";
  return result;
}

std::string weft::bundle::quoteJson(std::string_view text) {
  std::string result = "\"";
  while (!text.empty()) {
    size_t length = utf8Length(text);
    std::string_view sequence = text.substr(0, std::max<size_t>(length, 1));
    char c = sequence[0];
    if (c == '"' || c == '\\') {
      result += {'\\', c};
    } else if (!length || uint8_t(c) < 0x20 || c == '<' || c == 0x7f) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", unsigned(uint8_t(c)));
      result += escape;
    } else {
      result += sequence;
    }
    text.remove_prefix(sequence.size());
  }
  return result + "\"";
}

/// Levenshtein distance; `limit` bounds the length of the words looked at.
static size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t substitute = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

std::string weft::bundle::nearestName(std::string_view word, size_t count,
                                      std::string_view (*name)(size_t, const void *), const void *context) {
  constexpr size_t longest = 64;
  if (word.size() > longest)
    return {};
  size_t best = std::max<size_t>(word.size() / 3, 1) + 1;
  std::string_view found;
  for (size_t i = 0; i < count; ++i) {
    std::string_view candidate = name(i, context);
    if (candidate.size() > longest)
      continue;
    size_t distance = editDistance(word, candidate);
    if (distance < best) {
      best = distance;
      found = candidate;
    }
  }
  return std::string(found);
}

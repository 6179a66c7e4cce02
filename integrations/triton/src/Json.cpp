// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Json.h"

#include "weft/Bundle/Error.h"

#include <charconv>

using namespace weft::triton;

static void skipBlanks(std::string_view &rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t\r\n"), rest.size()));
}

static bool take(std::string_view &rest, char c) {
  skipBlanks(rest);
  if (rest.empty() || rest[0] != c)
    return false;
  rest.remove_prefix(1);
  return true;
}

static void appendCode(std::string &text, unsigned code) {
  if (code < 0x80) {
    text += char(code);
  } else if (code < 0x800) {
    text += char(0xc0 | code >> 6);
    text += char(0x80 | (code & 0x3f));
  } else {
    text += char(0xe0 | code >> 12);
    text += char(0x80 | (code >> 6 & 0x3f));
    text += char(0x80 | (code & 0x3f));
  }
}

/// Behind the first quote.
static bool parseText(std::string_view &rest, std::string &text) {
  static constexpr std::string_view kEscapes = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
  while (!rest.empty() && rest[0] != '"') {
    char c = rest[0];
    rest.remove_prefix(1);
    if (c != '\\') {
      text += c;
      continue;
    }
    if (rest.empty())
      return false;
    size_t which = kEscapes.find(rest[0]);
    bool isCode = rest[0] == 'u';
    rest.remove_prefix(1);
    unsigned code = 0;
    if (which != kEscapes.npos) {
      text += kMeanings[which];
    } else if (isCode && rest.size() >= 4 &&
               std::from_chars(rest.data(), rest.data() + 4, code, 16).ptr == rest.data() + 4) {
      appendCode(text, code);
      rest.remove_prefix(4);
    } else {
      return false;
    }
  }
  return take(rest, '"');
}

bool Json::parseValue(std::string_view &rest, int depth, Json &json) {
  constexpr int deepest = 64;
  if (depth > deepest)
    return false;
  if (take(rest, '"')) {
    json.kind = Text;
    return parseText(rest, json.value);
  }
  bool isObject = take(rest, '{');
  if (isObject || take(rest, '[')) {
    json.kind = isObject ? Object : List;
    char close = isObject ? '}' : ']';
    if (take(rest, close))
      return true;
    do {
      std::string key;
      if (isObject && (!take(rest, '"') || !parseText(rest, key) || !take(rest, ':')))
        return false;
      if (isObject)
        json.keys.push_back(std::move(key));
      json.items.emplace_back();
      if (!parseValue(rest, depth + 1, json.items.back()))
        return false;
    } while (take(rest, ','));
    return take(rest, close);
  }
  size_t length = std::min(rest.find_first_of(",]} \t\r\n"), rest.size());
  json.value = rest.substr(0, length);
  json.kind = json.value == "null" ? Null : Word;
  rest.remove_prefix(length);
  return length > 0;
}

Json Json::parse(std::string_view text) {
  Json json;
  skipBlanks(text);
  bool isGood = parseValue(text, 0, json);
  skipBlanks(text);
  return isGood && text.empty() ? json : Json();
}

std::string Json::write() const {
  if (kind == Null)
    return "null";
  if (kind == Word)
    return value;
  if (kind == Text)
    return bundle::quoteJson(value);
  std::string text = kind == Object ? "{" : "[";
  for (size_t i = 0; i < items.size(); ++i)
    text += (i ? "," : "") + (kind == Object ? bundle::quoteJson(keys[i]) + ":" : "") + items[i].write();
  return text + (kind == Object ? "}" : "]");
}

const Json &Json::get(std::string_view key) const {
  static const Json none;
  for (size_t i = 0; i < keys.size(); ++i)
    if (keys[i] == key)
      return items[i];
  return none;
}

void Json::set(const std::string &key, Json given) {
  kind = Object;
  for (size_t i = 0; i < keys.size(); ++i)
    if (keys[i] == key) {
      items[i] = std::move(given);
      return;
    }
  keys.push_back(key);
  items.push_back(std::move(given));
}

int64_t Json::getInteger(int64_t otherwise) const {
  int64_t number = 0;
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc() && end == value.data() + value.size() ? number : otherwise;
}

// PTX text to tokens.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Works on bytes; what is not ASCII is an error outside comments and strings.
#include "Emulator/Ptx/Lexer.h"

#include "weft/Bundle/Error.h"

#include <cstdlib>
#include <cstring>

namespace weft::emu::ptx {

static bool isDigit(char c) { return c >= '0' && c <= '9'; }
static bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool isNameStart(char c) { return isLetter(c) || c == '_' || c == '$'; }
static bool isNameChar(char c) { return isNameStart(c) || isDigit(c); }

static int digitValue(char c) {
  if (isDigit(c))
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

std::string describe(const Token &token) {
  if (token.kind == TokenKind::End)
    return "the end of the file";
  if (token.kind == TokenKind::Word)
    return bundle::quote("." + std::string(token.text));
  if (token.kind == TokenKind::String)
    return "a string";
  return bundle::quote(token.text);
}

Token Lexer::error(Token token, std::string_view message) const {
  token.kind = TokenKind::Error;
  token.text = message;
  return token;
}

Token Lexer::finish(Token token, size_t end) {
  token.text = text.substr(position, end - position);
  position = end;
  return token;
}

/// Moves to the next token and returns where that is.
Token Lexer::skipSpace(bool &isUnclosed) {
  Token token;
  while (position < text.size()) {
    char c = text[position];
    if (c == '\n') {
      ++line;
      lineStart = ++position;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++position;
    } else if (c == '/' && at(position + 1) == '/') {
      position = std::min(text.find('\n', position), text.size());
    } else if (c == '/' && at(position + 1) == '*') {
      size_t close = text.find("*/", position + 2);
      isUnclosed = close == std::string_view::npos;
      if (isUnclosed)
        break;
      for (; position < close + 2; ++position)
        if (text[position] == '\n') {
          ++line;
          lineStart = position + 1;
        }
    } else if (c == '\0' && text.find_first_not_of('\0', position) == std::string_view::npos) {
      position = text.size(); // PTX images are often zero terminated
    } else {
      break;
    }
  }
  token.location = {line, uint32_t(position - lineStart + 1)};
  return token;
}

Token Lexer::next() {
  bool isUnclosed = false;
  Token token = skipSpace(isUnclosed);
  if (isUnclosed)
    return error(token, "comment without an end");
  if (position >= text.size())
    return token;
  char c = text[position], following = at(position + 1);
  if (isNameStart(c) || (c == '%' && isNameStart(following))) {
    size_t end = position + 1;
    while (isNameChar(at(end)))
      ++end;
    token.kind = TokenKind::Identifier;
    return finish(token, end);
  }
  if (c == '.' && isNameChar(following)) {
    size_t end = position + 1;
    while (isNameChar(at(end)) || (at(end) == ':' && at(end + 1) == ':' && isNameChar(at(end + 2))))
      end += at(end) == ':' ? 2 : 1;
    token.kind = TokenKind::Word;
    ++position;
    return finish(token, end);
  }
  if (isDigit(c))
    return lexNumber(token);
  if (c == '"')
    return lexString(token);
  if (c == '\0' || !std::strchr("()[]{},;:@!|<>+-*/%&^~?=", c)) {
    ++position;
    return error(token, "character that PTX does not have");
  }
  bool isDouble = ((c == '<' || c == '>' || c == '&' || c == '|') && following == c) ||
                  ((c == '<' || c == '>' || c == '=' || c == '!') && following == '=');
  token.kind = TokenKind::Punctuation;
  return finish(token, position + (isDouble ? 2 : 1));
}

Token Lexer::lexString(Token token) {
  size_t end = position + 1;
  while (end < text.size() && text[end] != '"' && text[end] != '\n')
    end += text[end] == '\\' && end + 1 < text.size() && text[end + 1] != '\n' ? 2 : 1;
  if (at(end) != '"')
    return error(token, "string without an end");
  ++position;
  token.kind = TokenKind::String;
  token = finish(token, end);
  ++position;
  return token;
}

Token Lexer::lexNumber(Token token) {
  char kind = text[position] == '0' ? at(position + 1) : '\0';
  if (kind == 'f' || kind == 'F')
    return lexFloatBits(token, 8, TokenKind::Float32);
  if (kind == 'd' || kind == 'D')
    return lexFloatBits(token, 16, TokenKind::Float64);
  if (kind == 'x' || kind == 'X')
    return lexDigits(token, 2, 16);
  if (kind == 'b' || kind == 'B')
    return lexDigits(token, 2, 2);
  size_t end = position;
  while (isDigit(at(end)))
    ++end;
  bool hasExponent = at(end) == 'e' || at(end) == 'E';
  if ((at(end) == '.' && !isNameStart(at(end + 1))) || hasExponent)
    return lexDecimalFloat(token, end);
  return isDigit(kind) ? lexDigits(token, 1, 8) : lexDigits(token, 0, 10);
}

/// An integer of `base` whose digits begin after `prefix` characters.
Token Lexer::lexDigits(Token token, size_t prefix, unsigned base) {
  size_t first = position + prefix, end = first;
  uint64_t value = 0;
  bool overflows = false;
  for (; digitValue(at(end)) < int(base); ++end) {
    overflows = overflows || value > (~uint64_t(0) - unsigned(digitValue(at(end)))) / base;
    value = value * base + unsigned(digitValue(at(end)));
  }
  bool hasDigits = end > first;
  token.isUnsigned = value >> 63;
  if (at(end) == 'U' || at(end) == 'u') {
    token.isUnsigned = true;
    ++end;
  }
  if (!hasDigits || isNameChar(at(end)))
    return error(token, "malformed number");
  if (overflows)
    return error(token, "integer that needs more than 64 bits");
  token.kind = TokenKind::Integer;
  token.bits = value;
  return finish(token, end);
}

Token Lexer::lexFloatBits(Token token, unsigned digits, TokenKind kind) {
  size_t end = position + 2;
  for (; digitValue(at(end)) < 16; ++end)
    token.bits = token.bits << 4 | unsigned(digitValue(at(end)));
  if (end != position + 2 + digits || isNameChar(at(end)))
    return error(token,
                 digits == 8 ? "0f without exactly 8 hexadecimal digits" : "0d without exactly 16 hexadecimal digits");
  token.kind = kind;
  return finish(token, end);
}

/// 1.5, 1e10, 1.e-3; `end` is after the integer part.
Token Lexer::lexDecimalFloat(Token token, size_t end) {
  if (at(end) == '.')
    for (++end; isDigit(at(end));)
      ++end;
  if (at(end) == 'e' || at(end) == 'E') {
    ++end;
    if (at(end) == '+' || at(end) == '-')
      ++end;
    if (!isDigit(at(end)))
      return error(token, "malformed number");
    while (isDigit(at(end)))
      ++end;
  }
  if (isNameChar(at(end)))
    return error(token, "malformed number");
  double value = std::strtod(std::string(text.substr(position, end - position)).c_str(), nullptr);
  std::memcpy(&token.bits, &value, sizeof value);
  token.kind = TokenKind::Float64;
  return finish(token, end);
}

} // namespace weft::emu::ptx

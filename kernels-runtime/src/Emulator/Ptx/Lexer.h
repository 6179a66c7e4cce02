// PTX text to tokens.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens are made one at a time and point into the text. Comments and white space are skipped.
#ifndef WEFT_EMULATOR_PTX_LEXER_H
#define WEFT_EMULATOR_PTX_LEXER_H

#include "Emulator/Ptx/Ast.h"

#include <string>
#include <string_view>

namespace weft::emu::ptx {

enum class TokenKind : uint8_t {
  End,
  Identifier,  ///< add, %r1, $L__BB0_2, _
  Word,        ///< What follows a dot: s32, shared::cta, 2d; `text` is without the dot
  Integer,     ///< `bits`; `isUnsigned` with suffix U or when above 2^63 - 1
  Float32,     ///< 0f3F800000: `bits`
  Float64,     ///< 0d3FF0000000000000 and 1.0: `bits`
  String,      ///< "...": `text` is without the quotes
  Punctuation, ///< `text` is one character, or one of << >> <= >= == != && ||
  Error,       ///< `text` is the message of what is wrong
};

struct Token {
  TokenKind kind = TokenKind::End;
  bool isUnsigned = false;
  std::string_view text;
  uint64_t bits = 0;
  Location location;

  bool is(std::string_view punctuation) const { return kind == TokenKind::Punctuation && text == punctuation; }
  bool isWord(std::string_view word) const { return kind == TokenKind::Word && text == word; }
  bool isIdentifier(std::string_view name) const { return kind == TokenKind::Identifier && text == name; }
};

/// As an error message shows it: the text in quotes, or "the end of the file".
std::string describe(const Token &token);

class Lexer {
public:
  explicit Lexer(std::string_view text) : text(text) {}
  Token next();

private:
  Token skipSpace(bool &isUnclosed);
  Token error(Token token, std::string_view message) const;
  Token lexNumber(Token token);
  Token lexDigits(Token token, size_t prefix, unsigned base);
  Token lexFloatBits(Token token, unsigned digits, TokenKind kind);
  Token lexDecimalFloat(Token token, size_t end);
  Token lexString(Token token);
  Token finish(Token token, size_t end);
  char at(size_t i) const { return i < text.size() ? text[i] : '\0'; }

  std::string_view text;
  size_t position = 0;
  uint32_t line = 1;
  size_t lineStart = 0;
};

} // namespace weft::emu::ptx

#endif // WEFT_EMULATOR_PTX_LEXER_H

// Constant expressions of PTX.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C's operators on 64-bit integers and doubles. An operation on two integers is unsigned when either operand is;
// arithmetic wraps. A single-precision constant (0f...) may stand alone or be negated.
#include "Emulator/Ptx/ParserImpl.h"

#include <cstring>

namespace weft::emu::ptx {

using bundle::quote;

double Constant::asDouble() const {
  double value;
  if (kind == Signed)
    return double(int64_t(bits));
  if (kind == Unsigned)
    return double(bits);
  if (kind == Float32) {
    float narrow;
    uint32_t narrowBits = uint32_t(bits);
    std::memcpy(&narrow, &narrowBits, sizeof narrow);
    return double(narrow);
  }
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

static void setDouble(Constant &constant, double value) {
  constant.kind = Constant::Float64;
  std::memcpy(&constant.bits, &value, sizeof value);
}

static void setInteger(Constant &constant, uint64_t bits, bool isUnsigned) {
  constant.kind = isUnsigned ? Constant::Unsigned : Constant::Signed;
  constant.bits = bits;
}

/// Binding strength of a binary operator, 0 for what is none.
static unsigned levelOf(const Token &token) {
  static constexpr std::string_view levels[][4] = {
      {"||"},       {"&&"},     {"|"},          {"^"}, {"&"}, {"==", "!="}, {"<", "<=", ">", ">="},
      {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}};
  if (token.kind == TokenKind::Punctuation)
    for (unsigned level = 0; level < 10; ++level)
      for (std::string_view op : levels[level])
        if (!op.empty() && token.text == op)
          return level + 1;
  return 0;
}

bool Parser::isConstantStart() const {
  switch (token.kind) {
  case TokenKind::Integer:
  case TokenKind::Float32:
  case TokenKind::Float64:
    return true;
  case TokenKind::Identifier:
    return token.text == "WARP_SZ";
  case TokenKind::Punctuation:
    return token.is("-") || token.is("+") || token.is("~") || token.is("!") || token.is("(");
  default:
    return false;
  }
}

bool Parser::parseConstant(Constant &constant) { return parseConditional(constant); }

bool Parser::parseIntegerConstant(Constant &constant) {
  Location location = token.location;
  if (parseConstant(constant))
    return true;
  return !constant.isInteger() && fail(location, "expected an integer constant, got a floating-point one");
}

bool Parser::parseConditional(Constant &constant) {
  if (++depth > kMaxDepth)
    return fail(token.location, "constant expression nested too deeply");
  Location location = token.location;
  if (parseBinary(1, constant))
    return true;
  constant.location = location;
  if (accept("?")) {
    Constant yes, no;
    if (!constant.isInteger())
      return fail(location, "expected an integer condition before '?'");
    if (parseConditional(yes) || expect(":") || parseConditional(no))
      return true;
    constant = constant.bits ? yes : no;
    constant.location = location;
  }
  --depth;
  return false;
}

/// Operators of `level` and stronger ones, left to right. Iterates over levels within one call per operand.
bool Parser::parseBinary(unsigned level, Constant &constant) {
  if (parsePrefix(constant))
    return true;
  while (levelOf(token) >= level) {
    Token op = token;
    unsigned opLevel = levelOf(op);
    Constant right;
    advance();
    if (parseBinary(opLevel + 1, right) || applyBinary(op, constant, right))
      return true;
  }
  return false;
}

bool Parser::parsePrefix(Constant &constant) {
  if (!token.is("-") && !token.is("+") && !token.is("~") && !token.is("!"))
    return parsePrimary(constant);
  if (++depth > kMaxDepth)
    return fail(token.location, "constant expression nested too deeply");
  Token op = token;
  advance();
  if (parsePrefix(constant) || applyUnary(op, constant))
    return true;
  --depth;
  return false;
}

/// What stands after "(" of "(.s64)" and "(.u64)".
bool Parser::parseCast(Constant &constant) {
  bool toUnsigned = token.isWord("u64");
  if (!toUnsigned && !token.isWord("s64"))
    return unexpected("'.s64' or '.u64' in a cast");
  advance();
  if (expect(")") || parsePrefix(constant))
    return true;
  if (!constant.isInteger())
    return fail(constant.location, "expected an integer constant after a cast, got a floating-point one");
  constant.kind = toUnsigned ? Constant::Unsigned : Constant::Signed;
  return false;
}

bool Parser::parsePrimary(Constant &constant) {
  constant.location = token.location;
  if (token.is("(")) {
    if (++depth > kMaxDepth)
      return fail(token.location, "constant expression nested too deeply");
    advance();
    bool isCast = token.kind == TokenKind::Word;
    if (isCast ? parseCast(constant) : (parseConditional(constant) || expect(")")))
      return true;
    --depth;
    return false;
  }
  if (token.isIdentifier("WARP_SZ"))
    setInteger(constant, 32, false);
  else if (token.kind == TokenKind::Integer)
    setInteger(constant, token.bits, token.isUnsigned);
  else if (token.kind == TokenKind::Float32 || token.kind == TokenKind::Float64) {
    constant.kind = token.kind == TokenKind::Float32 ? Constant::Float32 : Constant::Float64;
    constant.bits = token.bits;
  } else {
    return unexpected("a constant");
  }
  advance();
  return false;
}

bool Parser::applyUnary(const Token &op, Constant &constant) {
  if (op.text == "+")
    return false;
  if (op.text == "-" && !constant.isInteger()) {
    constant.bits ^= uint64_t(1) << (constant.kind == Constant::Float32 ? 31 : 63);
    return false;
  }
  if (!constant.isInteger())
    return fail(op.location, "operator " + quote(op.text) + " does not apply to floating-point constants");
  if (op.text == "-")
    constant.bits = ~constant.bits + 1;
  else if (op.text == "~")
    constant.bits = ~constant.bits;
  else
    setInteger(constant, constant.bits == 0, false);
  return false;
}

/// The result of comparing, as -1, 0, 1; 2 when unordered.
template <typename T> static int order(T a, T b) { return a < b ? -1 : a > b ? 1 : a == b ? 0 : 2; }

static bool compare(std::string_view op, int order) {
  if (op == "==" || op == "!=")
    return (order == 0) == (op == "==");
  if (order == 2)
    return false;
  return op == "<" ? order < 0 : op == "<=" ? order <= 0 : op == ">" ? order > 0 : order >= 0;
}

static bool isComparison(std::string_view op) {
  return op == "==" || op == "!=" || op == "<" || op == "<=" || op == ">" || op == ">=";
}

static uint64_t arithmetic(char op, uint64_t a, uint64_t b, bool isUnsigned) {
  bool wraps = !isUnsigned && int64_t(b) == -1; // the quotient of the least integer by -1 wraps
  switch (op) {
  case '+':
    return a + b;
  case '-':
    return a - b;
  case '*':
    return a * b;
  case '/':
    return isUnsigned ? a / b : wraps ? ~a + 1 : uint64_t(int64_t(a) / int64_t(b));
  case '%':
    return isUnsigned ? a % b : wraps ? 0 : uint64_t(int64_t(a) % int64_t(b));
  case '&':
    return a & b;
  case '|':
    return a | b;
  default:
    return a ^ b;
  }
}

static double arithmetic(char op, double a, double b) {
  return op == '+' ? a + b : op == '-' ? a - b : op == '*' ? a * b : a / b;
}

bool Parser::applyBinary(const Token &op, Constant &left, const Constant &right) {
  if (!left.isInteger() || !right.isInteger()) {
    double a = left.asDouble(), b = right.asDouble();
    if (isComparison(op.text)) {
      setInteger(left, compare(op.text, order(a, b)), false);
      return false;
    }
    if (op.text.size() != 1 || !std::strchr("+-*/", op.text[0]))
      return fail(op.location, "operator " + quote(op.text) + " does not apply to floating-point constants");
    setDouble(left, arithmetic(op.text[0], a, b));
    return false;
  }
  bool isUnsigned = left.kind == Constant::Unsigned || right.kind == Constant::Unsigned;
  uint64_t a = left.bits, b = right.bits;
  if (op.text == "&&" || op.text == "||") {
    setInteger(left, op.text == "&&" ? a && b : a || b, false);
  } else if (isComparison(op.text)) {
    setInteger(left, compare(op.text, isUnsigned ? order(a, b) : order(int64_t(a), int64_t(b))), false);
  } else if (op.text == "<<" || op.text == ">>") {
    bool isArithmetic = left.kind == Constant::Signed;
    uint64_t fill = isArithmetic && int64_t(a) < 0 ? ~uint64_t(0) : 0;
    if (op.text == "<<")
      left.bits = b > 63 ? 0 : a << b;
    else
      left.bits = b > 63 ? fill : isArithmetic ? uint64_t(int64_t(a) >> b) : a >> b;
  } else {
    if ((op.text == "/" || op.text == "%") && b == 0)
      return fail(op.location, "division by zero in a constant expression");
    setInteger(left, arithmetic(op.text[0], a, b, isUnsigned), isUnsigned);
  }
  return false;
}

} // namespace weft::emu::ptx

// Operands of instructions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registers, constants, symbols, addresses, vectors and argument lists. The children of an operand are put into the
// function's pool when its list ends, so that siblings are consecutive there.
#include "Emulator/Ptx/ParserImpl.h"

namespace weft::emu::ptx {

uint32_t Parser::newRegisters(NameId name, Type type, unsigned width) {
  uint32_t first = uint32_t(function->registers.size());
  for (unsigned i = 0; i < width; ++i)
    function->registers.push_back({name, type});
  return first;
}

/// Appends siblings to the pool; names that may be labels are noted, with their NameId in `index` until then.
Range Parser::addOperands(const std::vector<Operand> &operands) {
  Range range{uint32_t(function->operands.size()), uint32_t(operands.size())};
  for (const Operand &operand : operands) {
    if (operand.kind == OperandKind::Symbol && operand.symbol == SymbolKind::Label)
      pending.back().push_back({operand.index, uint32_t(function->operands.size()), false, operand.location});
    function->operands.push_back(operand);
  }
  return range;
}

bool Parser::parseOperands(Place place, std::string_view close, std::vector<Operand> &operands) {
  if (token.is(close))
    return false;
  do {
    operands.emplace_back();
    if (parseOperand(place, operands.back()))
      return true;
  } while (accept(","));
  return false;
}

bool Parser::parseOperand(Place place, Operand &operand) {
  operand.location = token.location;
  bool isNested = place == Place::List;
  if (token.is("{") && !isNested)
    return parseList(Place::List, "}", OperandKind::Vector, operand);
  if (token.is("[") && !isNested && place != Place::TensorList)
    return parseAddress(operand);
  if (token.is("(") && place == Place::Call)
    return parseList(Place::List, ")", OperandKind::Arguments, operand);
  if (isNegatedName())
    return parseNegated(operand);
  if (token.kind == TokenKind::Identifier && token.text != "WARP_SZ")
    return parseName(operand) || (token.is("|") && parsePair(operand));
  if (!isConstantStart())
    return unexpected("an operand");
  Constant constant;
  return parseConstant(constant) || setConstant(constant, operand);
}

bool Parser::setConstant(const Constant &constant, Operand &operand) {
  operand.kind = constant.isInteger()                 ? OperandKind::Integer
                 : constant.kind == Constant::Float32 ? OperandKind::Float32
                                                      : OperandKind::Float64;
  operand.isUnsigned = constant.kind == Constant::Unsigned;
  operand.value = int64_t(constant.bits);
  return false;
}

/// True at `!p`; false at a constant that begins with '!'.
bool Parser::isNegatedName() const {
  if (!token.is("!"))
    return false;
  Token following = Lexer(lexer).next();
  return following.kind == TokenKind::Identifier && following.text != "WARP_SZ";
}

bool Parser::parseNegated(Operand &operand) {
  Location location = token.location;
  advance(); // '!'
  if (parseName(operand))
    return true;
  if (operand.kind != OperandKind::Register)
    return fail(operand.location, "expected a register after '!'");
  operand.location = location;
  operand.isNegated = true;
  return false;
}

/// `a|b`, when `operand` is a.
bool Parser::parsePair(Operand &operand) {
  std::vector<Operand> pair(2);
  pair[0] = operand;
  advance(); // '|'
  pair[1].location = token.location;
  if (token.kind != TokenKind::Identifier)
    return unexpected("a register or '_' after '|'");
  if (parseName(pair[1]))
    return true;
  for (const Operand &half : pair)
    if (half.kind != OperandKind::Register && half.kind != OperandKind::Sink)
      return fail(half.location, "expected registers or '_' on both sides of '|'");
  operand = Operand();
  operand.kind = OperandKind::Pair;
  operand.location = pair[0].location;
  operand.children = addOperands(pair);
  return false;
}

/// What an identifier means as an operand.
bool Parser::parseName(Operand &operand) {
  Token word = token;
  advance();
  NameId id = scopes.intern(word.text);
  const Entity *entity = scopes.find(id, word.text);
  if (entity && entity->kind != Entity::Symbol)
    return parseRegister(word, *entity, operand);
  if (word.text == "_") {
    operand.kind = OperandKind::Sink;
    return false;
  }
  if (!entity && word.text[0] == '%')
    return parseSpecial(word, operand);
  operand.kind = OperandKind::Symbol;
  operand.symbol = entity && !entity->isLabel() ? entity->symbol : SymbolKind::Label;
  operand.index = operand.symbol == SymbolKind::Label ? id : entity->index;
  bool isData = operand.symbol <= SymbolKind::Return;
  return isData && parseOffset(operand.value);
}

/// .x .y .z .w of the first `count`; .r .g .b .a mean the same.
bool Parser::parseComponent(unsigned count, uint8_t &component) {
  static constexpr std::string_view names = "xyzwrgba";
  size_t place = token.kind == TokenKind::Word && token.text.size() == 1 ? names.find(token.text[0]) : names.size();
  if (place >= names.size() || place % 4 >= count)
    return unexpected(count == 2 ? "'.x' or '.y'" : count == 3 ? "'.x', '.y' or '.z'" : "'.x', '.y', '.z' or '.w'");
  component = uint8_t(place % 4);
  advance();
  return false;
}

bool Parser::parseRegister(const Token &word, Entity entity, Operand &operand) {
  if (entity.kind == Entity::RegisterRange) {
    NameId id = scopes.intern(word.text);
    entity.index = newRegisters(id, entity.type, entity.width);
    entity.kind = entity.width > 1 ? Entity::RegisterVector : Entity::Register;
    scopes.materialise(id, entity);
  }
  operand.kind = OperandKind::Register;
  operand.index = entity.index;
  if (entity.kind == Entity::Register) {
    if (token.kind == TokenKind::Word)
      return unsupported(token.location, "selector " + describe(token) + " of a register is not supported");
    return false;
  }
  if (token.kind == TokenKind::Word) {
    uint8_t component;
    if (parseComponent(entity.width, component))
      return true;
    operand.index += component;
    return false;
  }
  std::vector<Operand> elements(entity.width, operand);
  for (size_t i = 0; i < elements.size(); ++i)
    elements[i].index += uint32_t(i);
  operand.kind = OperandKind::Vector;
  operand.index = 0;
  operand.children = addOperands(elements);
  return false;
}

/// `{...}` or `(...)`.
bool Parser::parseList(Place place, std::string_view close, OperandKind kind, Operand &operand) {
  std::vector<Operand> elements;
  advance();
  if (parseOperands(place, close, elements))
    return true;
  if (!token.is(close))
    return unexpected("',' or '" + std::string(close) + "'");
  if (elements.empty() && kind == OperandKind::Vector)
    return fail(token.location, "a vector without elements");
  for (const Operand &element : elements)
    if (element.kind == OperandKind::Vector || element.kind == OperandKind::Pair)
      return fail(element.location, "expected registers and constants in a list");
  advance();
  operand.kind = kind;
  operand.children = addOperands(elements);
  return false;
}

/// Nothing, or constants that are added and subtracted.
bool Parser::parseOffset(int64_t &offset) {
  while (token.is("+") || token.is("-")) {
    bool isSum = token.is("+");
    advance();
    Constant constant;
    if (!isConstantStart())
      return unexpected("a constant offset");
    Location location = token.location;
    if (parseBinary(10, constant)) // products; what follows is ours
      return true;
    if (!constant.isInteger())
      return fail(location, "expected an integer offset, got a floating-point one");
    offset = int64_t(isSum ? uint64_t(offset) + constant.bits : uint64_t(offset) - constant.bits);
  }
  return false;
}

/// `[base+offset]` and `[base+offset, more, ...]`.
bool Parser::parseAddress(Operand &operand) {
  advance(); // '['
  std::vector<Operand> base(1);
  base[0].location = token.location;
  if (token.kind == TokenKind::Identifier && token.text != "WARP_SZ") {
    std::string text = describe(token);
    if (parseName(base[0]))
      return true;
    bool isData = base[0].kind == OperandKind::Symbol && base[0].symbol != SymbolKind::Function;
    if (base[0].kind != OperandKind::Register && !isData)
      return fail(base[0].location, "expected a register, a variable or a constant as address, got " + text);
  } else {
    Constant constant;
    if (!isConstantStart())
      return unexpected("an address");
    if (parseIntegerConstant(constant) || setConstant(constant, base[0]))
      return true;
  }
  if (base[0].kind != OperandKind::Integer) {
    operand.value = base[0].value;
    base[0].value = 0;
    if (parseOffset(operand.value))
      return true;
  }
  operand.kind = OperandKind::Address;
  if (accept(",")) {
    operand.kind = OperandKind::TensorAddress;
    if (parseOperands(Place::TensorList, "]", base))
      return true;
  }
  operand.children = addOperands(base);
  return expect("]");
}

} // namespace weft::emu::ptx

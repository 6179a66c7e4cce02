// Declarations of variables and parameters.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// [LINKAGE] .SPACE [.align N] [.attribute(...)] [.v2|.v4] .TYPE NAME [DIMENSIONS] [= INITIALISER] {, NAME ...};
// The words before the name are accepted in any order. Initialisers: Initialiser.cpp.
#include "Emulator/Ptx/ParserImpl.h"

namespace weft::emu::ptx {

using bundle::quote;

static bool parseSpace(std::string_view word, Space &space) {
  for (Space candidate : {Space::Reg, Space::Param, Space::Local, Space::Shared, Space::Global, Space::Const})
    if (name(candidate) == word) {
      space = candidate;
      return true;
    }
  return false;
}

bool isDeclarable(Type type) {
  TypeClass kind = typeClass(type);
  return (kind != TypeClass::PackedInteger && bitWidth(type) >= 8 && kind != TypeClass::Float &&
          kind != TypeClass::PackedFloat) ||
         type == Type::Pred || type == Type::F16 || type == Type::BF16 || type == Type::F16x2 || type == Type::BF16x2 ||
         type == Type::TF32 || type == Type::F32 || type == Type::F64;
}

bool Parser::parseAlignment(uint64_t &alignment) {
  Location location = token.location;
  if (expectCount("an alignment", kMaxAlignment, alignment))
    return true;
  if (alignment == 0 || (alignment & (alignment - 1)))
    return fail(location, "expected an alignment that is a power of two, got " + std::to_string(alignment));
  return false;
}

/// `.attribute(.managed, .unified(A, B), ...)`
bool Parser::parseAttribute(Variable *variable) {
  if (expect("("))
    return true;
  do {
    Token attribute = token;
    if (acceptWord("managed")) {
      if (variable)
        variable->isManaged = true;
      continue;
    }
    uint64_t half;
    if (!acceptWord("unified"))
      return attribute.kind == TokenKind::Word
                 ? unsupported(attribute.location, "attribute " + describe(attribute) + " is not supported")
                 : unexpected("an attribute");
    if (expect("(") || expectCount("an identifier", UINT64_MAX, half) || expect(",") ||
        expectCount("an identifier", UINT64_MAX, half) || expect(")"))
      return true;
  } while (accept(","));
  return expect(")");
}

/// The words after .ptr in `.param .u64 .ptr .global .align 16 x`.
bool Parser::parsePointerWord(Variable &variable) {
  Space space;
  if (acceptWord("align"))
    return parseAlignment(variable.pointerAlignment);
  if (token.kind != TokenKind::Word || !parseSpace(token.text, space) || space == Space::Reg)
    return unexpected("'.align', a space or the name of a parameter after '.ptr'");
  variable.pointerSpace = space;
  variable.isPointerGeneric = false;
  advance();
  return false;
}

bool Parser::parseHeadWord(const Declaration &declaration, Variable &variable) {
  if (variable.isPointer)
    return parsePointerWord(variable);
  if (acceptWord("align"))
    return parseAlignment(variable.alignment);
  if (acceptWord("attribute"))
    return parseAttribute(&variable);
  if (declaration.isParameter && acceptWord("ptr")) {
    variable.isPointer = true;
    return false;
  }
  if (token.isWord("v2") || token.isWord("v4")) {
    variable.vectorWidth = token.text == "v2" ? 2 : 4;
    advance();
    return false;
  }
  if (token.isWord("texref") || token.isWord("samplerref") || token.isWord("surfref"))
    return unsupported(token.location, "variables of type " + describe(token) + " are not supported");
  Type type = parseType(token.text);
  if (type == Type::None)
    return unexpected("a type");
  if (!isDeclarable(type) || (type == Type::Pred && variable.space != Space::Reg))
    return fail(token.location,
                "variables of type " + describe(token) + " cannot be in space ." + std::string(name(variable.space)));
  if (variable.type != Type::None)
    return fail(token.location, "second type " + describe(token) + " in a declaration");
  variable.type = type;
  advance();
  return false;
}

/// All before the name, with the alignment that the type asks for if none is given.
bool Parser::parseVariableHead(const Declaration &declaration, Variable &variable) {
  variable.linkage = declaration.linkage;
  if (token.kind != TokenKind::Word || !parseSpace(token.text, variable.space))
    return unexpected("a space");
  advance();
  if (token.is("["))
    return unsupported(token.location, "banks of constant memory are not supported");
  variable.alignment = 0;
  while (token.kind == TokenKind::Word)
    if (parseHeadWord(declaration, variable))
      return true;
  if (variable.type == Type::None)
    return unexpected("a type");
  uint64_t natural = (bitWidth(variable.type) + 7) / 8 * variable.vectorWidth;
  if (variable.alignment == 0)
    variable.alignment = natural;
  return false;
}

/// `[4][]...`: an empty pair is kept as 0, and allowed only first.
bool Parser::parseDimensions(Variable &variable, std::vector<uint64_t> &dimensions) {
  while (token.is("[")) {
    Location location = token.location;
    advance();
    variable.isArray = true;
    if (dimensions.size() == kMaxDepth)
      return fail(location, "more than " + std::to_string(kMaxDepth) + " dimensions");
    uint64_t extent = 0;
    if (token.is("]")) {
      if (!dimensions.empty())
        return fail(location, "only the first dimension may be left out");
    } else if (expectCount("an extent", kMaxVariableBytes, extent)) {
      return true;
    } else if (extent == 0 && !(variable.linkage == Linkage::Extern && dimensions.empty()) &&
               variable.space != Space::Param) {
      return fail(location, "expected an extent of at least 1, got 0");
    }
    if (expect("]"))
      return true;
    dimensions.push_back(extent);
  }
  return false;
}

/// Sets the size in bytes from the dimensions, the first of which is 0 if it is not known.
bool Parser::finishSize(Variable &variable, const std::vector<uint64_t> &dimensions) {
  uint64_t size = (bitWidth(variable.type) + 7) / 8 * variable.vectorWidth;
  for (uint64_t extent : dimensions)
    if (__builtin_mul_overflow(size, extent, &size) || size > kMaxVariableBytes)
      return fail(variable.location, quote(module.names[variable.name]) + " has more than 2^40 bytes");
  variable.size = size;
  return false;
}

bool Parser::parseVariables(const Declaration &declaration, std::vector<Variable> &variables, SymbolKind symbol) {
  Variable head;
  Location spaceLocation = token.location;
  if (parseVariableHead(declaration, head))
    return true;
  if (function && head.space == Space::Const)
    return fail(spaceLocation, "'.const' variables are declared in module scope only");
  do {
    Variable variable = head;
    Token name;
    std::vector<uint64_t> dimensions;
    if (expectIdentifier("the name of a variable", name))
      return true;
    variable.name = scopes.intern(name.text);
    variable.location = name.location;
    uint32_t index = uint32_t(variables.size());
    if (parseDimensions(variable, dimensions) || declareVariable(name, variable, index, symbol))
      return true;
    bool isOpen = !dimensions.empty() && dimensions[0] == 0;
    if (token.is("=")) {
      if (parseInitialiser(variable, dimensions))
        return true;
    } else if (isOpen && variable.linkage != Linkage::Extern && variable.space != Space::Param) {
      return fail(name.location, quote(name.text) + " has no size: only extern arrays may leave it out");
    } else {
      variable.isDynamic = isOpen && variable.linkage == Linkage::Extern;
    }
    if (finishSize(variable, dimensions))
      return true;
    if (function && &variables == &function->variables) {
      openVariables.push_back(index);
      variable.scope.first = uint32_t(function->instructions.size());
      variable.depth = uint32_t(scopes.depth() - 1); // less the module's
    }
    if (index == variables.size())
      variables.push_back(std::move(variable));
    else if (variable.linkage != Linkage::Extern)
      variables[index] = std::move(variable);
  } while (accept(","));
  return expect(";");
}

/// Declares the name. An extern variable may be declared again, and defined once: `index` becomes that of the first.
bool Parser::declareVariable(const Token &name, const Variable &variable, uint32_t &index, SymbolKind symbol) {
  Entity entity;
  entity.symbol = symbol;
  entity.index = index;
  const Entity *taken = scopes.findInnermost(variable.name);
  if (!taken || function || taken->symbol != SymbolKind::Variable)
    return declare(name, entity);
  const Variable &before = module.variables[taken->index];
  if (before.linkage != Linkage::Extern && variable.linkage != Linkage::Extern)
    return declare(name, entity);
  if (before.space != variable.space || before.type != variable.type)
    return fail(name.location, quote(name.text) + " was declared with another type at " +
                                   std::to_string(before.location.line) + ":" + std::to_string(before.location.column));
  index = taken->index;
  return false;
}

/// One parameter of a function or prototype, up to the ',' or ')' behind it.
bool Parser::parseParameter(Variable &parameter) {
  Declaration declaration;
  declaration.isParameter = true;
  Location location = token.location;
  if (parseVariableHead(declaration, parameter))
    return true;
  if (parameter.space != Space::Param && parameter.space != Space::Reg)
    return fail(location,
                "expected '.param' or '.reg' for a parameter, got \"." + std::string(name(parameter.space)) + "\"");
  Token name;
  if (expectIdentifier("the name of a parameter", name))
    return true;
  parameter.name = scopes.intern(name.text);
  parameter.location = name.location;
  std::vector<uint64_t> dimensions;
  if (parseDimensions(parameter, dimensions) || finishSize(parameter, dimensions))
    return true;
  if (parameter.space == Space::Reg && (parameter.isArray || parameter.vectorWidth > 1))
    return unsupported(name.location, "parameters that are arrays or vectors in registers are not supported");
  return false;
}

/// `(a, b)`, or nothing.
bool Parser::parseParameters(std::vector<Variable> &parameters) {
  if (!accept("("))
    return false;
  if (accept(")"))
    return false;
  do {
    parameters.emplace_back();
    if (parseParameter(parameters.back()))
      return true;
  } while (accept(","));
  return expect(")");
}

} // namespace weft::emu::ptx

// Functions, their directives and scopes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// .entry NAME (PARAMETERS) DIRECTIVES { BODY } and .func (RETURNS) NAME (PARAMETERS) DIRECTIVES { BODY } or ';'.
#include "Emulator/Ptx/ParserImpl.h"

namespace weft::emu::ptx {

using bundle::quote;

/// Bytes of parameters that an entry can have (since PTX ISA 8.1 on sm_70).
constexpr uint64_t kMaxParameterBytes = 32764;

static std::string at(Location location) {
  return std::to_string(location.line) + ":" + std::to_string(location.column);
}

bool Parser::parseSignature(Function &result, Token &name) {
  if (result.isEntry ? false : parseParameters(result.returns))
    return true;
  if (expectIdentifier("the name of a function", name))
    return true;
  result.name = scopes.intern(name.text);
  result.location = name.location;
  return parseParameters(result.parameters);
}

/// `X [, Y [, Z]]`, what is left out is 1.
bool Parser::parseDimensionList(uint32_t (&dimensions)[3]) {
  dimensions[0] = dimensions[1] = dimensions[2] = 1;
  for (uint32_t &dimension : dimensions) {
    uint64_t count;
    Location location = token.location;
    if (expectCount("a number", INT32_MAX, count))
      return true;
    if (count == 0)
      return fail(location, "expected a number of at least 1, got 0");
    dimension = uint32_t(count);
    if (!accept(","))
      return false;
  }
  return unexpected("at most three numbers");
}

bool Parser::parseDirective(Directives &directives, bool &isKnown) {
  auto parseOne = [&](uint32_t &place) {
    uint64_t count;
    if (expectCount("a number", INT32_MAX, count))
      return true;
    place = uint32_t(count);
    return false;
  };
  uint32_t ignored;
  isKnown = true;
  if (acceptWord("maxntid"))
    return parseDimensionList(directives.maxThreads);
  if (acceptWord("reqntid"))
    return parseDimensionList(directives.requiredThreads);
  if (acceptWord("reqnctapercluster"))
    return parseDimensionList(directives.clusterSize);
  if (acceptWord("minnctapersm"))
    return parseOne(directives.minCtasPerSm);
  if (acceptWord("maxnctapersm"))
    return parseOne(directives.maxCtasPerSm);
  if (acceptWord("maxnreg"))
    return parseOne(directives.maxRegisters);
  if (acceptWord("maxclusterrank"))
    return parseOne(directives.maxClusterRank);
  if (acceptWord("abi_preserve") || acceptWord("abi_preserve_control"))
    return parseOne(ignored);
  if (acceptWord("explicitcluster"))
    directives.isExplicitCluster = true;
  else if (acceptWord("blocksareclusters"))
    directives.blocksAreClusters = true;
  else if (acceptWord("noreturn"))
    directives.isNoreturn = true;
  else
    isKnown = false;
  return false;
}

bool Parser::parseDirectives(Function &result) {
  while (token.kind == TokenKind::Word) {
    bool isKnown;
    if (isDebugDirective()) {
      if (skipDebugDirective())
        return true;
      continue;
    }
    if (parseDirective(result.directives, isKnown))
      return true;
    if (!isKnown)
      return unexpected("a directive of a function, '{' or ';'");
  }
  return false;
}

/// Entries: offsets of the parameters in their buffer.
bool Parser::layOutParameters(Function &result) {
  uint64_t offset = 0;
  for (Variable &parameter : result.parameters) {
    if (parameter.space != Space::Param)
      return fail(parameter.location, "parameters of entries are in space .param");
    offset = (offset + parameter.alignment - 1) / parameter.alignment * parameter.alignment;
    parameter.offset = offset;
    offset += parameter.size;
    if (offset > kMaxParameterBytes)
      return fail(parameter.location, "parameters of more than " + std::to_string(kMaxParameterBytes) + " bytes");
  }
  result.parameterBytes = offset;
  return false;
}

static bool isSameList(const std::vector<Variable> &a, const std::vector<Variable> &b) {
  bool isSame = a.size() == b.size();
  for (size_t i = 0; isSame && i < a.size(); ++i)
    isSame = a[i].space == b[i].space && a[i].size == b[i].size && a[i].alignment == b[i].alignment;
  return isSame;
}

bool Parser::checkRedeclaration(const Function &before, const Function &now, const Token &name) {
  if (before.isDefined && now.isDefined)
    return fail(name.location, quote(name.text) + " already has a body at " + at(before.location));
  if (before.isEntry != now.isEntry || !isSameList(before.parameters, now.parameters) ||
      !isSameList(before.returns, now.returns))
    return fail(name.location, quote(name.text) + " was declared with other parameters at " + at(before.location));
  return false;
}

/// Puts the function into the module, or its definition in the place of an earlier declaration, and sets `function`.
bool Parser::registerFunction(Function &&result, const Token &name) {
  const Entity *taken = scopes.findInnermost(result.name);
  if (taken && taken->symbol == SymbolKind::Function) {
    Function &before = module.functions[taken->index];
    if (checkRedeclaration(before, result, name))
      return true;
    if (result.isDefined && before.aliasOf != kNone)
      return fail(name.location, quote(name.text) + " is an alias already");
    if (result.isDefined)
      before = std::move(result);
    function = &before;
    return false;
  }
  Entity entity;
  entity.symbol = SymbolKind::Function;
  entity.index = uint32_t(module.functions.size());
  if (declare(name, entity))
    return true;
  module.functions.push_back(std::move(result));
  function = &module.functions.back();
  return false;
}

bool Parser::parseFunction(Linkage linkage, bool isEntry) {
  Function result;
  Token name;
  result.linkage = linkage;
  result.isEntry = isEntry;
  if (acceptWord("attribute") && parseAttribute(nullptr))
    return true;
  if (parseSignature(result, name) || parseDirectives(result) || (isEntry && layOutParameters(result)))
    return true;
  bool hasBody = result.isDefined = token.is("{");
  if (!hasBody && !token.is(";"))
    return unexpected("a directive of a function, '{' or ';'");
  if (hasBody && linkage == Linkage::Extern)
    return fail(name.location, "extern function " + quote(name.text) + " has a body");
  if (registerFunction(std::move(result), name))
    return true;
  advance();
  bool failed = hasBody && parseBody();
  function = nullptr;
  return failed;
}

bool Parser::declareParameters(std::vector<Variable> &parameters, SymbolKind symbol) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    Variable &parameter = parameters[i];
    Token name;
    name.kind = TokenKind::Identifier;
    name.text = module.names[parameter.name];
    name.location = parameter.location;
    if (name.text == "_")
      continue;
    Entity entity;
    entity.symbol = symbol;
    entity.index = uint32_t(i);
    if (parameter.space == Space::Reg) {
      entity.kind = Entity::Register;
      entity.type = parameter.type;
      parameter.reg = entity.index = newRegisters(parameter.name, parameter.type, 1);
    }
    if (declare(name, entity))
      return true;
  }
  return false;
}

/// After '{': statements up to the matching '}'.
bool Parser::parseBody() {
  scopes.open();
  pending.emplace_back();
  if (declareParameters(function->returns, SymbolKind::Return) ||
      declareParameters(function->parameters, SymbolKind::Parameter))
    return true;
  size_t outermost = scopes.depth();
  for (;;) {
    if (token.is("{")) {
      if (scopes.depth() - outermost == kMaxDepth)
        return fail(token.location, "blocks nested too deeply");
      scopes.open();
      pending.emplace_back();
      advance();
    } else if (token.is("}")) {
      if (closeScope())
        return true;
      advance();
      if (scopes.depth() < outermost)
        return false;
    } else if (token.kind == TokenKind::End) {
      return unexpected("'}'");
    } else if (parseStatement()) {
      return true;
    }
  }
}

/// Resolves what may mean a label of the scope that ends; the rest may mean one of the scope around.
bool Parser::closeScope() {
  std::vector<Pending> names = std::move(pending.back());
  pending.pop_back();
  for (const Pending &use : names) {
    const Entity *entity = scopes.findInnermost(use.name);
    if (!entity) {
      if (pending.empty())
        return fail(use.location, "name " + quote(module.names[use.name]) + " is not declared");
      pending.back().push_back(use);
      continue;
    }
    if (!entity->isLabel())
      return fail(use.location,
                  quote(module.names[use.name]) + " is used before its declaration at " + at(entity->location));
    if (use.isTarget && entity->symbol != SymbolKind::Label)
      return fail(use.location, "expected a label, got " + quote(module.names[use.name]));
    if (use.isTarget) {
      function->targetPool[use.operand] = entity->index;
    } else {
      function->operands[use.operand].symbol = entity->symbol;
      function->operands[use.operand].index = entity->index;
    }
  }
  for (; !openVariables.empty(); openVariables.pop_back()) {
    Variable &variable = function->variables[openVariables.back()];
    if (variable.depth + 1 != scopes.depth())
      break;
    variable.scope.count = uint32_t(function->instructions.size()) - variable.scope.first;
  }
  scopes.close();
  return false;
}

} // namespace weft::emu::ptx

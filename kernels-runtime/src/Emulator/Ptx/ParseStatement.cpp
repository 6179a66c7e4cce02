// Statements of a body.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declarations, labels, tables of targets, prototypes and instructions.
#include "Emulator/Ptx/ParserImpl.h"

namespace weft::emu::ptx {

using bundle::quote;

/// Members of one register range. They cost nothing until they are named.
constexpr uint64_t kMaxRangeMembers = uint64_t(1) << 31;

bool Parser::parseStatement() {
  if (accept(";"))
    return false;
  if (token.kind == TokenKind::Word)
    return parseDirectiveStatement();
  if (token.is("@"))
    return parseGuarded();
  Token name;
  if (expectIdentifier("an instruction, a label or a declaration", name))
    return true;
  if (token.is(":"))
    return parseLabel(name);
  Instruction instruction;
  return parseInstruction(instruction, name);
}

bool Parser::parseDirectiveStatement() {
  if (isDebugDirective())
    return skipDebugDirective();
  if (acceptWord("reg"))
    return parseRegisters();
  Declaration declaration;
  bool isLinked = parseLinkage(declaration.linkage);
  // Global variables live as long as the module, but only the block knows their names.
  if (token.isWord("global"))
    return parseVariables(declaration, module.variables, SymbolKind::Variable);
  for (std::string_view space : {"shared", "local", "param", "const"})
    if (token.isWord(space))
      return parseVariables(declaration, function->variables, SymbolKind::Local);
  if (token.isWord("branchtargets") || token.isWord("calltargets") || token.isWord("callprototype"))
    return fail(token.location, describe(token) + " needs a label before it");
  return unexpected(isLinked ? "a variable" : "a directive of a body");
}

bool Parser::parseRegisters() {
  unsigned width = 1;
  Type type = Type::None;
  while (token.kind == TokenKind::Word) {
    if (token.isWord("v2") || token.isWord("v4")) {
      width = token.text == "v2" ? 2 : 4;
    } else {
      if (type != Type::None || !isDeclarable(parseType(token.text)))
        return unexpected(type == Type::None ? "a type of registers" : "the name of a register");
      type = parseType(token.text);
    }
    advance();
  }
  if (type == Type::None)
    return unexpected("a type of registers");
  do {
    if (parseRegisterName(type, width))
      return true;
  } while (accept(","));
  return expect(";");
}

/// `name` or `prefix<count>`.
bool Parser::parseRegisterName(Type type, unsigned width) {
  Token name;
  if (expectIdentifier("the name of a register", name))
    return true;
  Entity entity;
  entity.type = type;
  entity.width = uint8_t(width);
  entity.location = name.location;
  if (!token.is("<")) {
    entity.kind = width > 1 ? Entity::RegisterVector : Entity::Register;
    entity.index = newRegisters(scopes.intern(name.text), type, width);
    return declare(name, entity);
  }
  advance();
  uint64_t count;
  if (token.kind != TokenKind::Integer) // not an expression: '>' ends it
    return unexpected("a number of registers");
  count = token.bits;
  if (count > kMaxRangeMembers)
    return fail(token.location, "expected at most 2^31 registers, got " + std::string(token.text));
  advance();
  entity.kind = Entity::RegisterRange;
  entity.index = uint32_t(count);
  Entity previous;
  if (expect(">"))
    return true;
  if (!scopes.declareRange(scopes.intern(name.text), entity, previous))
    return fail(name.location, "registers " + quote(std::string(name.text) + "<...>") + " are already declared at " +
                                   std::to_string(previous.location.line) + ":" +
                                   std::to_string(previous.location.column));
  return false;
}

bool Parser::parseLabel(const Token &name) {
  advance(); // ':'
  if (acceptWord("branchtargets"))
    return parseTargetList(name, function->branchTargets, SymbolKind::BranchTargets);
  if (acceptWord("calltargets"))
    return parseTargetList(name, function->callTargets, SymbolKind::CallTargets);
  if (acceptWord("callprototype"))
    return parsePrototype(name);
  Entity entity;
  entity.symbol = SymbolKind::Label;
  entity.index = uint32_t(function->labels.size());
  function->labels.push_back({scopes.intern(name.text), name.location, uint32_t(function->instructions.size())});
  return declare(name, entity);
}

bool Parser::parseTargetList(const Token &name, std::vector<TargetList> &lists, SymbolKind symbol) {
  Entity entity;
  entity.symbol = symbol;
  entity.index = uint32_t(lists.size());
  if (declare(name, entity))
    return true;
  TargetList list;
  list.name = scopes.intern(name.text);
  list.location = name.location;
  list.targets.first = uint32_t(function->targetPool.size());
  do {
    Token target;
    if (expectIdentifier(symbol == SymbolKind::BranchTargets ? "a label" : "a function", target))
      return true;
    NameId targetName = scopes.intern(target.text);
    uint32_t place = uint32_t(function->targetPool.size());
    function->targetPool.push_back(kNone);
    if (symbol == SymbolKind::BranchTargets) {
      pending.back().push_back({targetName, place, true, target.location});
      continue;
    }
    const Entity *entity = scopes.findExact(targetName);
    if (!entity || entity->kind != Entity::Symbol || entity->symbol != SymbolKind::Function)
      return fail(target.location, "expected a function declared before, got " + quote(target.text));
    function->targetPool[place] = entity->index;
  } while (accept(","));
  list.targets.count = uint32_t(function->targetPool.size()) - list.targets.first;
  lists.push_back(list);
  return expect(";");
}

/// `name: .callprototype (RETURNS) _ (PARAMETERS) [.noreturn];`
bool Parser::parsePrototype(const Token &name) {
  Entity entity;
  entity.symbol = SymbolKind::CallPrototype;
  entity.index = uint32_t(function->prototypes.size());
  if (declare(name, entity))
    return true;
  Prototype prototype;
  prototype.name = scopes.intern(name.text);
  prototype.location = name.location;
  if (parseParameters(prototype.returns))
    return true;
  if (!token.isIdentifier("_"))
    return unexpected("'_' in a prototype");
  advance();
  if (parseParameters(prototype.parameters))
    return true;
  Directives directives;
  for (bool isKnown; token.kind == TokenKind::Word;)
    if (parseDirective(directives, isKnown))
      return true;
    else if (!isKnown)
      return unexpected("';'");
  prototype.isNoreturn = directives.isNoreturn;
  function->prototypes.push_back(std::move(prototype));
  return expect(";");
}

/// `@p instruction` and `@!p instruction`.
bool Parser::parseGuarded() {
  Instruction instruction;
  advance(); // '@'
  instruction.isGuardNegated = accept("!");
  Token name;
  if (token.kind != TokenKind::Identifier)
    return unexpected("a predicate after '@'");
  Operand guard;
  guard.location = token.location;
  std::string text = describe(token);
  if (parseName(guard))
    return true;
  if (guard.kind != OperandKind::Register || function->registers[guard.index].type != Type::Pred)
    return fail(guard.location, "expected a predicate register after '@', got " + text);
  instruction.guard = guard.index;
  return expectIdentifier("an instruction", name) || parseInstruction(instruction, name);
}

bool Parser::parseInstruction(Instruction instruction, const Token &name) {
  instruction.location = name.location;
  instruction.mnemonic = scopes.intern(name.text);
  instruction.modifiers.first = uint32_t(function->modifiers.size());
  for (; token.kind == TokenKind::Word; advance())
    function->modifiers.push_back({scopes.intern(token.text), token.location.column});
  instruction.modifiers.count = uint32_t(function->modifiers.size()) - instruction.modifiers.first;
  std::vector<Operand> operands;
  if (!token.is(";") && parseOperands(name.text == "call" ? Place::Call : Place::Instruction, ";", operands))
    return true;
  if (!token.is(";"))
    return unexpected("',' or ';'");
  instruction.operands = addOperands(operands);
  function->instructions.push_back(instruction);
  advance();
  return false;
}

} // namespace weft::emu::ptx

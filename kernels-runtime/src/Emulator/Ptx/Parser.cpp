// PTX modules.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The header (.version, .target, .address_size), the directives of module scope, and what skips debug information.
#include "Emulator/Ptx/Parser.h"

#include "Emulator/Ptx/ParserImpl.h"

namespace weft::emu::ptx {

using bundle::quote;

bundle::Error parse(std::string_view text, Module &module) {
  module = Module();
  return Parser(text, module).run();
}

Parser::Parser(std::string_view text, Module &module) : text(text), module(module), lexer(text), scopes(module.names) {}

bundle::Error Parser::run() {
  if (text.size() > (size_t(1) << 31))
    return bundle::Error(bundle::ErrorCode::Input, "PTX text of more than 2 GiB");
  advance();
  if (parseHeader())
    return std::move(error);
  while (token.kind != TokenKind::End)
    if (parseTopLevel())
      return std::move(error);
  return bundle::Error();
}

void Parser::advance() { token = lexer.next(); }

bool Parser::accept(std::string_view punctuation) {
  if (!token.is(punctuation))
    return false;
  advance();
  return true;
}

bool Parser::acceptWord(std::string_view word) {
  if (!token.isWord(word))
    return false;
  advance();
  return true;
}

bool Parser::fail(Location location, const std::string &message, bundle::ErrorCode code) {
  if (!error)
    error = bundle::Error(code, std::to_string(location.line) + ":" + std::to_string(location.column) + ": " + message);
  return true;
}

/// Every error about a token comes through here, so that what the lexer found wrong is told first.
bool Parser::unexpected(std::string_view expected) {
  if (token.kind == TokenKind::Error)
    return fail(token.location, std::string(token.text));
  return fail(token.location, "expected " + std::string(expected) + ", got " + describe(token));
}

bool Parser::expect(std::string_view punctuation) {
  if (accept(punctuation))
    return false;
  return unexpected("'" + std::string(punctuation) + "'");
}

bool Parser::expectIdentifier(std::string_view what, Token &identifier) {
  identifier = token;
  if (token.kind != TokenKind::Identifier)
    return unexpected(what);
  advance();
  return false;
}

/// A constant expression between 0 and `limit`.
bool Parser::expectCount(std::string_view what, uint64_t limit, uint64_t &count) {
  if (!isConstantStart())
    return unexpected(what);
  Constant constant;
  if (parseIntegerConstant(constant))
    return true;
  count = constant.bits;
  bool isNegative = constant.kind == Constant::Signed && int64_t(constant.bits) < 0;
  if (isNegative || count > limit)
    return fail(constant.location, "expected " + std::string(what) + " of at most " + std::to_string(limit) + ", got " +
                                       (isNegative ? std::to_string(int64_t(count)) : std::to_string(count)));
  return false;
}

bool Parser::declare(const Token &name, Entity entity) {
  Entity previous;
  entity.location = name.location;
  if (scopes.declare(scopes.intern(name.text), entity, previous))
    return false;
  return fail(name.location, quote(name.text) + " is already declared at " + std::to_string(previous.location.line) +
                                 ":" + std::to_string(previous.location.column));
}

bool Parser::parseHeader() {
  while (isDebugDirective())
    if (skipDebugDirective())
      return true;
  if (!token.isWord("version"))
    return unexpected("'.version'");
  return parseVersion() || parseTarget() || parseAddressSize();
}

/// MAJOR.MINOR is read by the lexer as a decimal constant; its text is what counts.
bool Parser::parseVersion() {
  advance();
  Token version = token;
  size_t dot = version.text.find('.');
  if (token.kind != TokenKind::Float64 || dot == std::string_view::npos || version.text.size() > 8 ||
      version.text.find_first_not_of("0123456789.") != std::string_view::npos || dot + 1 == version.text.size())
    return unexpected("a version such as 8.0");
  module.versionMajor = uint32_t(std::stoul(std::string(version.text.substr(0, dot))));
  module.versionMinor = uint32_t(std::stoul(std::string(version.text.substr(dot + 1))));
  advance();
  uint32_t code = module.versionMajor * 100 + module.versionMinor;
  if (code < 700 || code > 900)
    return unsupported(version.location,
                       "PTX ISA version " + std::string(version.text) + " is not supported: expected 7.0 to 9.0");
  return false;
}

/// sm_90a: the number and the letter of a target.
static bool splitTarget(std::string_view name, uint32_t &number, char &suffix) {
  if (name.substr(0, 3) != "sm_" || name.size() < 5 || name.size() > 7)
    return false;
  name.remove_prefix(3);
  suffix = 0;
  if (name.back() == 'a' || name.back() == 'f') {
    suffix = name.back();
    name.remove_suffix(1);
  }
  number = 0;
  for (char c : name) {
    if (c < '0' || c > '9')
      return false;
    number = number * 10 + unsigned(c - '0');
  }
  return number >= 10;
}

bool Parser::parseTarget() {
  if (!acceptWord("target"))
    return unexpected("'.target'");
  Token target;
  if (expectIdentifier("a target such as sm_90a", target))
    return true;
  if (!splitTarget(target.text, module.smVersion, module.targetSuffix))
    return fail(target.location, "expected a target such as sm_90a, got " + quote(target.text));
  module.target = std::string(target.text);
  while (accept(",")) {
    Token option;
    if (expectIdentifier("an option of .target", option))
      return true;
    if (option.text != "debug" && option.text != "texmode_unified" && option.text != "texmode_independent")
      return unsupported(option.location, "option " + quote(option.text) + " of .target is not supported");
    module.targetOptions.emplace_back(option.text);
  }
  return false;
}

bool Parser::parseAddressSize() {
  if (!acceptWord("address_size"))
    return false; // 32 bits
  Location location = token.location;
  uint64_t size;
  if (expectCount("an address size", 64, size))
    return true;
  if (size != 32 && size != 64)
    return fail(location, "expected an address size of 32 or 64, got " + std::to_string(size));
  module.addressSize = uint32_t(size);
  return false;
}

bool Parser::parseLinkage(Linkage &linkage) {
  static constexpr std::pair<std::string_view, Linkage> words[] = {
      {"visible", Linkage::Visible}, {"extern", Linkage::Extern}, {"weak", Linkage::Weak}, {"common", Linkage::Common}};
  for (auto [word, meaning] : words)
    if (acceptWord(word)) {
      linkage = meaning;
      return true;
    }
  return false;
}

bool Parser::parseTopLevel() {
  if (isDebugDirective())
    return skipDebugDirective();
  if (accept(";"))
    return false;
  Declaration declaration;
  Location location = token.location;
  bool isLinked = parseLinkage(declaration.linkage);
  if (acceptWord("entry"))
    return parseFunction(declaration.linkage, true);
  if (acceptWord("func"))
    return parseFunction(declaration.linkage, false);
  for (std::string_view space : {"global", "const", "shared", "local"})
    if (token.isWord(space))
      return parseVariables(declaration, module.variables, SymbolKind::Variable);
  if (token.isWord("tex") || token.isWord("reg"))
    return unsupported(token.location, describe(token) + " in module scope is not supported");
  if (!isLinked && acceptWord("alias"))
    return parseAlias();
  if (token.isWord("version") || token.isWord("target") || token.isWord("address_size"))
    return fail(location, describe(token) + " is expected once, at the top of the module");
  return unexpected(isLinked ? "a variable or function" : "a directive of module scope");
}

/// `.alias name, function;`: both are declared before, the second with a body.
bool Parser::parseAlias() {
  Token alias, function;
  if (expectIdentifier("the name of an alias", alias) || expect(",") || expectIdentifier("a function", function) ||
      expect(";"))
    return true;
  uint32_t indices[2];
  for (size_t i = 0; i < 2; ++i) {
    const Token &name = i == 0 ? alias : function;
    const Entity *entity = scopes.findExact(scopes.intern(name.text));
    if (!entity || entity->symbol != SymbolKind::Function || module.functions[entity->index].isEntry)
      return fail(name.location, "expected a device function declared before, got " + quote(name.text));
    indices[i] = entity->index;
  }
  if (module.functions[indices[0]].isDefined || module.functions[indices[0]].aliasOf != kNone)
    return fail(alias.location, quote(alias.text) + " has a body or is an alias already");
  if (!module.functions[indices[1]].isDefined)
    return fail(function.location, "expected a function with a body, got " + quote(function.text));
  module.functions[indices[0]].aliasOf = indices[1];
  return false;
}

bool Parser::isDebugDirective() const {
  for (std::string_view word : {"file", "loc", "section", "pragma"})
    if (token.isWord(word))
      return true;
  return false;
}

bool Parser::skipDebugDirective() {
  std::string_view directive = token.text;
  advance();
  if (directive == "loc")
    return skipLoc();
  if (directive == "section") { // .section .debug_info { ... }
    if (token.kind != TokenKind::Word && token.kind != TokenKind::Identifier)
      return unexpected("the name of a section");
    while (token.kind == TokenKind::Word || token.kind == TokenKind::Identifier)
      advance(); // .nv.info.kernel
    return skipBraces();
  }
  uint64_t number;
  if (directive == "file" && expectCount("the number of a file", UINT32_MAX, number)) // .file 1 "name", TIME, SIZE
    return true;
  do {
    if (token.kind != TokenKind::String && token.kind != TokenKind::Integer)
      return unexpected(directive == "file" ? "the name of a file" : "a string");
    advance();
  } while (accept(","));
  return directive == "pragma" && expect(";");
}

/// `.loc FILE LINE COLUMN [, function_name LABEL [+ OFFSET], inlined_at FILE LINE COLUMN]`
bool Parser::skipLoc() {
  auto skipNumbers = [&] {
    for (unsigned i = 0; i < 3; ++i) {
      if (token.kind != TokenKind::Integer)
        return unexpected("a number of .loc");
      advance();
    }
    return false;
  };
  if (skipNumbers())
    return true;
  if (!accept(","))
    return false;
  Token word;
  uint64_t offset;
  if (!token.isIdentifier("function_name"))
    return unexpected("'function_name'");
  advance();
  if (expectIdentifier("a label", word) || (accept("+") && expectCount("an offset", UINT32_MAX, offset)) || expect(","))
    return true;
  if (!token.isIdentifier("inlined_at"))
    return unexpected("'inlined_at'");
  advance();
  return skipNumbers();
}

bool Parser::skipBraces() {
  Location open = token.location;
  if (expect("{"))
    return true;
  for (uint64_t level = 1; level > 0; advance()) {
    if (token.kind == TokenKind::End)
      return fail(open, "'{' without '}'");
    if (token.kind == TokenKind::Error)
      return unexpected("'}'");
    level += token.is("{");
    level -= token.is("}");
  }
  return false;
}

} // namespace weft::emu::ptx

// The recursive-descent parser.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One class over several files: Parser.cpp (module), ParseFunction.cpp, ParseStatement.cpp, ParseOperand.cpp,
// ParseVariable.cpp and Constant.cpp. Methods return true when they fail, after `fail` has kept the message.
#ifndef WEFT_EMULATOR_PTX_PARSERIMPL_H
#define WEFT_EMULATOR_PTX_PARSERIMPL_H

#include "Emulator/Ptx/Ast.h"
#include "Emulator/Ptx/Lexer.h"
#include "Emulator/Ptx/Scopes.h"
#include "weft/Bundle/Error.h"

#include <string>
#include <vector>

namespace weft::emu::ptx {

/// Nesting of blocks, and of parentheses and prefixes in constants.
constexpr unsigned kMaxDepth = 64;
/// Bytes of one variable. What a GPU has is checked at launch.
constexpr uint64_t kMaxVariableBytes = uint64_t(1) << 40;
constexpr uint64_t kMaxAlignment = 1 << 16;

/// A folded constant.
struct Constant {
  enum Kind : uint8_t { Signed, Unsigned, Float32, Float64 };
  Kind kind = Signed;
  uint64_t bits = 0;
  Location location;

  bool isInteger() const { return kind == Signed || kind == Unsigned; }
  double asDouble() const;
};

/// True for types of which variables and registers can be.
bool isDeclarable(Type type);

class Parser {
public:
  Parser(std::string_view text, Module &module);
  bundle::Error run();

private:
  // Tokens.
  void advance();
  bool accept(std::string_view punctuation);
  bool acceptWord(std::string_view word);
  bool expect(std::string_view punctuation);
  bool expectIdentifier(std::string_view what, Token &identifier);
  bool expectCount(std::string_view what, uint64_t limit, uint64_t &count);
  bool unexpected(std::string_view expected);
  bool fail(Location location, const std::string &message, bundle::ErrorCode code = bundle::ErrorCode::Input);
  bool unsupported(Location location, const std::string &message) {
    return fail(location, message, bundle::ErrorCode::Unsupported);
  }

  // Parser.cpp: the module.
  bool parseHeader();
  bool parseVersion();
  bool parseTarget();
  bool parseAddressSize();
  bool parseTopLevel();
  bool parseAlias();
  bool parseLinkage(Linkage &linkage);
  bool isDebugDirective() const;
  bool skipDebugDirective();
  bool skipLoc();
  bool skipBraces();
  bool declare(const Token &name, Entity entity);

  // ParseVariable.cpp
  struct Declaration {
    Linkage linkage = Linkage::Internal;
    bool isParameter = false; ///< Of a function or prototype: one name, no initialiser, .ptr allowed.
  };
  bool parseVariables(const Declaration &declaration, std::vector<Variable> &variables, SymbolKind symbol);
  bool parseVariableHead(const Declaration &declaration, Variable &variable);
  bool parseHeadWord(const Declaration &declaration, Variable &variable);
  bool parsePointerWord(Variable &variable);
  bool parseAlignment(uint64_t &alignment);
  bool parseAttribute(Variable *variable);
  bool parseDimensions(Variable &variable, std::vector<uint64_t> &dimensions);
  bool finishSize(Variable &variable, const std::vector<uint64_t> &dimensions);
  bool declareVariable(const Token &name, const Variable &variable, uint32_t &index, SymbolKind symbol);

  // Initialiser.cpp
  struct InitialShape; ///< Extents and strides of the dimensions, in elements.
  bool parseInitialiser(Variable &variable, std::vector<uint64_t> &dimensions);
  bool parseInitialList(Variable &variable, const InitialShape &shape, size_t level, uint64_t first, uint64_t &end);
  bool parseInitialElement(Variable &variable, uint64_t element);
  bool parseInitialSymbol(Variable &variable, uint64_t element, uint8_t byte);
  bool storeElement(Variable &variable, uint64_t element, const Constant &constant);
  bool encodeElement(const Variable &variable, const Constant &constant, uint64_t &bits);
  bool reserveInitial(Variable &variable, uint64_t bytes);
  bool parseParameters(std::vector<Variable> &parameters);
  bool parseParameter(Variable &parameter);

  // ParseFunction.cpp
  bool parseFunction(Linkage linkage, bool isEntry);
  bool parseSignature(Function &function, Token &name);
  bool parseDirectives(Function &function);
  bool parseDirective(Directives &directives, bool &isKnown);
  bool parseDimensionList(uint32_t (&dimensions)[3]);
  bool registerFunction(Function &&function, const Token &name);
  bool checkRedeclaration(const Function &before, const Function &now, const Token &name);
  bool layOutParameters(Function &function);
  bool parseBody();
  bool declareParameters(std::vector<Variable> &parameters, SymbolKind symbol);
  bool closeScope();

  // ParseStatement.cpp
  bool parseStatement();
  bool parseDirectiveStatement();
  bool parseRegisters();
  bool parseRegisterName(Type type, unsigned width);
  bool parseLabel(const Token &name);
  bool parseTargetList(const Token &name, std::vector<TargetList> &lists, SymbolKind symbol);
  bool parsePrototype(const Token &name);
  bool parseGuarded();
  bool parseInstruction(Instruction instruction, const Token &name);

  // ParseOperand.cpp
  enum class Place : uint8_t { Instruction, Call, List, TensorList }; ///< What an operand is part of.
  bool parseOperands(Place place, std::string_view close, std::vector<Operand> &operands);
  bool parseOperand(Place place, Operand &operand);
  bool parsePair(Operand &operand);
  bool isNegatedName() const;
  bool parseNegated(Operand &operand);
  bool parseName(Operand &operand);
  bool parseSpecial(const Token &name, Operand &operand);
  bool parseRegister(const Token &name, Entity entity, Operand &operand);
  bool parseComponent(unsigned count, uint8_t &component);
  bool parseAddress(Operand &operand);
  bool parseList(Place place, std::string_view close, OperandKind kind, Operand &operand);
  bool setConstant(const Constant &constant, Operand &operand);
  bool parseOffset(int64_t &offset);
  Range addOperands(const std::vector<Operand> &operands);
  uint32_t newRegisters(NameId name, Type type, unsigned width);

  // Constant.cpp
  bool parseConstant(Constant &constant);
  bool parseConditional(Constant &constant);
  bool parseBinary(unsigned level, Constant &constant);
  bool parsePrefix(Constant &constant);
  bool parseCast(Constant &constant);
  bool parsePrimary(Constant &constant);
  bool parseIntegerConstant(Constant &constant);
  bool isConstantStart() const;
  bool applyUnary(const Token &op, Constant &constant);
  bool applyBinary(const Token &op, Constant &left, const Constant &right);

  /// A name used where a label may be meant; it is resolved when the scopes that may declare it close.
  struct Pending {
    NameId name;
    uint32_t operand; ///< In Function::operands; with isTarget in Function::targetPool.
    bool isTarget;
    Location location;
  };

  std::string_view text;
  Module &module;
  Lexer lexer;
  Token token; ///< The one looked at.
  Scopes scopes;
  bundle::Error error;
  unsigned depth = 0;                        ///< Of recursion in constants.
  Function *function = nullptr;              ///< The one whose body is parsed.
  std::vector<std::vector<Pending>> pending; ///< By scope of the function.
  std::vector<uint32_t> openVariables;       ///< Of Function::variables: those whose block is open.
};

} // namespace weft::emu::ptx

#endif // WEFT_EMULATOR_PTX_PARSERIMPL_H

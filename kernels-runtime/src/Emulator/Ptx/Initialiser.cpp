// Initial values of variables.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants, addresses of symbols, and nested braces with the rules of C: a brace begins the next sub-array, elements
// without braces follow each other, and what is not given is zero. A vector type counts as one more dimension.
#include "Emulator/Ptx/ParserImpl.h"

#include <cstring>

namespace weft::emu::ptx {

using bundle::quote;

struct Parser::InitialShape {
  std::vector<uint64_t> extents; ///< 0: as many as are given
  std::vector<uint64_t> strides;
};

static uint64_t elementBytes(const Variable &variable) { return (bitWidth(variable.type) + 7) / 8; }

bool Parser::parseInitialiser(Variable &variable, std::vector<uint64_t> &dimensions) {
  Location location = token.location;
  advance(); // '='
  if (variable.space != Space::Global && variable.space != Space::Const)
    return fail(location, "only variables in spaces .global and .const have initial values");
  if (variable.linkage == Linkage::Extern)
    return fail(location, "an extern variable has no initial value");
  InitialShape shape;
  shape.extents = dimensions;
  if (variable.vectorWidth > 1)
    shape.extents.push_back(variable.vectorWidth);
  shape.strides.resize(shape.extents.size());
  uint64_t stride = 1;
  for (size_t i = shape.extents.size(); i-- > 0;) {
    shape.strides[i] = stride;
    if (__builtin_mul_overflow(stride, shape.extents[i], &stride) || stride > kMaxVariableBytes)
      return fail(variable.location, quote(module.names[variable.name]) + " has more than 2^40 bytes");
  }
  if (shape.extents.empty()) {
    bool isBraced = accept("{");
    return parseInitialElement(variable, 0) || (isBraced && expect("}"));
  }
  uint64_t end = 0;
  if (parseInitialList(variable, shape, 0, 0, end))
    return true;
  if (!dimensions.empty() && dimensions[0] == 0)
    dimensions[0] = (end + shape.strides[0] - 1) / shape.strides[0];
  if (!dimensions.empty() && dimensions[0] == 0)
    return fail(location, "an empty initialiser gives no size");
  return false;
}

/// `{...}` of the sub-array of dimension `level` that begins at element `first`; `end` is after the last one given.
bool Parser::parseInitialList(Variable &variable, const InitialShape &shape, size_t level, uint64_t first,
                              uint64_t &end) {
  if (expect("{"))
    return true;
  uint64_t stride = shape.strides[level], limit = first + shape.extents[level] * stride;
  bool isOpen = shape.extents[level] == 0;
  end = first;
  if (accept("}"))
    return false;
  do {
    if (!isOpen && end >= limit)
      return fail(token.location, "more initial values than " + quote(module.names[variable.name]) + " has elements");
    if (!token.is("{")) {
      if (parseInitialElement(variable, end))
        return true;
      ++end;
      continue;
    }
    if (level + 1 == shape.extents.size())
      return fail(token.location, "more braces than " + quote(module.names[variable.name]) + " has dimensions");
    uint64_t index = (end - first + stride - 1) / stride, given;
    if (!isOpen && index >= shape.extents[level])
      return fail(token.location, "more initial values than " + quote(module.names[variable.name]) + " has elements");
    if (parseInitialList(variable, shape, level + 1, first + index * stride, given))
      return true;
    end = first + (index + 1) * stride;
  } while (accept(","));
  return expect("}");
}

bool Parser::parseInitialElement(Variable &variable, uint64_t element) {
  if (token.kind == TokenKind::Identifier && !isConstantStart())
    return parseInitialSymbol(variable, element, Relocation::kAllBytes);
  if (!isConstantStart())
    return unexpected("an initial value");
  Constant constant;
  if (parseConstant(constant))
    return true;
  if (!token.is("("))
    return storeElement(variable, element, constant);
  advance(); // 0xFF00(symbol): the second byte of the address
  uint8_t byte = 0;
  while (byte < 8 && constant.bits != uint64_t(0xff) << (8 * byte))
    ++byte;
  if (byte == 8 || elementBytes(variable) != 1)
    return fail(constant.location, "expected a mask of one byte and elements of one byte before '('");
  return parseInitialSymbol(variable, element, byte) || expect(")");
}

/// `symbol`, `symbol+4`, `generic(symbol)+4`.
bool Parser::parseInitialSymbol(Variable &variable, uint64_t element, uint8_t byte) {
  Relocation relocation;
  relocation.offset = element * elementBytes(variable);
  relocation.size = uint8_t(elementBytes(variable));
  relocation.byte = byte;
  Token name;
  if (expectIdentifier("a symbol", name))
    return true;
  if (name.text == "generic" && accept("(")) {
    relocation.isGeneric = true;
    if (expectIdentifier("a symbol", name) || parseOffset(relocation.addend) || expect(")"))
      return true;
  }
  const Entity *entity = scopes.findExact(scopes.intern(name.text));
  if (!entity || entity->kind != Entity::Symbol ||
      (entity->symbol != SymbolKind::Variable && entity->symbol != SymbolKind::Function))
    return fail(name.location, "expected a variable or function declared before, got " + quote(name.text));
  if (relocation.size < 4 && byte == Relocation::kAllBytes)
    return fail(name.location, "an address does not fit an element of type ." + std::string(ptx::name(variable.type)));
  relocation.symbol = entity->symbol;
  relocation.index = entity->index;
  int64_t more = 0;
  if (parseOffset(more))
    return true;
  relocation.addend = int64_t(uint64_t(relocation.addend) + uint64_t(more));
  if (reserveInitial(variable, relocation.offset + relocation.size))
    return true;
  variable.relocations.push_back(relocation);
  return false;
}

/// Zeros between given values are stored, so they must be in proportion to the text.
bool Parser::reserveInitial(Variable &variable, uint64_t bytes) {
  if (bytes > 65536 + 16 * uint64_t(text.size()))
    return fail(token.location, "initialiser of " + quote(module.names[variable.name]) +
                                    " leaves out too many elements between those it gives");
  if (variable.bytes.size() < bytes)
    variable.bytes.resize(size_t(bytes));
  return false;
}

bool Parser::encodeElement(const Variable &variable, const Constant &constant, uint64_t &bits) {
  Type type = variable.type;
  bits = constant.bits;
  if (type == Type::F32 && constant.kind != Constant::Float32) {
    float value = float(constant.asDouble());
    uint32_t narrow;
    std::memcpy(&narrow, &value, sizeof value);
    bits = narrow;
    return false;
  }
  if (type == Type::F64 && constant.kind != Constant::Float64) {
    double value = constant.asDouble();
    std::memcpy(&bits, &value, sizeof value);
    return false;
  }
  if (constant.isInteger() && isFloat(type) && type != Type::F32 && type != Type::F64)
    return fail(constant.location, "initial values of type ." + std::string(name(type)) +
                                       " are not supported: declare the variable as .b16 or .b32");
  unsigned width = constant.kind == Constant::Float32 ? 32 : 64;
  if (!constant.isInteger() && type != Type::F32 && type != Type::F64 &&
      (typeClass(type) != TypeClass::Bits || bitWidth(type) != width))
    return fail(constant.location, "a floating-point constant is no value of type ." + std::string(name(type)));
  return false;
}

bool Parser::storeElement(Variable &variable, uint64_t element, const Constant &constant) {
  uint64_t bits = 0, bytes = elementBytes(variable);
  if (encodeElement(variable, constant, bits))
    return true;
  if (reserveInitial(variable, (element + 1) * bytes))
    return true;
  bool isNegative = constant.kind == Constant::Signed && int64_t(constant.bits) < 0;
  std::memcpy(variable.bytes.data() + element * bytes, &bits, size_t(bytes < 8 ? bytes : 8));
  if (bytes == 16 && isNegative)
    std::memset(variable.bytes.data() + element * bytes + 8, 0xff, 8);
  return false;
}

} // namespace weft::emu::ptx

// Vector accesses of global and shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Memory.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <numeric>

using namespace mlir;
using namespace weft;
using namespace weft::gpu;

/// Tensors in global memory start at a multiple of this.
constexpr int64_t baseAlignment = 64;

SmallVector<AccessVector> weft::gpu::groupRegisters(ArrayRef<LinearForm> offsets, ArrayRef<Predicate> predicates,
                                                    unsigned elementBits, SmallVectorImpl<unsigned> &equal,
                                                    unsigned maxBits) {
  struct Family {
    Terms terms;
    Predicate predicate;
    std::map<int64_t, unsigned> members; // By constant.
  };
  SmallVector<Family> families; // In order of their first register.
  std::map<std::pair<Terms, void *>, unsigned> numbers;
  equal.assign(offsets.size(), 0);
  for (unsigned reg = 0; reg < offsets.size(); ++reg) {
    void *condition = predicates[reg].value.getAsOpaquePointer();
    if (predicates[reg].isFalse())
      condition = &families;
    auto [it, isNew] = numbers.try_emplace({offsets[reg].terms, condition}, families.size());
    if (isNew)
      families.push_back({offsets[reg].terms, predicates[reg], {}});
    equal[reg] = families[it->second].members.try_emplace(offsets[reg].constant, reg).first->second;
  }
  SmallVector<AccessVector> vectors;
  int64_t bytes = std::max(elementBits / 8, 1u), most = std::max<int64_t>(maxBits / 8 / bytes, 1);
  for (Family &family : families) {
    int64_t aligned = std::gcd(IndexArithmetic::getDivisor(family.terms) * bytes, baseAlignment);
    for (auto it = family.members.begin(); it != family.members.end();) {
      int64_t count = 1;
      auto isContiguous = [&](int64_t wanted) {
        auto next = it;
        for (int64_t i = 0; i < wanted; ++i, ++next)
          if (next == family.members.end() || next->first != it->first + i)
            return false;
        return true;
      };
      while (count * 2 <= most && aligned % (count * 2 * bytes) == 0 && it->first % (count * 2) == 0 &&
             isContiguous(count * 2))
        count *= 2;
      AccessVector vector{{}, family.terms, it->first, family.predicate};
      for (int64_t i = 0; i < count; ++i, ++it)
        vector.registers.push_back(it->second);
      vectors.push_back(std::move(vector));
    }
  }
  return vectors;
}

//===-- Words -----------------------------------------------------------------------------------------------------===//

SmallVector<Value> weft::gpu::packWords(OpBuilder &builder, Location loc, ValueRange values) {
  Type element = values[0].getType();
  unsigned bits = element.getIntOrFloatBitWidth(),
           wordBits = std::max(std::min<unsigned>(values.size() * bits, 32), bits);
  Type word = builder.getIntegerType(wordBits);
  unsigned perWord = wordBits / bits;
  SmallVector<Value> words;
  for (unsigned i = 0; i < values.size(); i += perWord) {
    Value value = values[i];
    if (perWord > 1)
      value = vector::FromElementsOp::create(builder, loc, VectorType::get(perWord, element), values.slice(i, perWord));
    words.push_back(value.getType() == word ? value : LLVM::BitcastOp::create(builder, loc, word, value));
  }
  return words;
}

SmallVector<Value> weft::gpu::unpackWords(OpBuilder &builder, Location loc, ValueRange words, Type element,
                                          unsigned count) {
  SmallVector<Value> values;
  unsigned perWord = count / words.size();
  for (Value word : words) {
    Type type = perWord > 1 ? Type(VectorType::get(perWord, element)) : element;
    Value value = word.getType() == type ? word : LLVM::BitcastOp::create(builder, loc, type, word);
    if (perWord == 1)
      values.push_back(value);
    for (int64_t i = 0; perWord > 1 && i < perWord; ++i)
      values.push_back(vector::ExtractOp::create(builder, loc, value, i));
  }
  return values;
}

Value weft::gpu::offsetPointer(OpBuilder &builder, Location loc, Value base, Value index, unsigned bytes) {
  if (!index)
    return base;
  Value offset = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), index);
  return LLVM::GEPOp::create(builder, loc, base.getType(), builder.getIntegerType(bytes * 8), base, ValueRange(offset));
}

SmallVector<Value> weft::gpu::emitAsm(OpBuilder &builder, Location loc, TypeRange results, ValueRange operands,
                                      StringRef text, StringRef constraints, bool hasSideEffects) {
  SmallVector<Type> types;
  if (results.size() > 1)
    types.push_back(LLVM::LLVMStructType::getLiteral(builder.getContext(), SmallVector<Type>(results)));
  else
    types.append(results.begin(), results.end());
  auto op = LLVM::InlineAsmOp::create(builder, loc, types, operands, text, constraints, hasSideEffects,
                                      /*is_align_stack=*/false, LLVM::TailCallKind::None, LLVM::AsmDialectAttr(),
                                      ArrayAttr());
  if (results.size() <= 1)
    return SmallVector<Value>(op->getResults());
  SmallVector<Value> values;
  for (int64_t i = 0; i < int64_t(results.size()); ++i)
    values.push_back(LLVM::ExtractValueOp::create(builder, loc, op->getResult(0), i));
  return values;
}

//===-- Global memory ---------------------------------------------------------------------------------------------===//

/// Of words of a type: its asm constraint, and the suffix of an access of `count` of them.
static StringRef getConstraint(Type word) {
  unsigned bits = word.getIntOrFloatBitWidth();
  return bits == 64 ? "l" : bits == 32 ? "r" : "h";
}
static std::string getSuffix(Type word, unsigned count) {
  std::string vector = count == 1 ? "" : ".v" + std::to_string(count);
  return vector + ".b" + std::to_string(word.getIntOrFloatBitWidth());
}

/// "{$3, $4}", or "$3".
static std::string listOperands(unsigned first, unsigned count) {
  std::string list = count == 1 ? "" : "{";
  for (unsigned i = 0; i < count; ++i)
    list += (i ? ", $" : "$") + std::to_string(first + i);
  return list + (count == 1 ? "" : "}");
}

static std::string getAddress(unsigned operand, int64_t byteOffset) {
  std::string address = "[$" + std::to_string(operand);
  if (byteOffset)
    address += "+" + std::to_string(byteOffset); // ptxas reads [x+-8], not [x-8].
  return address + "]";
}

/// 8-bit words travel in 16-bit registers.
static Value widenByte(OpBuilder &builder, Location loc, Value word) {
  return word.getType().isInteger(8) ? Value(arith::ExtUIOp::create(builder, loc, builder.getI16Type(), word)) : word;
}

static SmallVector<Value> emitPredicatedLoad(OpBuilder &builder, Location loc, Value base, int64_t byteOffset,
                                             ArrayRef<Value> fills, Value predicate, const LoadOptions &options) {
  unsigned count = fills.size();
  Type word = fills[0].getType();
  SmallVector<Value> operands;
  std::string constraints;
  for (Value fill : fills) {
    operands.push_back(widenByte(builder, loc, fill));
    constraints += ("=" + getConstraint(word) + ",").str();
  }
  SmallVector<Type> types(count, operands[0].getType());
  for (unsigned i = 0; i < count; ++i)
    constraints += std::to_string(i) + ",";
  constraints += "l,b";
  operands.append({base, predicate});
  std::string text = "@$" + std::to_string(2 * count + 1) + " ld.global" + (options.isReadOnly ? ".nc" : "") +
                     getSuffix(word, count) + " " + listOperands(0, count) + ", " + getAddress(2 * count, byteOffset) +
                     ";";
  SmallVector<Value> words = emitAsm(builder, loc, types, operands, text, constraints, !options.isReadOnly);
  for (Value &value : words)
    if (value.getType() != word)
      value = arith::TruncIOp::create(builder, loc, word, value);
  return words;
}

SmallVector<Value> weft::gpu::emitGlobalLoad(OpBuilder &builder, Location loc, Value base, int64_t byteOffset,
                                             Type element, unsigned count, const Predicate &predicate, Value fill,
                                             const LoadOptions &options) {
  if (predicate.isFalse())
    return SmallVector<Value>(count, fill);
  if (predicate.isTrue()) {
    Value pointer = base;
    if (byteOffset)
      pointer = LLVM::GEPOp::create(
          builder, loc, base.getType(), builder.getI8Type(), base,
          ValueRange(LLVM::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(byteOffset))));
    Type type = count > 1 ? Type(VectorType::get(count, element)) : element;
    auto load = LLVM::LoadOp::create(builder, loc, type, pointer, count * element.getIntOrFloatBitWidth() / 8,
                                     /*isVolatile=*/false, /*isNonTemporal=*/false, options.isReadOnly);
    SmallVector<Value> values;
    if (count == 1)
      return {load};
    for (int64_t i = 0; i < count; ++i)
      values.push_back(vector::ExtractOp::create(builder, loc, load, i));
    return values;
  }
  SmallVector<Value> fills = packWords(builder, loc, SmallVector<Value>(count, fill));
  SmallVector<Value> words = emitPredicatedLoad(builder, loc, base, byteOffset, fills, predicate.value, options);
  return unpackWords(builder, loc, words, element, count);
}

void weft::gpu::emitGlobalStore(OpBuilder &builder, Location loc, Value base, int64_t byteOffset, ValueRange values,
                                const Predicate &predicate) {
  if (predicate.isFalse())
    return;
  SmallVector<Value> words = packWords(builder, loc, values);
  unsigned count = words.size();
  Type word = words[0].getType();
  SmallVector<Value> operands;
  std::string constraints, guard;
  for (Value value : words) {
    operands.push_back(widenByte(builder, loc, value));
    constraints += (getConstraint(word) + ",").str();
  }
  operands.push_back(base);
  constraints += "l,";
  if (!predicate.isTrue()) {
    operands.push_back(predicate.value);
    constraints += "b,";
    guard = "@$" + std::to_string(count + 1) + " ";
  }
  std::string text = guard + "st.global" + getSuffix(word, count) + " " + getAddress(count, byteOffset) + ", " +
                     listOperands(0, count) + ";";
  emitAsm(builder, loc, {}, operands, text, constraints + "~{memory}", /*hasSideEffects=*/true);
}

//===-- Shared memory ---------------------------------------------------------------------------------------------===//

static Value getSharedAddress(OpBuilder &builder, Location loc, Value base, int64_t byteOffset) {
  if (!byteOffset)
    return base;
  return LLVM::GEPOp::create(builder, loc, base.getType(), builder.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{int32_t(byteOffset)});
}

SmallVector<Value> weft::gpu::emitSharedLoad(OpBuilder &builder, Location loc, Value base, int64_t byteOffset,
                                             Type element, unsigned count) {
  bool isBit = element.isInteger(1);
  Type stored = isBit ? builder.getI8Type() : element;
  Type type = count > 1 ? Type(VectorType::get(count, stored)) : stored;
  Value vector = LLVM::LoadOp::create(builder, loc, type, getSharedAddress(builder, loc, base, byteOffset),
                                      count * stored.getIntOrFloatBitWidth() / 8);
  SmallVector<Value> values;
  for (int64_t i = 0; i < count; ++i) {
    Value value = count > 1 ? Value(vector::ExtractOp::create(builder, loc, vector, i)) : vector;
    values.push_back(isBit ? Value(arith::TruncIOp::create(builder, loc, element, value)) : value);
  }
  return values;
}

void weft::gpu::emitSharedStore(OpBuilder &builder, Location loc, Value base, int64_t byteOffset, ValueRange values) {
  SmallVector<Value> stored(values);
  for (Value &value : stored)
    if (value.getType().isInteger(1))
      value = arith::ExtUIOp::create(builder, loc, builder.getI8Type(), value);
  Type element = stored[0].getType();
  Value vector = stored[0];
  if (stored.size() > 1)
    vector = vector::FromElementsOp::create(builder, loc, VectorType::get(stored.size(), element), stored);
  LLVM::StoreOp::create(builder, loc, vector, getSharedAddress(builder, loc, base, byteOffset),
                        stored.size() * element.getIntOrFloatBitWidth() / 8);
}

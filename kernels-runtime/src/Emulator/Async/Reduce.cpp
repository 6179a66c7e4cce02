// The reductions of bulk and tensor copies.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function for integers of each width and one for floats, over 64-bit carriers: the loop is not hot.
#include "Emulator/Async/Reduce.h"

#include "Emulator/Numerics/FloatFormat.h"

#include <cmath>
#include <cstring>

namespace weft::emu {
namespace {

constexpr std::string_view kNames[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};

bool isFloatType(ReduceType type) { return type <= ReduceType::F64; }

uint64_t reduceInteger(ReduceOp op, uint64_t old, uint64_t value, bool isLess) {
  switch (op) {
  case ReduceOp::Add:
    return old + value;
  case ReduceOp::Min:
    return isLess ? value : old;
  case ReduceOp::Max:
    return isLess ? old : value;
  case ReduceOp::Inc:
    return old >= value ? 0 : old + 1;
  case ReduceOp::Dec:
    return old == 0 || old > value ? value : old - 1;
  case ReduceOp::And:
    return old & value;
  case ReduceOp::Or:
    return old | value;
  case ReduceOp::Xor:
    return old ^ value;
  }
  return old;
}

/// Sums of f16 and bf16 are exact in double; min and max are fmin and fmax with -0 below +0.
double reduceFloat(ReduceOp op, double old, double value) {
  if (op == ReduceOp::Add)
    return old + value;
  if (old == value)
    return std::signbit(old) == (op == ReduceOp::Min) ? old : value;
  return op == ReduceOp::Min ? std::fmin(old, value) : std::fmax(old, value);
}

uint64_t reduceOne(ReduceOp op, ReduceType type, uint64_t old, uint64_t value) {
  switch (type) {
  case ReduceType::F16:
  case ReduceType::BF16:
  case ReduceType::F32: {
    const FloatFormat &format = type == ReduceType::F16 ? kF16 : type == ReduceType::BF16 ? kBF16 : kF32;
    if (op == ReduceOp::Add && type == ReduceType::F32) {
      float sum = bitCast<float>(uint32_t(old)) + bitCast<float>(uint32_t(value));
      return sum != sum ? kNanF32 : bitCast<uint32_t>(sum);
    }
    return encode(format, reduceFloat(op, decode(format, uint32_t(old)), decode(format, uint32_t(value))),
                  Rounding::NearestEven);
  }
  case ReduceType::F64:
    return bitCast<uint64_t>(reduceFloat(op, bitCast<double>(old), bitCast<double>(value)));
  case ReduceType::S32:
    return reduceInteger(op, old, value, int32_t(value) < int32_t(old));
  case ReduceType::S64:
    return reduceInteger(op, old, value, int64_t(value) < int64_t(old));
  case ReduceType::U32:
  case ReduceType::U64:
    return reduceInteger(op, old, value, value < old);
  }
  return old;
}

} // namespace

bool parseReduceOp(std::string_view word, ReduceOp &op) {
  for (unsigned i = 0; i < sizeof(kNames) / sizeof(kNames[0]); ++i)
    if (kNames[i] == word) {
      op = ReduceOp(i);
      return true;
    }
  return false;
}

std::string_view name(ReduceOp op) { return kNames[unsigned(op)]; }

unsigned elementSize(ReduceType type) {
  static const uint8_t sizes[] = {2, 2, 4, 8, 4, 4, 8, 8};
  return sizes[unsigned(type)];
}

bool reduceTypeOf(TensorMapType type, ReduceType &reduceType) {
  switch (type) {
  case TensorMapType::UInt8:
  case TensorMapType::UInt16:
    return false;
  case TensorMapType::UInt32:
    reduceType = ReduceType::U32;
    return true;
  case TensorMapType::Int32:
    reduceType = ReduceType::S32;
    return true;
  case TensorMapType::UInt64:
    reduceType = ReduceType::U64;
    return true;
  case TensorMapType::Int64:
    reduceType = ReduceType::S64;
    return true;
  case TensorMapType::Float16:
    reduceType = ReduceType::F16;
    return true;
  case TensorMapType::BFloat16:
    reduceType = ReduceType::BF16;
    return true;
  case TensorMapType::Float64:
    reduceType = ReduceType::F64;
    return true;
  case TensorMapType::Float32:
  case TensorMapType::Float32Ftz:
  case TensorMapType::TFloat32:
  case TensorMapType::TFloat32Ftz:
    reduceType = ReduceType::F32;
    return true;
  }
  return false;
}

bool isReducible(ReduceOp op, ReduceType type) {
  switch (op) {
  case ReduceOp::Add:
    return type != ReduceType::S64;
  case ReduceOp::Min:
  case ReduceOp::Max:
    return type != ReduceType::F32 && type != ReduceType::F64;
  case ReduceOp::Inc:
  case ReduceOp::Dec:
    return type == ReduceType::U32;
  default:
    return !isFloatType(type);
  }
}

void reduceElements(ReduceOp op, ReduceType type, uint8_t *destination, const uint8_t *source, size_t bytes) {
  unsigned size = elementSize(type);
  for (size_t i = 0; i + size <= bytes; i += size) {
    uint64_t old = 0, value = 0;
    std::memcpy(&old, destination + i, size);
    std::memcpy(&value, source + i, size);
    uint64_t result = reduceOne(op, type, old, value);
    std::memcpy(destination + i, &result, size);
  }
}

} // namespace weft::emu

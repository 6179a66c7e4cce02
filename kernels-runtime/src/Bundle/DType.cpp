// Facts about element types.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of element types.
#include "weft/Bundle/DType.h"

using namespace weft::bundle;

namespace {
enum class Class { Float, Signed, Unsigned };
struct Row {
  DType dtype;
  const char *name;
  unsigned bits;
  Class kind;
};
} // namespace

static constexpr Row table[] = {
    {DType::F64, "f64", 64, Class::Float},
    {DType::F32, "f32", 32, Class::Float},
    {DType::F16, "f16", 16, Class::Float},
    {DType::BF16, "bf16", 16, Class::Float},
    {DType::F8E4M3FN, "f8e4m3fn", 8, Class::Float},
    {DType::F8E4M3FNUZ, "f8e4m3fnuz", 8, Class::Float},
    {DType::F8E5M2, "f8e5m2", 8, Class::Float},
    {DType::F8E5M2FNUZ, "f8e5m2fnuz", 8, Class::Float},
    {DType::F8E8M0FNU, "f8e8m0fnu", 8, Class::Float},
    {DType::F4E2M1FN, "f4e2m1fn", 4, Class::Float},
    {DType::I64, "i64", 64, Class::Signed},
    {DType::I32, "i32", 32, Class::Signed},
    {DType::I16, "i16", 16, Class::Signed},
    {DType::I8, "i8", 8, Class::Signed},
    {DType::I4, "i4", 4, Class::Signed},
    {DType::I2, "i2", 2, Class::Signed},
    {DType::UI64, "ui64", 64, Class::Unsigned},
    {DType::UI32, "ui32", 32, Class::Unsigned},
    {DType::UI16, "ui16", 16, Class::Unsigned},
    {DType::UI8, "ui8", 8, Class::Unsigned},
    {DType::UI4, "ui4", 4, Class::Unsigned},
    {DType::UI2, "ui2", 2, Class::Unsigned},
    {DType::I1, "i1", 8, Class::Unsigned},
};

static const Row *find(DType dtype) {
  for (const Row &row : table)
    if (row.dtype == dtype)
      return &row;
  return nullptr;
}

unsigned weft::bundle::getBits(DType dtype) {
  const Row *row = find(dtype);
  return row ? row->bits : 0;
}

const char *weft::bundle::getName(DType dtype) {
  const Row *row = find(dtype);
  return row ? row->name : "?";
}

bool weft::bundle::parseDType(std::string_view name, DType &dtype) {
  for (const Row &row : table)
    if (name == row.name) {
      dtype = row.dtype;
      return true;
    }
  return false;
}

bool weft::bundle::isLoadable(DType dtype) {
  const Row *row = find(dtype);
  return row && row->kind != Class::Float && row->bits >= 8;
}

bool weft::bundle::isFloat(DType dtype) {
  const Row *row = find(dtype);
  return row && row->kind == Class::Float;
}

bool weft::bundle::isUnsigned(DType dtype) {
  const Row *row = find(dtype);
  return row && row->kind == Class::Unsigned;
}

bool weft::bundle::isReducible(DType dtype) {
  switch (dtype) {
  case DType::F64:
  case DType::F32:
  case DType::F16:
  case DType::BF16:
  case DType::I64:
  case DType::I32:
  case DType::I8:
  case DType::UI64:
  case DType::UI32:
  case DType::UI8:
    return true;
  default:
    return false;
  }
}

bool weft::bundle::getByteSize(DType dtype, int64_t count, int64_t &bytes) {
  int64_t bits;
  if (count < 0 || __builtin_mul_overflow(count, int64_t(getBits(dtype)), &bits) ||
      __builtin_add_overflow(bits, 7, &bits))
    return false;
  bytes = bits / 8;
  return true;
}

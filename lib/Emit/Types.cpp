// Element types and constants in the forms of the bundle.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Types.h"
#include "mlir/IR/BuiltinTypes.h"
#include "weft/Dialect/TileGraph/IR/Shapes.h"

using namespace mlir;
using weft::bundle::DType;

namespace weft::emit {

static std::optional<DType> getIntegerDType(IntegerType type) {
  bool isUnsigned = type.isUnsigned();
  switch (type.getWidth()) {
  case 1:
    return isUnsigned ? std::nullopt : std::optional(DType::I1);
  case 2:
    return isUnsigned ? DType::UI2 : DType::I2;
  case 4:
    return isUnsigned ? DType::UI4 : DType::I4;
  case 8:
    return isUnsigned ? DType::UI8 : DType::I8;
  case 16:
    return isUnsigned ? DType::UI16 : DType::I16;
  case 32:
    return isUnsigned ? DType::UI32 : DType::I32;
  case 64:
    return isUnsigned ? DType::UI64 : DType::I64;
  default:
    return std::nullopt;
  }
}

std::optional<DType> getDType(Type element) {
  if (auto integer = dyn_cast<IntegerType>(element))
    return getIntegerDType(integer);
  if (element.isF64())
    return DType::F64;
  if (element.isF32())
    return DType::F32;
  if (element.isF16())
    return DType::F16;
  if (element.isBF16())
    return DType::BF16;
  if (isa<Float8E4M3FNType>(element))
    return DType::F8E4M3FN;
  if (isa<Float8E4M3FNUZType>(element))
    return DType::F8E4M3FNUZ;
  if (isa<Float8E5M2Type>(element))
    return DType::F8E5M2;
  if (isa<Float8E5M2FNUZType>(element))
    return DType::F8E5M2FNUZ;
  if (isa<Float8E8M0FNUType>(element))
    return DType::F8E8M0FNU;
  if (isa<Float4E2M1FNType>(element))
    return DType::F4E2M1FN;
  return std::nullopt;
}

std::string getBytes(DenseElementsAttr elements) {
  int64_t bits = tg::getElementBits(elements.getElementType()), count = elements.getNumElements();
  std::string bytes(llvm::divideCeil(count * bits, 8), '\0');
  auto put = [&, i = int64_t(0)](const APInt &value) mutable {
    uint64_t raw = value.getZExtValue();
    if (bits < 8)
      bytes[i * bits / 8] |= char(raw << (i * bits % 8));
    else
      std::memcpy(&bytes[i * bits / 8], &raw, bits / 8);
    ++i;
  };
  if (isa<FloatType>(elements.getElementType()))
    for (APFloat value : elements.getValues<APFloat>())
      put(value.bitcastToAPInt());
  else
    for (const APInt &value : elements.getValues<APInt>())
      put(value);
  return bytes;
}

} // namespace weft::emit

// Extended-precision integer arithmetic.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// add.cc, addc, sub.cc, subc, mad.cc and madc: the carry of each thread is a bit of Warp::carry. For subtraction it is
// the borrow.
#ifndef WEFT_EMULATOR_OPS_INTEGERCARRY_H
#define WEFT_EMULATOR_OPS_INTEGERCARRY_H

#include "Emulator/Exec/Binder.h"

namespace weft::emu {

extern const Family kIntegerArithmeticFamily;

namespace carry_flag {
enum : uint64_t {
  In = 1,       ///< The carry is added.
  Out = 2,      ///< The carry is set.
  Subtract = 4, ///< a - b
  High = 8,     ///< mad: the upper half of the product.
};
} // namespace carry_flag

/// After the modifiers up to .cc: the type and the operands.
void bindCarryAdd(Binder &b, uint64_t flags);
void bindCarryMad(Binder &b, uint64_t flags);

void bindAddc(Binder &b);
void bindSubc(Binder &b);
void bindMadc(Binder &b);

} // namespace weft::emu

#endif // WEFT_EMULATOR_OPS_INTEGERCARRY_H

// One instruction over many operand values.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs an instruction in a kernel, each thread with other operands (edge values against each other, then random ones),
// once plainly and once under a guard, and compares every result with an oracle in C++.
#ifndef WEFT_TEST_EMULATOR_OPERANDSWEEP_H
#define WEFT_TEST_EMULATOR_OPERANDSWEEP_H

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace weft::emu::test {

/// Operands and results of one thread; of a register narrower than 64 bits, the low bits. Predicates are 0 or 1.
struct Values {
  uint64_t a = 0, b = 0, c = 0, e = 0;
  uint64_t d = 0, p = 0, q = 0;
};

/// Where operand values come from beyond edge and random ones.
enum class Flavour : uint8_t {
  Any,
  SmallC, ///< b, c and e are mostly small: shifts, positions, lengths.
};

struct Form {
  /// Statements with the registers d, a, b, c, e (of the widths below) and the predicates p, q (results), r (operand).
  std::string text;
  /// Bits of d, a, b, c, e: 16, 32 or 64; 1 for a predicate (which is called r, of the low bit of the value); 0: none.
  unsigned d = 32, a = 32, b = 32, c = 32, e = 0;
  /// Sets d, p and q of the values. False: PTX leaves the result open; such operands are not used.
  std::function<bool(Values &)> oracle;
  Flavour flavour = Flavour::Any;
};

/// A signed view of the low `bits` bits.
inline int64_t signExtend(uint64_t value, unsigned bits) { return int64_t(value << (64 - bits)) >> (64 - bits); }
inline uint64_t lowBits(uint64_t value, unsigned bits) {
  return bits == 64 ? value : value & ((uint64_t(1) << bits) - 1);
}

void sweep(const Form &form);

} // namespace weft::emu::test

#endif // WEFT_TEST_EMULATOR_OPERANDSWEEP_H

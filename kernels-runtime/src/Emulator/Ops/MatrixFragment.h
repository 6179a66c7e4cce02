// Which lane holds which part of a matrix.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fragments of mma.sync, and of wgmma for A in registers and D, from the figures of the PTX ISA as formulas. In
// terms of registers they do not depend on the element type: a register of A or B holds neighbours along K. With
// g = lane / 4 and t = lane % 4:
//
//   A    register r: row g + 8 (r % h), word t + 4 (r / h) of that row, h = 1 for M = 8 and 2 for M = 16
//   B    register r: column g, word t + 4 r of that column
//   C, D register r of 32-bit (or, on f64, 64-bit) elements: row g + 8 (r / 2), column 2 t + r % 2
//        register r of f16 pairs: row g + 8 r, columns 2 t and 2 t + 1
//
// A word is 32 bits along K (64 of f64). wgmma: warp w of the four has rows 16 w and up; A as above; D has the pattern
// of mma's D (two or four registers) repeated every 8 columns.
#ifndef WEFT_EMULATOR_OPS_MATRIXFRAGMENT_H
#define WEFT_EMULATOR_OPS_MATRIXFRAGMENT_H

namespace weft::emu {

struct FragmentPlace {
  unsigned row;  ///< B: column.
  unsigned word; ///< C and D: the first column.
};

inline FragmentPlace placeOfA(unsigned lane, unsigned reg, unsigned rows) {
  unsigned halves = rows > 8 ? 2 : 1;
  return {lane / 4 + 8 * (reg % halves), lane % 4 + 4 * (reg / halves)};
}

inline FragmentPlace placeOfB(unsigned lane, unsigned reg) { return {lane / 4, lane % 4 + 4 * reg}; }

/// `isPacked`: registers of two f16.
inline FragmentPlace placeOfD(unsigned lane, unsigned reg, bool isPacked) {
  if (isPacked)
    return {lane / 4 + 8 * (reg % 2), 8 * (reg / 2) + 2 * (lane % 4)};
  return {lane / 4 + 8 * (reg / 2 % 2), 8 * (reg / 4) + 2 * (lane % 4) + reg % 2};
}

} // namespace weft::emu

#endif // WEFT_EMULATOR_OPS_MATRIXFRAGMENT_H

// One instruction on many operands.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes a kernel in which every thread loads its operands, executes a few instructions and stores its results, runs it
// through the harness, and returns the results. In the text of the instructions %a, %b, %c are the operands and %d, %e
// the results; %p and %q are predicates, %t0 to %t3 32-bit, %h0 and %h1 16-bit and %w0 and %w1 64-bit scratch
// registers.
#ifndef WEFT_TEST_EMULATOR_LANEKERNEL_H
#define WEFT_TEST_EMULATOR_LANEKERNEL_H

#include "KernelHarness.h"

#include <cstdint>
#include <string>
#include <vector>

namespace weft::emu::test {

/// Values of an operand or result, one per thread, in the low bits.
using Lanes = std::vector<uint64_t>;

struct LaneKernel {
  std::string body;            ///< "add.rn.f32 %d, %a, %b;"
  std::vector<unsigned> in;    ///< Bytes of %a, %b, %c: 2, 4 or 8.
  std::vector<unsigned> out;   ///< Bytes of %d, %e.
  std::string version = "8.0"; ///< .version
  Tolerance tolerance = {};    ///< Of the results on a GPU.
};

/// The PTX of a kernel "lanes" with a pointer to each operand and result, blocks of 64 threads, one thread per element.
std::string ptxOf(const LaneKernel &kernel);

/// Runs it; operands must be of one length, a multiple of 64. Fails the test (and returns zeros) when it cannot run.
std::vector<Lanes> runLanes(const LaneKernel &kernel, const std::vector<Lanes> &operands);

/// The error with which a kernel is refused at load; "" when it is not.
std::string refusalOf(const LaneKernel &kernel);

/// Operands of a floating-point type of 2 (f16, or bf16 if `isBfloat`), 4 or 8 bytes: every pair (or triple) of special
/// values, then random ones; of `count` operands, as many elements each, padded to a multiple of 64.
std::vector<Lanes> floatOperands(unsigned bytes, bool isBfloat, unsigned count, unsigned random = 512);

} // namespace weft::emu::test

#endif // WEFT_TEST_EMULATOR_LANEKERNEL_H

// wgmma as a queued operation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands from registers and shared memory to dense tiles, the product of Numerics/, and back. With w the warp in its
// group and l the lane, accumulator i of D is row 16 w + l / 4 + 8 (i / 2 % 2), column 8 (i / 4) + 2 (l % 4) + i % 2
// (f16: two accumulators to a register), and register j of A is row 16 w + l / 4 + 8 (j % 2), bytes 16 (j / 2) + 4 (l %
// 4) to + 3.
#include "Emulator/Async/WgmmaOp.h"

#include "Emulator/Async/AsyncMemory.h"
#include "Emulator/Async/MatrixDescriptor.h"

#include <cstring>

namespace weft::emu {
namespace {

constexpr unsigned kRows = 64;
constexpr unsigned kRowBytes = 32; ///< Of K.

const uint32_t *registerLanes(const WgmmaOp::Part &part, Slot slot) {
  const std::byte *base = slot & kConstantSlot ? const_cast<FunctionCode *>(part.activation->code)->constants.data()
                                               : part.activation->registers;
  return reinterpret_cast<const uint32_t *>(base + (slot & ~kConstantSlot));
}

/// Calls body(accumulator register, lane, shift in it, index in the dense matrix) for each element of D of warp `w`.
template <typename Body> void forAccumulators(const WgmmaForm &form, unsigned w, Body &&body) {
  unsigned perRegister = form.options.isHalfAccumulator ? 2 : 1, columns = form.shape.columns;
  for (unsigned i = 0; i < form.accumulators * perRegister; ++i)
    for (unsigned lane = 0; lane < 32; ++lane) {
      unsigned row = 16 * w + lane / 4 + 8 * (i / 2 % 2), column = 8 * (i / 4) + 2 * (lane % 4) + i % 2;
      body(i / perRegister, lane, 16 * (i % perRegister), row * columns + column);
    }
}

} // namespace

bool WgmmaOp::hasFrames(Machine &machine) const {
  for (const Part &part : parts) {
    bool isAlive = false;
    for (const Split &split : part.warp->splits)
      for (const Activation *frame = split.activation; frame; frame = frame->caller)
        isAlive |= frame == part.activation;
    if (!isAlive) {
      machine.find("wgmma-unfinished", *part.warp, *part.step, 32, 0,
                   "the function ended before wgmma.wait_group: the registers of this wgmma are gone");
      return false;
    }
  }
  return true;
}

bool WgmmaOp::gather(Machine &machine, uint64_t descriptor, bool isMnMajor, uint32_t extent, uint8_t *dense) {
  MatrixDescriptor matrix = decodeMatrixDescriptor(descriptor, isMnMajor);
  std::vector<uint32_t> addresses;
  chunkAddresses(matrix, extent, addresses);
  AsyncPieces read(machine, *this, AccessKind::AsyncRead, MemorySpace::Shared, 16);
  uint32_t rank = cta->rank << kSharedRankShift;
  for (uint32_t address : addresses)
    if (!read.add(rank | address))
      return false;
  if (!read.flush())
    return false;
  std::vector<uint8_t> chunks(addresses.size() * 16);
  for (size_t i = 0; i < addresses.size(); ++i)
    std::memcpy(&chunks[i * 16], read[i], 16);
  arrangeChunks(matrix, extent, chunks.data(), dense);
  return true;
}

void WgmmaOp::gatherRegisters(uint8_t *dense) const {
  for (unsigned w = 0; w < 4; ++w)
    for (unsigned j = 0; j < 4; ++j) {
      const uint32_t *lanes = registerLanes(parts[w], parts[w].step->slots[form().a + j]);
      for (unsigned lane = 0; lane < 32; ++lane) {
        unsigned row = 16 * w + lane / 4 + 8 * (j % 2);
        std::memcpy(dense + row * kRowBytes + 16 * (j / 2) + 4 * (lane % 4), lanes + lane, 4);
      }
    }
}

bool WgmmaOp::perform(Machine &machine) {
  const WgmmaForm &form = this->form();
  unsigned columns = form.shape.columns;
  uint8_t a[kRows * kRowBytes], b[256 * kRowBytes];
  if (!hasFrames(machine))
    return true;
  if (form.hasRegisterA)
    gatherRegisters(a);
  else if (!gather(machine, parts[0].a, form.isMajorM, kRows, a))
    return false;
  if (!gather(machine, parts[0].b, form.isMajorN, columns, b))
    return false;

  std::vector<uint32_t> d(size_t(kRows) * columns);
  bool addsToD = parts[0].addsToD;
  for (unsigned w = 0; addsToD && w < 4; ++w)
    forAccumulators(form, w, [&](unsigned reg, unsigned lane, unsigned shift, unsigned index) {
      uint32_t bits = registerLanes(parts[w], parts[w].step->slots[reg])[lane];
      d[index] = form.options.isHalfAccumulator ? bits >> shift & 0xffff : bits;
    });
  if (form.isBits) {
    uint32_t aWords[kRows * kRowBytes / 4], bWords[256 * kRowBytes / 4];
    std::memcpy(aWords, a, sizeof(a));
    std::memcpy(bWords, b, size_t(columns) * kRowBytes);
    multiplyMatricesB1(kRows, columns, 256, false, aWords, bWords, d.data());
  } else {
    MatrixOptions options = form.options;
    options.startsAtZero = !addsToD;
    MatrixModel model = matrixModel(machine.card.smVersion, MatrixUnit::Wgmma, form.shape.a, options.isHalfAccumulator,
                                    form.shape.depth);
    multiplyMatrices(model, form.shape, options, a, b, d.data());
  }
  for (unsigned w = 0; w < 4; ++w)
    forAccumulators(form, w, [&](unsigned reg, unsigned lane, unsigned shift, unsigned index) {
      uint32_t &bits = const_cast<uint32_t *>(registerLanes(parts[w], parts[w].step->slots[reg]))[lane];
      bits = form.options.isHalfAccumulator ? (bits & ~(0xffffu << shift)) | d[index] << shift : d[index];
    });
  return true;
}

} // namespace weft::emu

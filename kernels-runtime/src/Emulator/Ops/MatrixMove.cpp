// ldmatrix, stmatrix, movmatrix.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 8x8 matrices of 16-bit elements between shared memory and the fragments of a warp. Lane 8 i + j has the address of
// row j of matrix i, 16 bytes; lane l holds, in its register i, the elements 2 (l % 4) and 2 (l % 4) + 1 of row l / 4
// of matrix i, or with .trans of column l / 4. One access of 8 lanes per matrix is what the hardware does as well.

#include "Emulator/Exec/Binder.h"
#include "Emulator/Exec/Machine.h"
#include "Emulator/Exec/Warp.h"
#include "Emulator/Ops/MatrixCommon.h"
#include "Emulator/Ops/MemoryQualifiers.h"

#include <cstring>

using namespace weft::emu;

namespace {

struct MovePayload {
  AddressRef address;
  MemorySpace space = MemorySpace::Shared;
  uint8_t count = 1; ///< Matrices.
  uint8_t firstRegister = 0;
  bool isTransposed = false;
  bool isStore = false;
};

/// The 16-bit elements of a matrix by row and column.
using Matrix = uint16_t[8][8];

} // namespace

static void toLanes(const Matrix &matrix, bool isTransposed, uint32_t *lanes) {
  for (unsigned lane = 0; lane < 32; ++lane) {
    unsigned row = lane / 4, column = lane % 4 * 2;
    lanes[lane] = isTransposed ? matrix[column][row] | uint32_t(matrix[column + 1][row]) << 16
                               : matrix[row][column] | uint32_t(matrix[row][column + 1]) << 16;
  }
}

static void fromLanes(const uint32_t *lanes, bool isTransposed, Matrix &matrix) {
  for (unsigned lane = 0; lane < 32; ++lane) {
    unsigned row = lane / 4, column = lane % 4 * 2;
    uint16_t low = uint16_t(lanes[lane]), high = uint16_t(lanes[lane] >> 16);
    (isTransposed ? matrix[column][row] : matrix[row][column]) = low;
    (isTransposed ? matrix[column + 1][row] : matrix[row][column + 1]) = high;
  }
}

static Outcome runMove(Warp &warp, const Step &step, LaneMask mask) {
  Outcome outcome = Outcome::Next;
  if (!isWholeWarp(warp, step, mask, outcome))
    return outcome;
  const auto &payload = *static_cast<const MovePayload *>(step.payload);
  Access access;
  access.kind = payload.isStore ? AccessKind::Store : AccessKind::Load;
  access.space = payload.space;
  access.bytes = 16;
  access.mask = payload.count == 4 ? kAllLanes : (LaneMask(1) << (8 * payload.count)) - 1;
  access.warp = &warp;
  access.step = &step;
  computeAddresses(warp, step, payload.address, access.mask, access.addresses);
  if (payload.space == MemorySpace::Generic) {
    LaneMask members = 0;
    MemorySpace space = warp.machine->splitGeneric(access, access.mask, members);
    if (members != access.mask || (space != MemorySpace::Shared && space != MemorySpace::SharedCluster))
      return warp.machine->fault(warp, step, 32, "the addresses must point into shared memory");
  }
  if (!warp.machine->resolve(access))
    return Outcome::Fault;
  for (unsigned i = 0; i < payload.count; ++i) {
    Matrix matrix;
    uint32_t *lanes = warp.lanes<uint32_t>(step.slots[payload.firstRegister + i]);
    if (payload.isStore)
      fromLanes(lanes, payload.isTransposed, matrix);
    for (unsigned row = 0; row < 8; ++row) {
      std::byte *host = access.host[8 * i + row];
      if (payload.isStore)
        std::memcpy(host, matrix[row], 16);
      else
        std::memcpy(matrix[row], host, 16);
    }
    if (!payload.isStore)
      toLanes(matrix, payload.isTransposed, lanes);
  }
  return Outcome::Next;
}

static Outcome runTranspose(Warp &warp, const Step &step, LaneMask mask) {
  Outcome outcome = Outcome::Next;
  if (!isWholeWarp(warp, step, mask, outcome))
    return outcome;
  Matrix matrix;
  fromLanes(warp.lanes<uint32_t>(step.slots[1]), false, matrix);
  toLanes(matrix, true, warp.lanes<uint32_t>(step.slots[0]));
  return Outcome::Next;
}

/// sync.aligned, shape, count, .trans, space, type.
static MovePayload *bindForm(Binder &b) {
  b.expect("sync");
  b.expect("aligned");
  auto *payload = b.payload<MovePayload>();
  if (b.peek() != "m8n8") // .m16n16, .m8n16, .m16n8 of 8 bits and less
    b.requireSm(100, true);
  b.expect("m8n8");
  constexpr uint8_t counts[] = {1, 2, 4};
  payload->count = counts[b.expectOneOf({"x1", "x2", "x4"})];
  payload->isTransposed = b.accept("trans");
  bool isShared = b.acceptOneOf({"shared", "shared::cta"}) >= 0;
  payload->space = isShared ? MemorySpace::Shared : MemorySpace::Generic;
  b.expect("b16");
  b.operands(2);
  return payload;
}

static void bindLdmatrix(Binder &b) {
  MovePayload *payload = bindForm(b);
  for (const auto &element : b.elements(0, payload->count))
    b.def(element, Type::B32);
  payload->address = bindSpaceAddress(b, 1, payload->space);
  b.run(runMove);
}

static void bindStmatrix(Binder &b) {
  b.requireSm(90);
  b.requireVersion(7, 8);
  MovePayload *payload = bindForm(b);
  payload->isStore = true;
  payload->address = bindSpaceAddress(b, 0, payload->space);
  payload->firstRegister = payload->address.hasRegister ? 1 : 0;
  for (const auto &element : b.elements(1, payload->count))
    b.use(element, Type::B32);
  b.run(runMove);
}

static void bindMovmatrix(Binder &b) {
  b.requireSm(75);
  b.requireVersion(7, 8);
  for (std::string_view word : {"sync", "aligned", "m8n8", "trans", "b16"})
    b.expect(word);
  b.operands(2);
  b.def(0, Type::B32);
  b.use(1, Type::B32);
  b.run(runTranspose);
}

static const FamilyRow kRows[] = {
    {"ldmatrix", {}, bindLdmatrix}, {"movmatrix", {}, bindMovmatrix}, {"stmatrix", {}, bindStmatrix}};

namespace weft::emu {
extern const Family kMatrixMoveFamily;
const Family kMatrixMoveFamily = {"matrix moves", kRows, sizeof kRows / sizeof *kRows};
} // namespace weft::emu

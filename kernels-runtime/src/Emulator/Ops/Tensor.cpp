// Tensor copies, reductions and prefetches.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cp.async.bulk.tensor of 1 to 5 dimensions in tile and im2col mode, its reductions and prefetch, and
// prefetch.tensormap.
#include "Emulator/Async/AddressOperand.h"
#include "Emulator/Async/CopyOps.h"
#include "Emulator/Async/TensorMapMemory.h"

using namespace weft;
using namespace weft::emu;

namespace {

constexpr uint8_t kNone = 255;

struct TensorPayload {
  AddressOperand map, shared, mbarrier;
  uint8_t rank = 0;
  bool isLoad = false, isPrefetch = false, isReduction = false, isIm2col = false;
  bool hasOffsets = false;
  ReduceOp reduceOp = ReduceOp::Add;
  uint8_t coordinates[kMaxTensorMapRank] = {};
  uint8_t offsets[kMaxTensorMapRank - 2] = {};
  uint8_t ctaMask = kNone;
};

/// The map of a lane's operation, fit for it. False: fault.
bool decodeMap(Warp &warp, const Step &step, unsigned lane, const TensorPayload &payload, TensorMapSpec &map) {
  uint8_t bytes[kTensorMapBytes];
  if (!readMapBytes(warp, step, lane, MemorySpace::Generic, payload.map.at(warp, step, lane), kTensorMapAlignment,
                    bytes))
    return false;
  Error error = decodeTensorMap(bytes, map);
  if (!error && map.rank != payload.rank)
    error = bundle::makeError(bundle::ErrorCode::Input, "the tensor map has rank %u, the instruction %u", map.rank,
                              unsigned(payload.rank));
  if (!error && map.isIm2col != payload.isIm2col)
    error = bundle::makeError(bundle::ErrorCode::Input, "the tensor map is %s, the instruction is not",
                              map.isIm2col ? "im2col" : "tiled");
  if (!error)
    return true;
  warp.machine->fault(warp, step, lane, "%s", error.getMessage().c_str());
  return false;
}

/// Coordinates and offsets of a lane. False: fault.
bool placeBox(Warp &warp, const Step &step, unsigned lane, const TensorMapSpec &map, int32_t *coordinates,
              uint16_t *offsets) {
  const auto &payload = *static_cast<const TensorPayload *>(step.payload);
  for (unsigned i = 0; i < payload.rank; ++i)
    coordinates[i] = warp.lanes<int32_t>(step.slots[payload.coordinates[i]])[lane];
  for (unsigned i = 0; payload.hasOffsets && i + 2 < payload.rank; ++i)
    offsets[i] = warp.lanes<uint16_t>(step.slots[payload.offsets[i]])[lane];
  Error error = checkCoordinates(map, coordinates, !payload.isLoad && !payload.isPrefetch);
  if (!error)
    return true;
  warp.machine->fault(warp, step, lane, "%s", error.getMessage().c_str());
  return false;
}

Outcome prefetch(Warp &warp, const Step &step, unsigned lane, const TensorMapSpec &map) {
  auto op = std::make_shared<PrefetchOp>();
  op->warp = &warp, op->cta = warp.cta, op->step = &step, op->lanes = LaneMask(1) << lane;
  op->isTensor = true;
  op->map = map;
  if (!placeBox(warp, step, lane, map, op->coordinates, op->offsets))
    return Outcome::Fault;
  return warp.machine->issue(op) ? Outcome::Next : Outcome::Fault;
}

Outcome runLane(Warp &warp, const Step &step, unsigned lane) {
  const auto &payload = *static_cast<const TensorPayload *>(step.payload);
  Machine &machine = *warp.machine;
  TensorMapSpec map;
  if (!decodeMap(warp, step, lane, payload, map))
    return Outcome::Fault;
  if (payload.isPrefetch)
    return prefetch(warp, step, lane, map);
  auto op = std::make_shared<TensorCopyOp>();
  op->warp = &warp, op->cta = warp.cta, op->step = &step, op->lanes = LaneMask(1) << lane;
  op->map = map;
  op->isLoad = payload.isLoad;
  op->isReduction = payload.isReduction;
  op->reduceOp = payload.reduceOp;
  if (payload.isReduction && (!reduceTypeOf(map.type, op->reduceType) || !isReducible(op->reduceOp, op->reduceType)))
    return machine.fault(warp, step, lane, "there is no .%s on the elements of this tensor map (data type %u)",
                         std::string(emu::name(payload.reduceOp)).c_str(), unsigned(map.type));
  if (!placeBox(warp, step, lane, map, op->coordinates, op->offsets))
    return Outcome::Fault;
  op->shared = uint32_t(payload.shared.at(warp, step, lane));
  if (op->shared % 128)
    return machine.fault(warp, step, lane, "expected a box in shared memory at a multiple of 128, got 0x%x",
                         op->shared);
  if (payload.isLoad) {
    op->completion = {true, uint32_t(payload.mbarrier.at(warp, step, lane))};
    op->isMulticast = payload.ctaMask != kNone;
    if (op->isMulticast)
      op->ctaMask = warp.lanes<uint16_t>(step.slots[payload.ctaMask])[lane];
  } else {
    WarpAsync::of(warp).bulk.add(op);
  }
  return machine.issue(op) ? Outcome::Next : Outcome::Fault;
}

Outcome runTensor(Warp &warp, const Step &step, LaneMask mask) {
  for (; mask; mask &= mask - 1)
    if (Outcome outcome = runLane(warp, step, unsigned(__builtin_ctz(mask))); outcome != Outcome::Next)
      return outcome;
  return Outcome::Next;
}

Outcome runPrefetchMap(Warp &, const Step &, LaneMask) { return Outcome::Next; }

//===--------------------------------------------------------------------------------------------------------------===//
// Binding
//===--------------------------------------------------------------------------------------------------------------===//

void bindDimension(Binder &b, TensorPayload &payload) {
  payload.rank = uint8_t(b.expectOneOf({"1d", "2d", "3d", "4d", "5d"}) + 1);
  b.requireSm(90);
}

/// {.tile, .im2col, .im2col_no_offs}; `im2col` is the word of this direction.
void bindMode(Binder &b, TensorPayload &payload, const char *im2col) {
  if (b.accept(im2col)) {
    payload.isIm2col = true;
    payload.hasOffsets = payload.isLoad || payload.isPrefetch;
    if (payload.rank < 3)
      b.fail("expected 3 to 5 dimensions for .%s", im2col);
  } else if (b.peek().substr(0, 6) == "tile::" || b.peek().substr(0, 8) == "im2col::") {
    b.fail(".%s is not of sm_90", std::string(b.peek()).c_str());
  } else {
    b.accept("tile");
  }
}

/// [map, {coordinates}]
void bindMap(Binder &b, TensorPayload &payload, const ptx::Operand &operand) {
  if (operand.kind != ptx::OperandKind::TensorAddress || b.children(operand).size() < 2) {
    b.fail("expected a tensor map with coordinates, [map, {c0, ...}]");
    return;
  }
  payload.map = bindAddress(b, operand, MemorySpace::Generic);
  const ptx::Operand &list = b.children(operand)[1];
  ptx::Span<ptx::Operand> coordinates =
      list.kind == ptx::OperandKind::Vector ? b.children(list) : ptx::Span<ptx::Operand>{&list, 1};
  if (coordinates.size() != payload.rank) {
    b.fail("expected %u coordinates, got %zu", unsigned(payload.rank), coordinates.size());
    return;
  }
  for (unsigned i = 0; i < payload.rank; ++i)
    payload.coordinates[i] = uint8_t(b.use(coordinates[i], Type::B32));
}

void bindOffsets(Binder &b, TensorPayload &payload, unsigned i) {
  ptx::Span<ptx::Operand> offsets = b.elements(i, payload.rank - 2u);
  for (unsigned k = 0; k < offsets.size(); ++k)
    payload.offsets[k] = uint8_t(b.use(offsets[k], Type::B16));
}

void bindLoad(Binder &b, TensorPayload &payload) {
  payload.isLoad = true;
  bindMode(b, payload, "im2col");
  b.expect("mbarrier::complete_tx::bytes");
  bool isMulticast = b.accept("multicast::cluster");
  bool hasHint = acceptCacheHint(b);
  unsigned next = 3;
  b.operands(next + payload.hasOffsets + isMulticast + hasHint);
  payload.shared = bindAddress(b, b.operand(0), MemorySpace::SharedCluster);
  bindMap(b, payload, b.operand(1));
  payload.mbarrier = bindAddress(b, b.operand(2), MemorySpace::SharedCluster);
  if (payload.hasOffsets)
    bindOffsets(b, payload, next++);
  if (isMulticast)
    payload.ctaMask = uint8_t(b.use(next++, Type::B16));
  if (hasHint)
    b.use(next, Type::B64);
}

void bindStore(Binder &b, TensorPayload &payload) {
  bindMode(b, payload, "im2col_no_offs");
  b.expect("bulk_group");
  bool hasHint = acceptCacheHint(b);
  b.operands(hasHint ? 3 : 2);
  bindMap(b, payload, b.operand(0));
  payload.shared = bindAddress(b, b.operand(1), MemorySpace::Shared);
  if (hasHint)
    b.use(2, Type::B64);
}

void bindCopy(Binder &b) {
  TensorPayload &payload = *b.payload<TensorPayload>();
  bindDimension(b, payload);
  unsigned to = b.expectOneOf({"shared::cluster", "shared::cta", "global"});
  if (to == 1)
    b.requireVersion(8, 6);
  b.expect(to == 2 ? "shared::cta" : "global");
  if (to == 2)
    bindStore(b, payload);
  else
    bindLoad(b, payload);
  b.run(runTensor);
}

void bindReduce(Binder &b) {
  TensorPayload &payload = *b.payload<TensorPayload>();
  payload.isReduction = true;
  bindDimension(b, payload);
  b.expect("global");
  b.expect("shared::cta");
  if (!parseReduceOp(b.peek(), payload.reduceOp))
    b.fail("expected .add, .min, .max, .inc, .dec, .and, .or or .xor");
  else
    b.expect(b.peek());
  bindStore(b, payload);
  b.run(runTensor);
}

void bindPrefetch(Binder &b) {
  TensorPayload &payload = *b.payload<TensorPayload>();
  payload.isPrefetch = true;
  bindDimension(b, payload);
  b.expect("L2");
  b.expect("global");
  bindMode(b, payload, "im2col");
  bool hasHint = acceptCacheHint(b);
  unsigned next = 1;
  b.operands(next + payload.hasOffsets + hasHint);
  bindMap(b, payload, b.operand(0));
  if (payload.hasOffsets)
    bindOffsets(b, payload, next++);
  if (hasHint)
    b.use(next, Type::B64);
  b.run(runTensor);
}

/// prefetch{.param,.const}.tensormap [a]: a hint.
void bindPrefetchMap(Binder &b) {
  b.operands(1);
  b.requireSm(90);
  b.address(0);
  b.run(runPrefetchMap);
}

constexpr FamilyRow kRows[] = {
    {"cp.async.bulk.tensor", {}, bindCopy},
    {"cp.reduce.async.bulk.tensor", {}, bindReduce},
    {"cp.async.bulk.prefetch.tensor", {}, bindPrefetch},
    {"prefetch.tensormap", {}, bindPrefetchMap},
    {"prefetch.param.tensormap", {}, bindPrefetchMap},
    {"prefetch.const.tensormap", {}, bindPrefetchMap},
};

} // namespace

namespace weft::emu {
extern const Family kTensorFamily;
const Family kTensorFamily = {"tensor", kRows, sizeof(kRows) / sizeof(kRows[0])};
} // namespace weft::emu

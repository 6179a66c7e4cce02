// Numbers of threads, coordinates of registers, barriers, shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Thread.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace weft;
using namespace weft::gpu;

static Value makeIndex(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Thread weft::gpu::getThread(OpBuilder &builder, Location loc, const Role &role) {
  Value tid = NVVM::ThreadIdXOp::create(builder, loc, builder.getI32Type());
  Value id = arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), tid);
  if (role.firstWarp)
    id = arith::SubIOp::create(builder, loc, id, makeIndex(builder, loc, role.firstWarp * 32));
  Value lane = arith::AndIOp::create(builder, loc, id, makeIndex(builder, loc, 31));
  Value warp = arith::ShRUIOp::create(builder, loc, id, makeIndex(builder, loc, 5));
  return {id, lane, warp};
}

void weft::gpu::emitBarrier(OpBuilder &builder, Location loc, const Role &role) {
  if (role.warps == 1) {
    Value all = LLVM::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(-1));
    NVVM::SyncWarpOp::create(builder, loc, all);
    return;
  }
  if (role.number == 0 && !role.isPart) {
    NVVM::Barrier0Op::create(builder, loc);
    return;
  }
  auto constant = [&](int64_t value) {
    return LLVM::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(value));
  };
  NVVM::BarrierOp::create(builder, loc, TypeRange(), constant(role.number), constant(role.warps * 32),
                          NVVM::BarrierReductionAttr(), Value());
}

Value weft::gpu::getSharedPointer(OpBuilder &builder, Location loc, const KernelInfo &info, int64_t offset) {
  auto type = LLVM::LLVMPointerType::get(builder.getContext(), 3);
  LLVM::GlobalOp shared = info.shared; // Its accessors are not const.
  Value base = LLVM::AddressOfOp::create(builder, loc, type, shared.getSymName());
  if (offset == 0)
    return base;
  return LLVM::GEPOp::create(builder, loc, type, builder.getI8Type(), base, ArrayRef<LLVM::GEPArg>{int32_t(offset)});
}

unsigned weft::gpu::countRegisters(const layout::LinearLayout &layout) { return 1u << layout.inBits("register"); }

uint64_t weft::gpu::getRegisterImage(const layout::LinearLayout &layout, unsigned reg) {
  return layout::combine(layout.basesOf("register"), reg);
}

layout::Vectors weft::gpu::getThreadBases(const layout::LinearLayout &layout) {
  layout::Vectors bases = layout.basesOf("lane");
  bases.resize(5);
  for (uint64_t base : layout.basesOf("warp"))
    bases.push_back(base);
  return bases;
}

uint64_t weft::gpu::getReplicatedBits(const layout::LinearLayout &layout, int64_t warps) {
  layout::Vectors bases = getThreadBases(layout);
  bases.resize(5 + llvm::Log2_64_Ceil(warps));
  uint64_t bits = 0;
  for (auto [i, base] : llvm::enumerate(bases))
    if (base == 0)
      bits |= uint64_t(1) << i;
  return bits;
}

Predicate weft::gpu::isFirstHolder(OpBuilder &builder, Location loc, const Thread &thread, uint64_t replicatedBits) {
  if (!replicatedBits)
    return {};
  Value mask = arith::ConstantIndexOp::create(builder, loc, replicatedBits);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value bits = arith::AndIOp::create(builder, loc, thread.id, mask);
  return {arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, bits, zero), false, false};
}

//===-- TileIndices -----------------------------------------------------------------------------------------------===//

TileIndices::TileIndices(OpBuilder &builder, Location loc, const layout::LinearLayout &layout, const Role &role,
                         ValueRange symbolValues, ArrayRef<SymbolFacts> facts, ArrayRef<ValueRange> indices)
    : builder(builder), loc(loc), layout(layout), forms(builder, loc), thread(gpu::getThread(builder, loc, role)),
      threadBits(5 + llvm::Log2_64_Ceil(role.warps)), indices(indices) {
  for (unsigned dim = 0; dim < layout.outs().size(); ++dim)
    coordinates.push_back(makeCoordinate(dim));
  for (auto [i, symbol] : llvm::enumerate(symbolValues)) {
    SymbolFacts known = i < facts.size() ? facts[i] : SymbolFacts();
    symbols.push_back(known.bounds.min == known.bounds.max ? IndexArithmetic::constant(known.bounds.min)
                                                           : forms.get(symbol, known.bounds, known.depth));
  }
}

/// Bits [first, first + count) of the thread's number.
Value TileIndices::extractBits(unsigned first, unsigned count) {
  if (first == 0 && count == 5 && threadBits > 5)
    return thread.lane;
  Value value = thread.id;
  if (first == 5)
    value = thread.warp;
  else if (first)
    value = arith::ShRUIOp::create(builder, loc, value, makeIndex(builder, loc, first));
  if (first + count < threadBits)
    value = arith::AndIOp::create(builder, loc, value, makeIndex(builder, loc, (int64_t(1) << count) - 1));
  return value;
}

TileIndices::Coordinate TileIndices::makeCoordinate(unsigned dim) {
  unsigned shift = 0;
  for (unsigned i = 0; i < dim; ++i)
    shift += layout.outs()[i].bits;
  uint64_t mask = (uint64_t(1) << layout.outs()[dim].bits) - 1, seen = 0, shared = 0;
  auto part = [&](uint64_t image) { return (image >> shift) & mask; };
  for (uint64_t base : layout.basesOf("register"))
    seen |= part(base);
  layout::Vectors bases = getThreadBases(layout);
  for (uint64_t &base : bases) {
    base = part(base);
    shared |= seen & base;
    seen |= base;
  }
  // Bits of the index that one bit of the thread's number decides alone are summands; the others are joined by XOR.
  auto isPlain = [&](uint64_t base) { return llvm::popcount(base) == 1 && !(base & shared); };
  Coordinate result;
  for (uint64_t base : bases)
    if (base && !isPlain(base))
      result.mixed |= base;
  result.unit = result.mixed & -result.mixed;
  for (unsigned bit = 0; bit < bases.size(); ++bit) {
    if (!bases[bit])
      continue;
    unsigned count = 1;
    while (isPlain(bases[bit]) && bit + count < bases.size() && bases[bit + count] == bases[bit] << count &&
           isPlain(bases[bit + count]))
      ++count;
    Value field = extractBits(bit, count);
    if (isPlain(bases[bit])) {
      Bounds bounds{0, (int64_t(1) << count) - 1};
      result.plain = forms.add(result.plain, forms.scale(forms.get(field, bounds), bases[bit]));
    } else {
      Value term = arith::MulIOp::create(builder, loc, field, makeIndex(builder, loc, bases[bit] / result.unit));
      Value &value = result.values[0];
      value = value ? arith::XOrIOp::create(builder, loc, value, term) : term;
    }
    bit += count - 1;
  }
  return result;
}

LinearForm TileIndices::getCoordinate(Coordinate &coordinate, uint64_t place) {
  LinearForm form = coordinate.plain;
  form.constant += place & ~coordinate.mixed;
  if (!coordinate.mixed)
    return form;
  uint64_t crossed = (place & coordinate.mixed) / coordinate.unit;
  Value &value = coordinate.values[crossed];
  if (!value)
    value = arith::XOrIOp::create(builder, loc, coordinate.values[0], forms.materializeConstant(crossed));
  Bounds bounds{0, int64_t(coordinate.mixed / coordinate.unit)};
  return forms.add(form, forms.scale(forms.get(value, bounds), coordinate.unit));
}

SmallVector<LinearForm> TileIndices::getDims(unsigned reg) {
  SmallVector<LinearForm> dims;
  layout::Index place = layout.unflattenOut(getRegisterImage(layout, reg));
  for (auto [i, coordinate] : llvm::enumerate(coordinates))
    dims.push_back(getCoordinate(coordinate, place[i]));
  for (ValueRange tile : indices) {
    Value value = tile[reg];
    if (!value.getType().isIndex())
      value = forms.toIndex(value);
    dims.push_back(forms.get(value));
  }
  return dims;
}

// Tiles of registers in shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "SharedTile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace weft;
using namespace weft::gpu;

SharedTile::SharedTile(OpBuilder &builder, Location loc, Value base, const layout::LinearLayout &offsets,
                       const Role &role, unsigned elementBits)
    : builder(builder), loc(loc), base(base), offsets(offsets), role(role), bytes(std::max(elementBits / 8, 1u)) {}

SmallVector<SharedTile::Access> SharedTile::makeAccesses(TileIndices &indices) {
  SmallVector<LinearForm> forms;
  for (unsigned reg = 0; reg < countRegisters(offsets); ++reg)
    forms.push_back(indices.getDims(reg).front());
  SmallVector<Predicate> predicates(forms.size());
  DenseMap<Value, Value> pointers;
  SmallVector<Access> accesses;
  for (AccessVector &vector : groupRegisters(forms, predicates, bytes * 8, equal)) {
    Value offset = indices.arithmetic().materializeTerms(vector.terms);
    Value &pointer = pointers[offset];
    if (!pointer)
      pointer = offsetPointer(builder, loc, base, offset, bytes);
    accesses.push_back({vector.registers, pointer, vector.constant * bytes});
  }
  return accesses;
}

void SharedTile::store(ValueRange values) {
  OpBuilder::InsertionGuard guard(builder);
  TileIndices indices(builder, loc, offsets, role);
  SmallVector<Access> accesses = makeAccesses(indices);
  Predicate isFirst = isFirstHolder(builder, loc, indices.getThread(), getReplicatedBits(offsets, role.warps));
  if (!isFirst.isKnown) {
    auto branch = scf::IfOp::create(builder, loc, isFirst.value, /*withElseRegion=*/false);
    builder.setInsertionPointToStart(branch.thenBlock());
  }
  for (const Access &access : accesses)
    emitSharedStore(builder, loc, access.pointer, access.bytes,
                    llvm::map_to_vector(access.registers, [&](unsigned reg) -> Value { return values[reg]; }));
}

SmallVector<Value> SharedTile::load(Type element) {
  TileIndices indices(builder, loc, offsets, role);
  SmallVector<Value> values(countRegisters(offsets));
  for (const Access &access : makeAccesses(indices)) {
    SmallVector<Value> loaded =
        emitSharedLoad(builder, loc, access.pointer, access.bytes, element, access.registers.size());
    for (auto [reg, value] : llvm::zip(access.registers, loaded))
      values[reg] = value;
  }
  for (unsigned reg = 0; reg < values.size(); ++reg)
    values[reg] = values[equal[reg]];
  return values;
}

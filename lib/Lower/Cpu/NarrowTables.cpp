// A factor's body on vectors, where functions of a few bits are looked up.
//
// What unpacks a weight is a field of a word (x & 15) and a function of that number alone: as a float, less a zero
// point that all have. Of 16 values in a register one instruction takes one for each lane, by its low bits, which are
// the field: in place of a mask, a conversion and a subtraction. The table is the same function of 0, 1, 2..., so
// nothing rounds differently.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Epilogue.h"
#include "MicroKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace weft::cpu {
namespace {

/// A value of the body that depends on one field alone, and how.
struct Narrow {
  arith::AndIOp field; ///< Null: a constant.
  bool isKnown = false;
};

bool isConstant(Value value) { return matchPattern(value, m_Constant()); }

class Tables {
public:
  Tables(ArrayRef<Operation *> slice, RegisterTile tile) : tile(tile) {
    for (Operation *def : slice)
      narrow[def->getResult(0)] = classify(def);
    for (Operation *def : slice) {
      Value result = def->getResult(0);
      bool goesOn = llvm::any_of(def->getUsers(), [&](Operation *user) {
        return user->getNumResults() == 1 && narrow.lookup(user->getResult(0)).field;
      });
      if (narrow.lookup(result).field && result.getType().isF32() && !goesOn)
        roots.insert(def);
    }
  }

  bool isRoot(Operation *def) const { return roots.contains(def); }
  arith::AndIOp fieldOf(Operation *root) const { return narrow.lookup(root->getResult(0)).field; }

  /// The word that the field of `root` is taken out of.
  Value wordOf(Operation *root) const {
    arith::AndIOp field = fieldOf(root);
    return isConstant(field.getRhs()) ? field.getLhs() : field.getRhs();
  }

  /// A register of the root's value for each number that the low bits of a lane may be.
  Value build(OpBuilder &b, Operation *root, ArrayRef<Operation *> slice) const {
    Location loc = root->getLoc();
    int64_t lanes = tile.vectorBits / 32;
    SmallVector<int32_t> numbers = llvm::to_vector(llvm::seq<int32_t>(0, int32_t(lanes)));
    auto words = DenseElementsAttr::get(VectorType::get({lanes}, b.getI32Type()), ArrayRef(numbers));
    IRMapping mapping;
    mapping.map(wordOf(root), arith::ConstantOp::create(b, loc, words).getResult());
    arith::AndIOp field = fieldOf(root);
    for (Operation *def : slice)
      if (narrow.lookup(def->getResult(0)).field == field || isConstant(def->getResult(0)))
        cloneElementwise(b, def, mapping);
    return mapping.lookup(root->getResult(0));
  }

private:
  Narrow classify(Operation *def) const {
    int64_t lanes = tile.vectorBits / 32;
    if (auto field = dyn_cast<arith::AndIOp>(def); field && field.getType().isInteger(32)) {
      APInt mask;
      bool isMask =
          matchPattern(field.getRhs(), m_ConstantInt(&mask)) || matchPattern(field.getLhs(), m_ConstantInt(&mask));
      if (isMask && mask.isMask() && mask.ult(lanes) && tile.vectorBits >= 256)
        return {field, true};
    }
    Narrow found{{}, true};
    for (Value operand : def->getOperands()) {
      if (isConstant(operand))
        continue;
      Narrow other = narrow.lookup(operand);
      if (!other.isKnown || !other.field || (found.field && found.field != other.field))
        return {};
      found.field = other.field;
    }
    return found.field ? found : Narrow();
  }

  RegisterTile tile;
  llvm::SmallDenseMap<Value, Narrow> narrow;
  llvm::SmallPtrSet<Operation *, 2> roots;
};

} // namespace

void cloneFactor(OpBuilder &b, linalg::GenericOp op, Value scalar, RegisterTile tile, IRMapping &mapping) {
  SmallVector<Operation *> slice = bodySlice(op, scalar);
  Tables tables(slice, tile);
  for (Operation *def : slice) {
    auto words =
        tables.isRoot(def) ? dyn_cast<VectorType>(mapping.lookupOrDefault(tables.wordOf(def)).getType()) : VectorType();
    if (!words || words.getNumElements() * 32 != tile.vectorBits) {
      cloneElementwise(b, def, mapping); // What turns out to be looked up is dead.
      continue;
    }
    Value table = tables.build(b, def, slice), word = mapping.lookup(tables.wordOf(def));
    StringRef name = tile.vectorBits == 512 ? "llvm.x86.avx512.permvar.sf.512" : "llvm.x86.avx2.permps";
    mapping.map(def->getResult(0), LLVM::CallIntrinsicOp::create(b, op.getLoc(), table.getType(), b.getStringAttr(name),
                                                                 ValueRange{table, word})
                                       .getResult(0));
  }
}

} // namespace weft::cpu

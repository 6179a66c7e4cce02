// What surrounds a contraction on memory, and its evaluation on vectors of sums.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Epilogue.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

namespace weft::cpu {

/// The memory that `value` is a view of.
static Value rootOf(Value value) {
  while (auto view = value.getDefiningOp<ViewLikeOpInterface>())
    value = view.getViewSource();
  return value;
}

/// Whether `op` does nothing that another op of the block could see.
static bool isQuiet(Operation *op) { return isMemoryEffectFree(op) || isa<memref::AllocOp>(op); }

/// Whether every loop of `op` is parallel and it has one result.
static bool isPointwise(linalg::GenericOp op) {
  return op && op.hasPureBufferSemantics() && op.getNumDpsInits() == 1 && op.getNumReductionLoops() == 0;
}

static bool writesZero(linalg::GenericOp op, Value memory) {
  if (!isPointwise(op) || op.getNumDpsInputs() || op.getDpsInits()[0] != memory ||
      !op.getIndexingMapsArray().back().isPermutation())
    return false;
  Value value = op.getBlock()->getTerminator()->getOperand(0);
  FloatAttr zero;
  return matchPattern(value, m_Zero()) || (matchPattern(value, m_Constant(&zero)) && zero.getValue().isPosZero());
}

static bool hasVectorBody(linalg::GenericOp op) {
  if (!op.getBlock()->getArguments().back().use_empty())
    return false;
  return llvm::all_of(op.getBlock()->without_terminator(), [](Operation &def) {
    return isa<arith::ConstantOp>(def) || (isa<arith::ArithDialect, math::MathDialect>(def.getDialect()) &&
                                           OpTrait::hasElementwiseMappableTraits(&def));
  });
}

/// The number of the only input of `op` that is `sums`, if `op` can take them from registers.
static std::optional<unsigned> findSumInput(linalg::GenericOp op, linalg::GenericOp contraction, Value sums) {
  if (!isPointwise(op) || !hasVectorBody(op))
    return std::nullopt;
  std::optional<unsigned> found;
  Value result = op.getDpsInits()[0];
  for (auto [i, input] : llvm::enumerate(op.getDpsInputs())) {
    // What is stored must not be what another tile still reads.
    auto type = dyn_cast<MemRefType>(input.getType());
    if (!type || type.getElementTypeBitWidth() < 8 || rootOf(input) == rootOf(result))
      return std::nullopt;
    if (input != sums)
      continue;
    if (found || !op.getIndexingMapsArray()[i].isPermutation())
      return std::nullopt;
    found = i;
  }
  for (Value input : contraction.getDpsInputs())
    if (rootOf(input) == rootOf(result))
      return std::nullopt;
  bool isStorable = cast<MemRefType>(result.getType()).getElementTypeBitWidth() >= 8;
  return isStorable && op.getIndexingMapsArray().back().isPermutation() ? found : std::nullopt;
}

Surroundings findSurroundings(linalg::GenericOp contraction) {
  Surroundings around;
  Value sums = contraction.getDpsInits()[0];
  for (Operation *op = contraction->getPrevNode(); op; op = op->getPrevNode()) {
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (generic && writesZero(generic, sums))
      around.zero = generic;
    if (!isQuiet(op))
      break;
  }
  if (!around.zero || !sums.getDefiningOp<memref::AllocOp>())
    return around;
  linalg::GenericOp reader;
  for (Operation *user : sums.getUsers()) {
    auto generic = dyn_cast<linalg::GenericOp>(user);
    if (user == contraction || user == around.zero || isa<memref::DeallocOp>(user))
      continue;
    if (!generic || std::exchange(reader, generic))
      return around;
  }
  if (!reader || reader->getBlock() != contraction->getBlock())
    return around;
  for (Operation *op = contraction->getNextNode(); op != reader; op = op->getNextNode())
    if (!op || !isQuiet(op))
      return around;
  if (std::optional<unsigned> input = findSumInput(reader, contraction, sums)) {
    around.epilogue = reader;
    around.sumInput = *input;
  }
  return around;
}

FailureOr<Epilogue> Epilogue::create(OpBuilder &b, linalg::GenericOp contraction, const Surroundings &around) {
  Epilogue epilogue;
  epilogue.op = around.epilogue;
  epilogue.sumInput = around.sumInput;
  AffineMap read = epilogue.op.getIndexingMapsArray()[around.sumInput];
  AffineMap written = contraction.getIndexingMapsArray().back();
  auto overContraction = [&](OpOperand &operand) -> FailureOr<FlatOperand> {
    FailureOr<FlatOperand> flat = flatten(b, epilogue.op, operand);
    if (failed(flat))
      return failure();
    Value zero = arith::ConstantIndexOp::create(b, contraction.getLoc(), 0);
    SmallVector<Value> coefficients(contraction.getNumLoops(), zero);
    for (auto [from, to] : llvm::zip(read.getResults(), written.getResults()))
      coefficients[cast<AffineDimExpr>(to).getPosition()] = flat->coefficients[cast<AffineDimExpr>(from).getPosition()];
    flat->coefficients = coefficients;
    return flat;
  };
  for (OpOperand *input : epilogue.op.getDpsInputOperands()) {
    FailureOr<FlatOperand> flat = overContraction(*input);
    if (failed(flat))
      return failure();
    epilogue.operands.push_back(*flat);
  }
  FailureOr<FlatOperand> flat = overContraction(*epilogue.op.getDpsInitOperand(0));
  if (failed(flat))
    return failure();
  epilogue.result = *flat;
  return epilogue;
}

void cloneElementwise(OpBuilder &b, Operation *def, IRMapping &mapping) {
  VectorType shape;
  for (Value operand : def->getOperands())
    if (auto type = dyn_cast<VectorType>(mapping.lookupOrDefault(operand).getType()))
      shape = type;
  if (!shape) {
    b.clone(*def, mapping);
    return;
  }
  IRMapping operands = mapping;
  for (Value operand : def->getOperands()) {
    Value value = mapping.lookupOrDefault(operand);
    if (!isa<VectorType>(value.getType()))
      operands.map(operand, vector::BroadcastOp::create(b, def->getLoc(),
                                                        VectorType::get(shape.getShape(), value.getType()), value)
                                .getResult());
  }
  Operation *copy = b.clone(*def, operands);
  for (auto [from, to] : llvm::zip(def->getResults(), copy->getResults())) {
    to.setType(VectorType::get(shape.getShape(), from.getType()));
    mapping.map(from, to);
  }
}

Value Epilogue::apply(OpBuilder &b, Location loc, Value sum, function_ref<Value(unsigned)> load) const {
  IRMapping mapping;
  Block &body = *const_cast<linalg::GenericOp &>(op).getBlock();
  for (unsigned i = 0; i < operands.size(); ++i) {
    BlockArgument argument = body.getArgument(i);
    if (i == sumInput)
      mapping.map(argument, sum);
    else if (!argument.use_empty())
      mapping.map(argument, load(i));
  }
  for (Operation &def : body.without_terminator())
    cloneElementwise(b, &def, mapping);
  Value value = mapping.lookupOrDefault(body.getTerminator()->getOperand(0));
  auto shape = dyn_cast<VectorType>(sum.getType());
  if (shape && !isa<VectorType>(value.getType()))
    value = vector::BroadcastOp::create(b, loc, VectorType::get(shape.getShape(), value.getType()), value);
  return value;
}

/// Erases what `value` is used for and computes nothing of use; whether that was all of its users.
static bool eraseUnused(Value value) {
  llvm::SetVector<Operation *> users(value.user_begin(), value.user_end());
  for (unsigned i = 0; i < users.size(); ++i)
    users.insert(users[i]->user_begin(), users[i]->user_end());
  for (bool changed = true; std::exchange(changed, false);) {
    SmallVector<Operation *> left = llvm::to_vector(users);
    for (Operation *user : llvm::reverse(left))
      if (isa<memref::DeallocOp>(user) || isOpTriviallyDead(user)) {
        users.remove(user);
        user->erase();
        changed = true;
      }
  }
  return value.use_empty();
}

void eraseJoined(const Surroundings &around, Value sums) {
  for (linalg::GenericOp op : {around.zero, around.epilogue})
    if (op)
      op.erase();
  auto alloc = sums.getDefiningOp<memref::AllocOp>();
  if (alloc && eraseUnused(sums))
    alloc.erase();
}

} // namespace weft::cpu

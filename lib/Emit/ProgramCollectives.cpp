// What ranks do together, as commands of the launch program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plan says which collectives run beside kernels, and in which order all is started. Who waits for which follows
// from that: they end in their order, so the first reader of a result waits for it and those before.
#include "ProgramWriter.h"
#include "weft/Dialect/TileGraph/IR/NodeNames.h"

using namespace mlir;
using namespace weft;
using bundle::BufferId;
using bundle::Reg;

namespace weft::emit {

/// What errors call the op: the ONNX node that its value came from.
static std::string nameOf(Operation &op) { return tg::findNodeName(op.getLoc()).str(); }

static bundle::Reduction reductionOf(tg::Monoid kind) {
  switch (kind) {
  case tg::Monoid::Mul:
    return bundle::Reduction::Mul;
  case tg::Monoid::Max:
    return bundle::Reduction::Max;
  case tg::Monoid::Min:
    return bundle::Reduction::Min;
  default:
    return bundle::Reduction::Add;
  }
}

/// The joined tensor that is made of `value`, and the operand's number; null: there is none.
static std::pair<tg::ConcatOp, unsigned> findJoined(Value value) {
  if (!value.hasOneUse())
    return {};
  OpOperand &use = *value.use_begin();
  auto concat = dyn_cast<tg::ConcatOp>(use.getOwner());
  return {concat && concat->hasAttr(tg::joinedAttr) ? concat : tg::ConcatOp(), use.getOperandNumber()};
}

llvm::Expected<bundle::EntryBuilder::Argument> ProgramWriter::placeCollective(Operation &op) {
  Value result = op.getResult(0);
  auto [joined, number] = findJoined(result);
  if (!joined) {
    llvm::Expected<BufferId> target = addTransient(result.getType());
    if (!target)
      return target.takeError();
    buffers[result] = *target;
    return bundle::EntryBuilder::Argument{*target};
  }
  Value whole = joined.getResult();
  if (!buffers.count(whole)) {
    llvm::Expected<BufferId> target = addTransient(whole.getType());
    if (!target)
      return target.takeError();
    buffers[whole] = *target;
  }
  buffers[result] = buffers[whole]; // Which only the joined tensor reads.
  int64_t offset = 0;
  for (Value before : joined.getInputs().take_front(number))
    offset += tg::getByteSize(before.getType()).value_or(0);
  return bundle::EntryBuilder::Argument{buffers[whole], entry.constant(offset)};
}

/// Its operands are collectives' results, one after the other, each of which went to its position.
llvm::Error ProgramWriter::checkJoined(tg::ConcatOp op) const {
  bool isJoined = op.getType().hasStaticShape();
  for (int64_t d = 0; isJoined && d < int64_t(op.getAxis()); ++d)
    isJoined = op.getType().getDimSize(d) == 1;
  for (Value part : op.getInputs()) {
    Operation *maker = part.getDefiningOp();
    isJoined &= maker && tg::isCollective(maker) && !isa<tg::OwnPartOp>(maker) && part.hasOneUse();
  }
  return isJoined
             ? llvm::Error::success()
             : llvm::createStringError("tg.joined: expected a tg.concat along the outermost dimension of results of "
                                       "collectives that nothing else reads, of static extents");
}

void ProgramWriter::awaitCollectives(uint64_t number) {
  if (number <= awaited)
    return;
  entry.await(uint32_t(started - number));
  awaited = number;
}

void ProgramWriter::awaitOperands(Operation &op) {
  if (isa<tg::BindSymbolsOp, tg::LoopOp, tg::IfOp, tg::VariantsOp>(op))
    return awaitCollectives(started);
  for (Value operand : op.getOperands())
    awaitCollectives(besides.lookup(storageOf(operand)));
}

llvm::Error ProgramWriter::addCollective(Operation &op) {
  Value input = op.getOperand(0), result = op.getResult(0);
  llvm::Expected<BufferId> source = bufferOf(input);
  if (!source)
    return source.takeError();
  llvm::Expected<bundle::EntryBuilder::Argument> target = placeCollective(op);
  if (!target)
    return target.takeError();
  // An output has no extents of its own yet: bytes are those of the types.
  auto bytesOf = [&](Value value) {
    int64_t bits = tg::getElementBits(cast<RankedTensorType>(value.getType()).getElementType());
    Reg size = entry.constant(std::max<int64_t>(bits / 8, 1)); // i1 is a byte.
    for (Reg extent : extents(value.getType()))
      size = entry.mul(size, extent);
    return size;
  };
  if (isa<tg::OwnPartOp>(op)) {
    entry.copy({*source, entry.mul(entry.rank(), bytesOf(result))}, *target, bytesOf(result));
    return llvm::Error::success();
  }
  tg::ConcatOp joined = findJoined(result).first;
  auto add = [&](bundle::CollectiveKind kind, bundle::Reduction reduction, int64_t ranks) {
    bool isBeside = op.hasAttr(tg::overlapAttr);
    if (!isBeside && !joined) {
      awaitCollectives(started);
      entry.collective(kind, reduction, *source, bytesOf(input), target->buffer, uint32_t(ranks), nameOf(op));
      return llvm::Error::success();
    }
    if (started - awaited == bundle::kMaxBeside)
      awaitCollectives(awaited + 1);
    entry.collectiveBeside(kind, reduction, *source, bytesOf(input), *target, uint32_t(ranks), nameOf(op));
    besides[joined ? joined.getResult() : result] = ++started;
    if (!isBeside)
      awaitCollectives(started);
    return llvm::Error::success();
  };
  auto first = [](Value value) { return tg::getConstant(tg::getDim(value.getType(), 0)).value_or(0); };
  using Kind = bundle::CollectiveKind;
  if (auto reduce = dyn_cast<tg::AllReduceOp>(op))
    return add(Kind::AllReduce, reductionOf(reduce.getKind()), reduce.getRanks());
  if (auto scatter = dyn_cast<tg::ReduceScatterOp>(op))
    return add(Kind::ReduceScatter, reductionOf(scatter.getKind()), first(input));
  if (isa<tg::AllGatherOp>(op))
    return add(Kind::AllGather, bundle::Reduction::None, first(result));
  return add(Kind::AllToAll, bundle::Reduction::None, first(input));
}

} // namespace weft::emit

// Symbols that are data, loops and branches of the launch program.
//
// Bodies are functions of the program, written where they run. What a loop carries lies in buffers of its own: each
// turn copies there what it returns, after it has read all of them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ProgramWriter.h"
#include "weft/Dialect/TileGraph/IR/NodeNames.h"

using namespace mlir;
using namespace weft;
using bundle::BufferId;
using bundle::Reg;

namespace weft::emit {

llvm::Expected<BufferId> ProgramWriter::bufferOf(Value value) const {
  auto it = buffers.find(storageOf(value));
  if (it != buffers.end())
    return it->second;
  return llvm::createStringError("a value has no buffer where it is used");
}

llvm::Expected<BufferId> ProgramWriter::addTransient(Type type) {
  llvm::Expected<bundle::DType> element = dtype(type);
  return element ? llvm::Expected<BufferId>(entry.addTransient(*element, extents(type))) : element.takeError();
}

void ProgramWriter::copyWhole(BufferId from, BufferId to) {
  if (from != to)
    entry.copy({from}, {to}, entry.getSize(to));
}

/// A buffer that holds what `value` does now.
llvm::Expected<BufferId> ProgramWriter::addCopy(Value value) {
  llvm::Expected<BufferId> source = bufferOf(value);
  if (!source)
    return source;
  llvm::Expected<BufferId> copy = addTransient(value.getType());
  if (copy)
    copyWhole(*source, *copy);
  return copy;
}

llvm::Error ProgramWriter::addBind(tg::BindSymbolsOp op) {
  constexpr int64_t mostExtent = int64_t(1) << 48;
  llvm::Expected<BufferId> values = bufferOf(op.getValues());
  if (!values)
    return values.takeError();
  for (auto [i, symbol] : llvm::enumerate(op.getSymbols())) {
    if (symbol >= int64_t(symbols.size()))
      return llvm::createStringError("symbol %ld does not exist", long(symbol));
    Reg value = entry.load(*values, entry.constant(int64_t(i)));
    entry.assertRange(value, entry.constant(0), entry.constant(mostExtent), op.getMessage().str());
    symbols[symbol] = value;
  }
  return llvm::Error::success();
}

llvm::Expected<std::vector<BufferId>> ProgramWriter::addBody(FlatSymbolRefAttr body, ArrayRef<BufferId> arguments) {
  auto function = program.lookupSymbol<func::FuncOp>(body.getValue());
  if (!function || !function.getBody().hasOneBlock() || function.getNumArguments() != arguments.size())
    return llvm::createStringError("expected a body %s of one block and %u arguments", body.getValue().str().c_str(),
                                   unsigned(arguments.size()));
  for (auto [argument, buffer] : llvm::zip(function.getArguments(), arguments))
    buffers[argument] = buffer;
  if (llvm::Error error = addBlock(function.front()))
    return std::move(error);
  std::vector<BufferId> results;
  for (Value value : function.front().getTerminator()->getOperands()) {
    llvm::Expected<BufferId> buffer = bufferOf(value);
    if (!buffer)
      return buffer.takeError();
    results.push_back(*buffer);
  }
  return results;
}

/// One turn: rows of what is scanned, the body, pieces, and what is carried on.
llvm::Error ProgramWriter::addLoopTurn(tg::LoopOp op, ArrayRef<BufferId> carried, BufferId condition,
                                       ArrayRef<BufferId> collected) {
  Reg turn = entry.turn(), fromEnd = entry.sub(entry.sub(reg(op.getTrips().getResult(0)), entry.constant(1)), turn);
  auto offset = [&](bool isReversed, BufferId row) {
    return entry.mul(isReversed ? fromEnd : turn, entry.getSize(row));
  };
  std::vector<BufferId> arguments(carried.begin(), carried.end());
  for (auto [value, isReversed] : llvm::zip(op.getScanned(), op.getScannedReversed())) {
    llvm::Expected<BufferId> whole = bufferOf(value);
    if (!whole)
      return whole.takeError();
    // Kernels take aligned buffers, which a row inside of one need not be.
    auto row = tg::getTensorType(ArrayRef(tg::getDims(value.getType())).drop_front(),
                                 cast<RankedTensorType>(value.getType()).getElementType());
    llvm::Expected<BufferId> copy = addTransient(row);
    if (!copy)
      return copy.takeError();
    entry.copy({*whole, offset(isReversed, *copy)}, {*copy}, entry.getSize(*copy));
    arguments.push_back(*copy);
  }
  for (Value value : op.getCaptured()) {
    llvm::Expected<BufferId> buffer = bufferOf(value);
    if (!buffer)
      return buffer.takeError();
    arguments.push_back(*buffer);
  }
  llvm::Expected<std::vector<BufferId>> results = addBody(op.getBodyAttr(), arguments);
  if (!results)
    return results.takeError();
  ArrayRef<BufferId> rest(*results);
  // What is carried may be the piece or the condition too, so it is written last; and what one position carries on to
  // another is put aside first.
  if (condition) {
    copyWhole(rest.front(), condition);
    rest = rest.drop_front();
  }
  ArrayRef<BufferId> next = rest.take_front(carried.size());
  Operation *terminator = program.lookupSymbol<func::FuncOp>(op.getBody()).front().getTerminator();
  TypeRange types = TypeRange(terminator->getOperandTypes()).drop_front(condition ? 1 : 0);
  for (auto [i, piece] : llvm::enumerate(rest.drop_front(carried.size()))) {
    llvm::Expected<BufferId> shape = addTransient(types[carried.size() + i]);
    if (!shape)
      return shape.takeError();
    entry.copy({piece}, {collected[i], offset(op.getCollectedReversed()[i], *shape)}, entry.getSize(*shape));
  }
  std::vector<BufferId> sources(next.begin(), next.end());
  for (auto [i, source] : llvm::enumerate(sources))
    if (source != carried[i] && llvm::is_contained(carried, source)) {
      llvm::Expected<BufferId> aside = addTransient(types[i]);
      if (!aside)
        return aside.takeError();
      copyWhole(source, *aside);
      source = *aside;
    }
  for (auto [source, to] : llvm::zip(sources, carried))
    copyWhole(source, to);
  return llvm::Error::success();
}

llvm::Error ProgramWriter::addLoop(tg::LoopOp op) {
  std::vector<BufferId> carried, collected;
  BufferId condition;
  for (Value value : op.getCarried()) {
    llvm::Expected<BufferId> copy = addCopy(value);
    if (!copy)
      return copy.takeError();
    carried.push_back(*copy);
  }
  if (Value value = op.getCondition()) {
    llvm::Expected<BufferId> copy = addCopy(value);
    if (!copy)
      return copy.takeError();
    condition = *copy;
  }
  for (Value value : op.getResults().drop_front(carried.size())) {
    llvm::Expected<BufferId> all = addTransient(value.getType());
    if (!all)
      return all.takeError();
    collected.push_back(*all);
  }
  entry.beginLoop(reg(op.getTrips().getResult(0)), condition, op.getEndless().value_or("").str());
  if (llvm::Error error = addLoopTurn(op, carried, condition, collected))
    return error;
  entry.endLoop();
  llvm::append_range(carried, collected);
  for (auto [value, buffer] : llvm::zip(op.getResults(), carried))
    buffers[value] = buffer;
  return llvm::Error::success();
}

/// Two loops, one of which has one turn.
llvm::Error ProgramWriter::addIf(tg::IfOp op) {
  llvm::Expected<BufferId> condition = bufferOf(op.getCondition());
  if (!condition)
    return condition.takeError();
  Reg holds = entry.load(*condition, entry.constant(0)), fails = entry.sub(entry.constant(1), holds);
  std::vector<BufferId> results;
  for (Value value : op.getResults()) {
    llvm::Expected<BufferId> buffer = addTransient(value.getType());
    if (!buffer)
      return buffer.takeError();
    buffers[value] = *buffer;
    results.push_back(*buffer);
  }
  std::tuple<Reg, FlatSymbolRefAttr, OperandRange> branches[] = {{holds, op.getThenBodyAttr(), op.getThenCaptured()},
                                                                 {fails, op.getElseBodyAttr(), op.getElseCaptured()}};
  for (auto &[turns, body, captured] : branches) {
    std::vector<BufferId> arguments;
    for (Value value : captured) {
      llvm::Expected<BufferId> buffer = bufferOf(value);
      if (!buffer)
        return buffer.takeError();
      arguments.push_back(*buffer);
    }
    entry.beginLoop(turns, {}, {}, /*branch=*/true);
    llvm::Expected<std::vector<BufferId>> given = addBody(body, arguments);
    if (!given)
      return given.takeError();
    for (auto [from, to] : llvm::zip(*given, results))
      copyWhole(from, to);
    entry.endLoop();
  }
  return llvm::Error::success();
}

//===--- Variants ---===//

/// What a variant computes is the program's own outputs, written where they are made.
llvm::Error ProgramWriter::addVariant(tg::VariantsOp op, size_t number, Reg turns) {
  auto name = cast<FlatSymbolRefAttr>(op.getBodies()[number]);
  auto function = program.lookupSymbol<func::FuncOp>(name.getValue());
  if (!function || !function.getBody().hasOneBlock())
    return llvm::createStringError("expected a body %s of one block", name.getValue().str().c_str());
  std::vector<BufferId> arguments;
  for (Value value : op.getArguments()) {
    llvm::Expected<BufferId> buffer = bufferOf(value);
    if (!buffer)
      return buffer.takeError();
    arguments.push_back(*buffer);
  }
  ValueRange returned = function.front().getTerminator()->getOperands();
  for (auto [i, value] : llvm::enumerate(returned))
    if (Value storage = storageOf(value); isStoredByKernel(storage))
      outputOf.try_emplace(storage, unsigned(i));
  entry.beginLoop(turns); // No branch to the builder: sizes and grids are known before the run, so it can be recorded.
  llvm::Expected<std::vector<BufferId>> results = addBody(name, arguments);
  if (!results)
    return results.takeError();
  for (auto [from, to] : llvm::zip(*results, outputs))
    if (from != to)
      entry.copy({from}, {to}, entry.getSize(from));
  entry.endLoop();
  return llvm::Error::success();
}

/// Loops of one turn or none. In a variant the symbol counts as a value of its interval, so that what a variant would
/// need at values that it never runs with takes no memory.
llvm::Error ProgramWriter::addVariants(tg::VariantsOp op) {
  auto *terminator = op->getBlock()->getTerminator();
  if (ValueRange(op.getResults()) != terminator->getOperands())
    return llvm::createStringError("expected variants to make what the program returns");
  for (auto [value, buffer] : llvm::zip(op.getResults(), outputs)) {
    buffers[value] = buffer;
    entry.setExtents(buffer, extents(value.getType())); // Variants copy one to another where both are one value.
  }
  Reg one = entry.constant(1), zero = entry.constant(0), rest = one, value = reg(op.getValue().getResult(0));
  auto symbol = dyn_cast<AffineSymbolExpr>(op.getValue().getResult(0));
  auto atLeast = [&](Reg a, Reg b) { return entry.max(zero, entry.min(one, entry.add(entry.sub(a, b), one))); };
  bodies = op.getBodies().size();
  std::vector<Reg> all = symbols;
  for (size_t i = 0; i <= op.getLow().size(); ++i) {
    Reg turns = rest;
    if (i < op.getLow().size()) {
      Reg low = entry.constant(op.getLow()[i]), high = entry.constant(op.getHigh()[i]);
      turns = entry.mul(atLeast(value, low), atLeast(high, value));
      rest = entry.sub(rest, turns);
      if (symbol && symbol.getPosition() < symbols.size())
        symbols[symbol.getPosition()] = entry.max(low, entry.min(value, high));
    }
    llvm::Error error = addVariant(op, i, turns);
    symbols = all;
    if (error)
      return error;
  }
  return llvm::Error::success();
}

} // namespace weft::emit

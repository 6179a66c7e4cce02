// Checks of order, symbols that are data, loops and branches: verifiers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "weft/Dialect/TileGraph/IR/Program.h"

using namespace mlir;
using namespace weft::tg;

#define GET_OP_CLASSES
#include "weft/Dialect/TileGraph/IR/ProgramOps.cpp.inc"

LogicalResult AssumeAtMostOp::verify() {
  if (getMap().getNumResults() < 2)
    return emitOpError("expected at least 2 results, got ") << getMap().getNumResults();
  if (getMap().getNumDims() != 0)
    return emitOpError("expected a map of symbols only, got ") << getMap().getNumDims() << " dimensions";
  return success();
}

LogicalResult BindSymbolsOp::verify() {
  auto type = cast<RankedTensorType>(getValues().getType());
  auto count = static_cast<int64_t>(getSymbols().size());
  if (!type.hasStaticShape() || type.getNumElements() != count || !type.getElementType().isInteger(64))
    return emitOpError("expected an i64 tensor of ") << count << " elements, got " << type;
  for (int64_t symbol : getSymbols())
    if (symbol < 0)
      return emitOpError("expected numbers of symbols, got ") << symbol;
  return success();
}

/// The type of an element of dimension 0.
static RankedTensorType elementOfFirst(Type type) {
  return getTensorType(ArrayRef(getDims(type)).drop_front(), cast<RankedTensorType>(type).getElementType());
}

LogicalResult LoopOp::verify() {
  if (getTrips().getNumResults() != 1 || getTrips().getNumDims() != 0)
    return emitOpError("expected a map of symbols with one result, got ") << getTripsAttr();
  if (getNumResults() != getCarried().size() + getCollectedReversed().size())
    return emitOpError("expected ") << getCarried().size() + getCollectedReversed().size() << " results, got "
                                    << getNumResults();
  for (auto [value, result] : llvm::zip(getCarried(), getResults()))
    if (value.getType() != result.getType())
      return emitOpError("expected a result of the type of what is carried, got ")
             << result.getType() << " and " << value.getType();
  SmallVector<Type> joined(getScanned().getTypes());
  llvm::append_range(joined, TypeRange(getResultTypes()).drop_front(getCarried().size()));
  for (Type type : joined)
    if (cast<RankedTensorType>(type).getRank() == 0)
      return emitOpError("expected what is scanned and collected to have a dimension");
  if (getScanned().size() != getScannedReversed().size())
    return emitOpError("expected ") << getScanned().size() << " directions, got " << getScannedReversed().size();
  return success();
}

/// Whether `body` is a function from `arguments` to `results`.
static LogicalResult verifyBody(Operation *op, FlatSymbolRefAttr body, ArrayRef<Type> arguments, ArrayRef<Type> results,
                                SymbolTableCollection &symbols) {
  auto function = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(op, body);
  if (!function)
    return op->emitOpError("expected a function ") << body;
  if (ArrayRef<Type>(function.getArgumentTypes()) != arguments)
    return op->emitOpError("expected ") << body << " to take " << arguments << ", got " << function.getArgumentTypes();
  if (ArrayRef<Type>(function.getResultTypes()) != results)
    return op->emitOpError("expected ") << body << " to return " << results << ", got " << function.getResultTypes();
  return success();
}

LogicalResult LoopOp::verifySymbolUses(SymbolTableCollection &symbols) {
  SmallVector<Type> arguments(getCarried().getTypes()), results;
  for (Value value : getScanned())
    arguments.push_back(elementOfFirst(value.getType()));
  llvm::append_range(arguments, getCaptured().getTypes());
  if (getCondition())
    results.push_back(getCondition().getType());
  llvm::append_range(results, getCarried().getTypes());
  for (Value value : getResults().drop_front(getCarried().size()))
    results.push_back(elementOfFirst(value.getType()));
  return verifyBody(*this, getBodyAttr(), arguments, results, symbols);
}

LogicalResult IfOp::verify() {
  auto type = cast<RankedTensorType>(getCondition().getType());
  if (!type.getElementType().isInteger(1) || !type.hasStaticShape() || type.getNumElements() != 1)
    return emitOpError("expected a condition of one i1, got ") << type;
  return success();
}

LogicalResult IfOp::verifySymbolUses(SymbolTableCollection &symbols) {
  SmallVector<Type> results(getResultTypes());
  return success(succeeded(verifyBody(*this, getThenBodyAttr(), SmallVector<Type>(getThenCaptured().getTypes()),
                                      results, symbols)) &&
                 succeeded(verifyBody(*this, getElseBodyAttr(), SmallVector<Type>(getElseCaptured().getTypes()),
                                      results, symbols)));
}

LogicalResult VariantsOp::verify() {
  if (getValue().getNumResults() != 1 || getValue().getNumDims() != 0)
    return emitOpError("expected a map of symbols with one result, got ") << getValueAttr();
  if (getBodies().empty() || getLow().size() + 1 != getBodies().size() || getHigh().size() != getLow().size())
    return emitOpError("expected an interval for each body but the last, got ")
           << getLow().size() << " and " << getHigh().size() << " ends for " << getBodies().size() << " bodies";
  int64_t before = -1;
  for (auto [low, high] : llvm::zip(getLow(), getHigh())) {
    if (low <= before || high < low)
      return emitOpError("expected intervals that rise from 0, got ") << low << " to " << high << " after " << before;
    before = high;
  }
  return success();
}

/// Whether tensors of both types may hold the same elements: a static extent may stand for a symbolic one.
static bool mayBeEqual(Type a, Type b) {
  auto x = dyn_cast<RankedTensorType>(a), y = dyn_cast<RankedTensorType>(b);
  return x && y && x.getElementType() == y.getElementType() && x.getRank() == y.getRank() &&
         llvm::all_of(llvm::zip(x.getShape(), y.getShape()), [](auto pair) {
           auto [m, n] = pair;
           return m == n || ShapedType::isDynamic(m) || ShapedType::isDynamic(n);
         });
}

LogicalResult VariantsOp::verifySymbolUses(SymbolTableCollection &symbols) {
  for (auto body : getBodies().getAsRange<FlatSymbolRefAttr>()) {
    auto function = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(*this, body);
    if (!function)
      return emitOpError("expected a function ") << body;
    SmallVector<Type> own(getArguments().getTypes()), other(function.getArgumentTypes());
    llvm::append_range(own, getResultTypes());
    llvm::append_range(other, function.getResultTypes());
    if (own.size() != other.size() || function.getNumArguments() != getArguments().size() ||
        !llvm::all_of(llvm::zip(own, other),
                      [](auto pair) { return mayBeEqual(std::get<0>(pair), std::get<1>(pair)); }))
      return emitOpError("expected ") << body << " to be of type "
                                      << FunctionType::get(getContext(), getArguments().getTypes(), getResultTypes())
                                      << ", but for static extents, got " << function.getFunctionType();
  }
  return success();
}

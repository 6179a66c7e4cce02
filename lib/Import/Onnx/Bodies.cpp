// Functions for the bodies of loops and branches, and symbols that are data.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GraphImporter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "weft/Dialect/TileGraph/IR/Program.h"
#include "llvm/ADT/MapVector.h"

using namespace weft;
using namespace weft::onnx;
using mlir::failure;
using mlir::FailureOr;
using mlir::Value;

/// Elements that may become symbols at once: the extents of one tensor, or the bounds of one slice.
static constexpr int64_t maxBoundElements = 64;

FailureOr<tg::Dims> NodeContext::runtimeDims(Value value, const llvm::Twine &what) {
  if (!value)
    return failure();
  if (std::optional<tg::Dims> known = shapeContents(value))
    return *known;
  std::optional<int64_t> count = tg::getConstant(tg::getNumElements(value.getType()));
  if (!llvm::isa<mlir::IntegerType, mlir::Float32Type, mlir::Float64Type>(elementType(value)) || !count ||
      *count > maxBoundElements)
    return unsupported(what + " is not known at compile time, and not a tensor of at most " +
                           llvm::Twine(maxBoundElements) + " elements",
                       "if it comes from a graph input, fix that with --bind");
  llvm::SmallVector<int64_t> numbers;
  tg::Dims symbols;
  for (int64_t i = 0; i < *count; ++i) {
    std::string name = (displayName(node) + ":" + what).str();
    symbols.push_back(freshSymbol(*count == 1 ? name : name + std::to_string(i)));
    numbers.push_back(llvm::cast<mlir::AffineSymbolExpr>(symbols.back()).getPosition());
    importer.dataSymbols.insert(static_cast<unsigned>(numbers.back()));
  }
  Value flat = reshape(cast(value, b.getI64Type()), llvm::ArrayRef<int64_t>{*count});
  if (!flat)
    return failure();
  tg::BindSymbolsOp::create(b, flat, numbers,
                            b.getStringAttr("node `" + displayName(node) + "`: " + what + ": expected at least 0"));
  importer.contents.set(value, symbols);
  return symbols;
}

bool NodeContext::isData(mlir::AffineExpr extent) const {
  bool found = false;
  extent.walk([&](mlir::AffineExpr part) {
    auto symbol = llvm::dyn_cast<mlir::AffineSymbolExpr>(part);
    found |= symbol && importer.dataSymbols.contains(symbol.getPosition());
  });
  return found;
}

/// Makes each value from outside that `block` reads an argument, or for constants a copy inside.
static llvm::SmallVector<Value> captureOutside(mlir::Block &block) {
  llvm::MapVector<Value, Value> inside;
  mlir::OpBuilder builder(block.getParentOp()->getContext());
  builder.setInsertionPointToStart(&block);
  llvm::SmallVector<Value> captured;
  for (mlir::Operation &op : block)
    for (mlir::OpOperand &operand : op.getOpOperands()) {
      Value value = operand.get();
      if (value.getParentBlock() == &block)
        continue;
      auto [it, isNew] = inside.try_emplace(value);
      mlir::Operation *def = value.getDefiningOp();
      if (isNew && llvm::isa_and_nonnull<tg::ConstantOp, tg::WeightOp>(def)) {
        it->second = builder.clone(*def)->getResult(0);
      } else if (isNew) {
        it->second = block.addArgument(value.getType(), value.getLoc());
        captured.push_back(value);
      }
      operand.set(it->second);
    }
  return captured;
}

/// Moves ops that read nothing of `block` to the end of `outer`. Symbols that the body binds keep it as it is.
static void hoistInvariants(mlir::Block &block, mlir::Block &outer) {
  if (!block.getOps<tg::BindSymbolsOp>().empty())
    return;
  for (mlir::Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    bool isInvariant =
        op.getNumOperands() > 0 && mlir::isMemoryEffectFree(&op) && llvm::none_of(op.getOperands(), [&](Value operand) {
          mlir::Operation *def = operand.getDefiningOp();
          return operand.getParentBlock() == &block && !llvm::isa_and_nonnull<tg::ConstantOp, tg::WeightOp>(def);
        });
    if (!isInvariant)
      continue;
    for (Value operand : op.getOperands())
      if (operand.getParentBlock() == &block)
        operand.getDefiningOp()->moveBefore(&outer, outer.end());
    op.moveBefore(&outer, outer.end());
  }
}

FailureOr<Body> NodeContext::buildBody(llvm::StringRef name, mlir::TypeRange types, bool hoist, BuildBody build) {
  mlir::OpBuilder::InsertionGuard guard(b);
  mlir::Block *outer = b.getInsertionBlock();
  auto module = outer->getParentOp()->getParentOfType<mlir::ModuleOp>();
  b.setInsertionPointToEnd(module.getBody());
  std::string unique = (name + llvm::Twine(importer.numBodies++)).str();
  auto function = mlir::func::FuncOp::create(b, unique, b.getFunctionType(types, {}));
  function.setPrivate();
  mlir::Block *block = function.addEntryBlock();
  b.setInsertionPointToEnd(block);
  // What a body assumes holds where it runs, and nowhere else.
  auto assumed = importer.assumed;
  auto assumedOrder = importer.assumedOrder;
  size_t symbols = importer.symbols.names().size();
  FailureOr<llvm::SmallVector<Value>> results = build(block->getArguments());
  importer.assumed = std::move(assumed);
  importer.assumedOrder = std::move(assumedOrder);
  if (failed(results) || llvm::is_contained(*results, Value()))
    return failure();
  for (Value result : *results)
    if (failed(checkTensor(result, "a result of the body")))
      return failure();
  for (Value result : *results)
    for (mlir::AffineExpr dim : dims(result)) {
      bool isOwn = false;
      dim.walk([&](mlir::AffineExpr expr) {
        auto symbol = llvm::dyn_cast<mlir::AffineSymbolExpr>(expr);
        isOwn |= symbol && symbol.getPosition() >= symbols;
      });
      if (isOwn)
        return unsupported("a result of the body has an extent that the body computes from data: " +
                           extentsText(dims(result)));
    }
  mlir::func::ReturnOp::create(b, *results);
  if (hoist)
    hoistInvariants(*block, *outer);
  Body body{function, mlir::FlatSymbolRefAttr::get(function), {}, captureOutside(*block)};
  body.results = llvm::to_vector(block->getTerminator()->getOperands());
  function.setFunctionType(b.getFunctionType(block->getArgumentTypes(), mlir::ValueRange(body.results).getTypes()));
  return body;
}

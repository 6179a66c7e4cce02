// weft-lower-check: lowers the tg functions of a file, runs them in a JIT and compares them with the Reference on
// random inputs.
//
// Attributes of a function say how it is checked: `check.symbols` (array of i64 arrays: one run for each, values of the
// symbol arguments), `check.tolerance` (f64, in units in the last place, default 3), `check.floor` (f64, see Check.h).
// Argument attribute `check.values` says what an input holds. Prints a line per failed run and the number of runs;
// exits 1 if one failed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Check.h"
#include "Jit.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Reference/Reference.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
using namespace weft;
using check::Buffer;
using reference::Tensor;

static llvm::cl::opt<std::string> inputFile(llvm::cl::Positional, llvm::cl::desc("<tg functions>"),
                                            llvm::cl::init("-"));
static llvm::cl::opt<uint64_t> seed("seed", llvm::cl::desc("seed of the random inputs"), llvm::cl::init(1));

static constexpr int64_t maxBytes = int64_t(1) << 28;

namespace {
/// A function to check: its tg form without symbol arguments, for the Reference, and what its attributes say.
struct Case {
  func::FuncOp function;
  std::string name;
  SmallVector<SmallVector<int64_t>> symbols;
  double tolerance, floor;
};
} // namespace

/// Drops the symbol arguments, which the Reference takes apart from the inputs.
static void dropIndexArguments(func::FuncOp function) {
  for (unsigned i = function.getNumArguments(); i-- > 0;)
    if (function.getArgument(i).getType().isIndex())
      (void)function.eraseArgument(i);
}

static std::vector<Case> readCases(ModuleOp module) {
  std::vector<Case> cases;
  for (auto function : module.getOps<func::FuncOp>()) {
    Case c{function, function.getName().str(), {}, 3.0, 0.0};
    if (auto attribute = function->getAttrOfType<FloatAttr>("check.tolerance"))
      c.tolerance = attribute.getValueAsDouble();
    if (auto attribute = function->getAttrOfType<FloatAttr>("check.floor"))
      c.floor = attribute.getValueAsDouble();
    if (auto runs = function->getAttrOfType<ArrayAttr>("check.symbols"))
      for (Attribute run : runs)
        c.symbols.push_back(llvm::to_vector(cast<DenseI64ArrayAttr>(run).asArrayRef()));
    else
      c.symbols.emplace_back();
    dropIndexArguments(function);
    cases.push_back(std::move(c));
  }
  return cases;
}

/// The buffer of a tensor as kernels take it: sub-byte elements packed in one dimension.
static Buffer toBuffer(const Tensor &tensor) {
  Buffer buffer;
  if (!tensor.element().isInteger(1) && tensor.element().getIntOrFloatBitWidth() < 8) {
    buffer.bytes = tensor.toPacked();
    buffer.shape = {int64_t(buffer.bytes.size())};
  } else {
    buffer.bytes.assign(tensor.bytes().begin(), tensor.bytes().end());
    buffer.shape.assign(tensor.shape().begin(), tensor.shape().end());
    buffer.elementBytes = tensor.elementBytes();
  }
  // A gather may read one element of an empty tensor.
  buffer.bytes.reserve(64);
  return buffer;
}

static std::optional<Tensor> fromBuffer(const Buffer &buffer, const Tensor &like) {
  bool isPacked = !like.element().isInteger(1) && like.element().getIntOrFloatBitWidth() < 8;
  if (isPacked)
    return Tensor::fromPacked(like.shape(), like.element(), buffer.bytes, maxBytes);
  std::optional<Tensor> tensor = Tensor::create(buffer.shape, like.element(), maxBytes);
  if (tensor && tensor->bytes().size() == buffer.bytes.size())
    llvm::copy(buffer.bytes, tensor->bytes().begin());
  else
    tensor.reset();
  return tensor;
}

static std::optional<Tensor> makeInput(func::FuncOp function, unsigned index, ArrayRef<int64_t> symbols,
                                       std::mt19937_64 &random) {
  Type type = function.getArgumentTypes()[index];
  SmallVector<int64_t> shape;
  for (AffineExpr dim : tg::getDims(type)) {
    std::optional<int64_t> extent = reference::evaluateExpr(dim, {}, symbols);
    if (!extent)
      return std::nullopt;
    shape.push_back(*extent);
  }
  std::optional<Tensor> tensor = Tensor::create(shape, getElementTypeOrSelf(type), maxBytes);
  auto kind = function.getArgAttrOfType<StringAttr>(index, "check.values");
  if (!tensor || !check::fillInput(*tensor, kind ? kind.getValue() : "", random))
    return std::nullopt;
  return tensor;
}

/// Runs a case with one set of symbol values; returns what went wrong, or "".
static std::string runCase(const Case &c, check::Jit &jit, ArrayRef<int64_t> symbols, std::mt19937_64 &random) {
  func::FuncOp function = c.function;
  SmallVector<Tensor> inputs;
  std::vector<Buffer> buffers, outputs;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    std::optional<Tensor> input = makeInput(function, i, symbols, random);
    if (!input)
      return "cannot make input " + std::to_string(i);
    buffers.push_back(toBuffer(*input));
    inputs.push_back(std::move(*input));
  }
  std::string error;
  FailureOr<SmallVector<Tensor>> expected =
      reference::evaluateFunction(cast<FunctionOpInterface>(function.getOperation()), inputs, symbols, {}, &error);
  if (failed(expected))
    return "the reference refused: " + error;
  for (const Tensor &tensor : *expected)
    outputs.push_back(toBuffer(tensor));
  if (llvm::Error failure = jit.call(c.name, buffers, symbols, outputs))
    return llvm::toString(std::move(failure));
  for (auto [i, tensor] : llvm::enumerate(*expected)) {
    std::optional<Tensor> actual = fromBuffer(outputs[i], tensor);
    std::string difference =
        actual ? check::compare(*actual, tensor, c.tolerance, c.floor) : "result has the wrong size";
    if (!difference.empty())
      return "result " + std::to_string(i) + ": " + difference;
  }
  return "";
}

int main(int argc, char **argv) {
  llvm::cl::ParseCommandLineOptions(argc, argv, "checks the lowering of tg functions against the Reference\n");
  DialectRegistry registry;
  check::registerEverything(registry);
  MLIRContext context(registry);
  context.allowUnregisteredDialects();
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(inputFile, &context);
  if (!module)
    return 2;
  OwningOpRef<ModuleOp> lowered = module->clone();
  std::vector<Case> cases = readCases(*module);
  std::unique_ptr<check::Jit> jit = check::Jit::create(*lowered);
  if (!jit)
    return 1;
  unsigned runs = 0, failures = 0;
  for (const Case &c : cases)
    for (ArrayRef<int64_t> symbols : c.symbols) {
      std::mt19937_64 random(seed + runs++);
      std::string problem = runCase(c, *jit, symbols, random);
      if (problem.empty())
        continue;
      ++failures;
      llvm::outs() << c.name << " [";
      llvm::interleaveComma(symbols, llvm::outs());
      llvm::outs() << "]: " << problem << "\n";
    }
  llvm::outs() << runs << " runs, " << failures << " failures\n";
  return failures != 0;
}

// weft-reference: runs a function of a `tg` module in the Reference evaluator, on .npy or random inputs. The oracle of
// tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../common/ToolFlags.h"
#include "Npy.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Reference/Reference.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ToolOutputFile.h"
#include <random>

using namespace llvm;
using mlir::ModuleOp;
using weft::Flag;
using weft::FlagList;
using weft::reference::Tensor;

static weft::FlagSet flags;
static Flag<std::string> modulePath{flags, "", "-", "module.mlir", "The module, - for standard input"};
static Flag<std::string> functionName{flags, "function", "main", "", "Function to run"};
static FlagList inputPaths{flags, "input", FlagList::None, "", "Next input, a .npy file"};
static Flag<unsigned> seed{flags, "random", 0, "", "Random inputs from this seed, in place of --input"};
static Flag<std::string> outputFolder{flags, "output", "", "", "Write result N as output_N.npy in this folder"};
static FlagList symbolValues{flags, "symbol", FlagList::None, "", "Value of a symbol, NAME=VALUE"};
static FlagList sources{flags, "weights", FlagList::None, "", "Weight source NAME=FILE"};
static Flag<std::string> sourceFolder{flags, "weights-dir", "", "",
                                      "Folder of the weight sources that --weights does not name"};
static Flag<int64_t> maxWork{flags, "max-work", weft::reference::Limits().maxWork, "", "Limit of scalar operations"};
static Flag<int64_t> maxTensorBytes{flags, "max-tensor-bytes", weft::reference::Limits().maxTensorBytes, "",
                                    "Limit of the size of a tensor"};

/// Exit codes of all Weft tools: docs/architecture.md.
enum ExitCode { Success = 0, Usage = 2, Invalid = 5 };

static int fail(ExitCode code, const Twine &message) {
  errs() << "weft-reference: error: " << message << "\n";
  return code;
}

/// Values of symbols given on the command line, by position.
static Expected<SmallVector<std::optional<int64_t>>> givenSymbols(ModuleOp module) {
  SmallVector<std::string> names = weft::tg::getSymbolNames(module);
  SmallVector<std::optional<int64_t>> values(names.size());
  for (StringRef text : symbolValues) {
    auto [name, number] = text.split('=');
    int64_t value;
    auto place = find(names, name);
    if (place == names.end() || number.getAsInteger(10, value) || value < 0)
      return createStringError(inconvertibleErrorCode(),
                               "expected --symbol NAME=VALUE of a symbol of the module, got `" + text + "`");
    values[place - names.begin()] = value;
  }
  return values;
}

/// --weights first, then what the module names and --weights-dir has.
static Error loadSources(ModuleOp module) {
  auto &store = module.getContext()->getOrLoadDialect<weft::tg::TileGraphDialect>()->getWeightStore();
  for (StringRef text : sources) {
    auto [name, path] = text.split('=');
    if (Error failure = weft::tg::addFile(store, name, path))
      return failure;
  }
  return sourceFolder.empty() ? Error::success() : weft::tg::addFilesOf(module, sourceFolder);
}

static Expected<SmallVector<Tensor>> readInputs(mlir::func::FuncOp function) {
  SmallVector<Tensor> inputs;
  if (inputPaths.size() != function.getNumArguments())
    return createStringError(inconvertibleErrorCode(), "expected " + Twine(function.getNumArguments()) +
                                                           " inputs, got " + Twine(inputPaths.size()));
  for (auto [i, path] : enumerate(inputPaths)) {
    auto type = i < function.getNumArguments() ? dyn_cast<mlir::RankedTensorType>(function.getArgumentTypes()[i])
                                               : mlir::RankedTensorType();
    if (!type)
      return createStringError(inconvertibleErrorCode(), "expected " + Twine(function.getNumArguments()) +
                                                             " inputs, got " + Twine(inputPaths.size()));
    Expected<Tensor> input = weft::npy::read(path, type.getElementType());
    if (!input)
      return input.takeError();
    inputs.push_back(std::move(*input));
  }
  return inputs;
}

/// Floats in [-1, 1), integers in [0, 8).
static Tensor fillRandom(Tensor tensor, std::mt19937_64 &engine) {
  for (int64_t i = 0; i < tensor.size(); ++i) {
    weft::reference::Scalar value;
    if (tensor.isFloat())
      value.f = double(int64_t(engine() >> 11)) * 0x1p-52 - 1.0;
    else
      value.i = engine() >> 61;
    tensor.store(i, value);
  }
  return tensor;
}

static Expected<SmallVector<Tensor>> randomInputs(mlir::func::FuncOp function, ArrayRef<std::optional<int64_t>> given) {
  std::mt19937_64 engine(seed);
  SmallVector<Tensor> inputs;
  SmallVector<int64_t> symbols;
  for (std::optional<int64_t> value : given)
    symbols.push_back(value.value_or(0));
  for (mlir::Type type : function.getArgumentTypes()) {
    SmallVector<int64_t> shape;
    for (mlir::AffineExpr dim : weft::tg::getDims(type)) {
      bool isBound = true;
      dim.walk([&](mlir::AffineExpr e) {
        auto symbol = dyn_cast<mlir::AffineSymbolExpr>(e);
        isBound &= !symbol || (symbol.getPosition() < given.size() && given[symbol.getPosition()]);
      });
      std::optional<int64_t> extent = weft::reference::evaluateExpr(dim, {}, symbols);
      if (!isBound || !extent)
        return createStringError(inconvertibleErrorCode(), "expected --symbol for the symbols of random inputs");
      shape.push_back(*extent);
    }
    auto tensor = Tensor::create(shape, cast<mlir::RankedTensorType>(type).getElementType(), maxTensorBytes);
    if (!tensor)
      return createStringError(inconvertibleErrorCode(),
                               "expected inputs of at most " + Twine(maxTensorBytes) + " bytes");
    inputs.push_back(fillRandom(std::move(*tensor), engine));
  }
  return inputs;
}

static Error writeResults(ArrayRef<Tensor> results) {
  if (outputFolder.empty()) {
    for (auto [i, result] : enumerate(results))
      outs() << "result " << i << ": " << result.toElements() << "\n";
    return Error::success();
  }
  if (std::error_code code = sys::fs::create_directories(outputFolder))
    return createStringError(code, "`" + outputFolder + "`: " + code.message());
  for (auto [i, result] : enumerate(results)) {
    SmallString<128> path(outputFolder);
    sys::path::append(path, "output_" + Twine(i) + ".npy");
    if (Error failure = weft::npy::write(path, result))
      return failure;
  }
  return Error::success();
}

static int run(ModuleOp module) {
  if (Error failure = loadSources(module))
    return fail(Usage, toString(std::move(failure)));
  auto function = module.lookupSymbol<mlir::func::FuncOp>(functionName);
  if (!function)
    return fail(Usage, "expected a function `" + functionName + "` in the module");
  for (mlir::Type type : function.getArgumentTypes())
    if (!isa<mlir::RankedTensorType>(type))
      return fail(Invalid, "expected tensor arguments");
  auto given = givenSymbols(module);
  if (!given)
    return fail(Usage, toString(given.takeError()));
  auto inputs = seed.getNumOccurrences() ? randomInputs(function, *given) : readInputs(function);
  if (!inputs)
    return fail(Invalid, toString(inputs.takeError()));
  std::string error;
  auto symbols = weft::reference::solveSymbols(function, *inputs, *given, &error);
  if (failed(symbols))
    return fail(Invalid, error);
  weft::reference::Limits limits;
  limits.maxWork = maxWork;
  limits.maxTensorBytes = maxTensorBytes;
  auto results = weft::reference::evaluateFunction(function, *inputs, *symbols, limits, &error);
  if (failed(results))
    return fail(Invalid, error);
  if (Error failure = writeResults(*results))
    return fail(Invalid, toString(std::move(failure)));
  return Success;
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  weft::tools::CommonFlags common(flags);
  if (std::optional<int> code =
          weft::tools::parseFlags(flags, common, argc, argv, "weft-reference", "Weft's reference evaluator"))
    return *code;
  mlir::DialectRegistry registry;
  registry.insert<weft::tg::TileGraphDialect, mlir::func::FuncDialect>();
  mlir::MLIRContext context(registry);
  mlir::ParserConfig config(&context);
  mlir::OwningOpRef<ModuleOp> module = mlir::parseSourceFile<ModuleOp>(modulePath, config);
  return module ? run(*module) : Invalid;
}

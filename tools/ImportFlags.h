// Command-line flags of everything that reads an ONNX model, and their way into ImportOptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_IMPORTFLAGS_H
#define WEFT_TOOLS_IMPORTFLAGS_H

#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Import/Onnx/Import.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"

namespace weft::tools {

namespace cl = llvm::cl;

/// Construct one in `main` before parsing the command line.
struct ImportFlags {
  cl::OptionCategory category{"Import of ONNX models"};
  cl::list<std::string> from{"from", cl::CommaSeparated, cl::cat(category), cl::value_desc("tensor,..."),
                             cl::desc("Tensors that become the inputs")};
  cl::list<std::string> to{"to", cl::CommaSeparated, cl::cat(category), cl::value_desc("tensor,..."),
                           cl::desc("Tensors that become the outputs")};
  cl::list<std::string> dims{"dim", cl::CommaSeparated, cl::cat(category), cl::value_desc("name=extent,..."),
                             cl::desc("Named dimensions: fix them (name=extent), or say their least and largest "
                                      "extents, and a likely one (name=low..high, name=low..high:likely)")};
  cl::list<std::string> bind{
      "bind", cl::cat(category), cl::value_desc("input=numbers"),
      cl::desc("Make an input a constant: comma-separated numbers in row-major order, of the declared shape; "
               "another shape as input=2x3:numbers")};
  cl::list<std::string> elements{
      "elements", cl::cat(category), cl::value_desc("input=count[:shape]"),
      cl::desc(
          "What a sequence or an optional among the inputs has: the number of its tensors, which become the inputs "
          "`input[0]`, `input[1]`, ..., with a shape such as 2x? where none is declared; input=none: an optional "
          "without an element")};
  cl::list<std::string> aliases{
      "alias", cl::CommaSeparated, cl::cat(category), cl::value_desc("input=output,...|caches"),
      cl::desc(
          "Results that lie in the memory of inputs, of which a run writes the new rows only; one `*` in both names "
          "stands for the same text: past_key_values.*=present.*. An input that the result makes longer gets the "
          "extent of the memory (NAME_capacity). caches: all results that are inputs with more rows")};
  cl::opt<std::string> externalDataDir{
      "external-data-dir", cl::cat(category), cl::value_desc("folder"),
      cl::desc("Folder that locations of external data are relative to and must lie below (default: the model's)")};
  cl::opt<std::string> links{
      "follow-symlinks", cl::cat(category), cl::value_desc("none|hf"), cl::init("none"),
      cl::desc("Links that external data may be reached through; hf: those of a Hugging Face cache")};
  cl::opt<uint64_t> maxGraphBytes{"max-graph-bytes", cl::cat(category), cl::init(onnx::Limits().maxGraphBytes),
                                  cl::desc("Largest model without raw tensor data")};
  cl::opt<uint64_t> maxItems{"max-items", cl::cat(category), cl::init(onnx::Limits().maxItems),
                             cl::desc("Most messages and strings of a model")};
  cl::opt<uint64_t> maxNodes{"max-nodes", cl::cat(category), cl::init(onnx::Limits().maxNodes),
                             cl::desc("Most nodes in the file")};
  cl::opt<uint64_t> maxInitializers{"max-initializers", cl::cat(category), cl::init(onnx::Limits().maxInitializers),
                                    cl::desc("Most initialisers")};
  cl::opt<unsigned> maxMessageDepth{"max-message-depth", cl::cat(category), cl::init(onnx::Limits().maxMessageDepth),
                                    cl::desc("Deepest nesting of messages")};
  cl::opt<unsigned> maxSubgraphDepth{"max-subgraph-depth", cl::cat(category), cl::init(onnx::Limits().maxSubgraphDepth),
                                     cl::desc("Deepest nesting of subgraphs")};
  cl::opt<uint64_t> maxNameBytes{"max-name-bytes", cl::cat(category), cl::init(onnx::Limits().maxNameBytes),
                                 cl::desc("Longest name")};
  cl::opt<uint64_t> maxExpandedNodes{"max-expanded-nodes", cl::cat(category), cl::init(onnx::Limits().maxExpandedNodes),
                                     cl::desc("Most nodes after inlining functions and unrolling loops")};
  cl::opt<uint64_t> maxFunctionDepth{"max-function-depth", cl::cat(category), cl::init(onnx::Limits().maxFunctionDepth),
                                     cl::desc("Deepest chain of function calls")};
  cl::opt<int64_t> maxTripCount{"max-trip-count", cl::cat(category), cl::init(onnx::Limits().maxTripCount),
                                cl::desc("Most iterations of an unrolled loop")};

  /// The options; a malformed flag is reported as a usage problem.
  onnx::ImportOptions get(onnx::Diagnostics &diagnostics) const {
    onnx::ImportOptions options;
    options.from.assign(from.begin(), from.end());
    options.to.assign(to.begin(), to.end());
    for (llvm::StringRef dim : dims) {
      auto [name, text] = dim.rsplit('=');
      int64_t extent = 0;
      if (parseRange(text)) // For setRanges.
        continue;
      if (text.getAsInteger(10, extent) || extent < 0)
        (void)diagnostics.report(onnx::ErrorClass::Usage,
                                 "--dim: expected name=extent, name=low..high or name=low..high:likely, with low at "
                                 "most likely and likely at most high, got `" +
                                     dim + "`");
      else
        options.dims.push_back({name.str(), extent});
    }
    for (llvm::StringRef text : bind)
      options.bind.push_back(parseBinding(text, diagnostics));
    for (llvm::StringRef text : elements)
      options.elements.push_back(parseElements(text, diagnostics));
    for (llvm::StringRef text : aliases)
      parseAlias(text, options, diagnostics);
    if (links != "none" && links != "hf")
      (void)diagnostics.report(onnx::ErrorClass::Usage, "--follow-symlinks: expected none or hf, got `" + links + "`");
    options.externalDataFolder = externalDataDir;
    options.links = links == "hf" ? onnx::LinkPolicy::HuggingFace : onnx::LinkPolicy::None;
    onnx::Limits &limits = options.limits;
    limits.maxGraphBytes = maxGraphBytes;
    limits.maxItems = maxItems;
    limits.maxNodes = maxNodes;
    limits.maxInitializers = maxInitializers;
    limits.maxMessageDepth = maxMessageDepth;
    limits.maxSubgraphDepth = maxSubgraphDepth;
    limits.maxNameBytes = maxNameBytes;
    limits.maxExpandedNodes = maxExpandedNodes;
    limits.maxFunctionDepth = maxFunctionDepth;
    limits.maxTripCount = maxTripCount;
    return options;
  }

  /// Gives the symbols of an imported module what the flags say of their values; a name that it lacks is reported.
  void setRanges(mlir::Operation *module, onnx::Diagnostics &diagnostics) const {
    llvm::SmallVector<tg::SymbolRange> ranges = tg::getSymbolRanges(module);
    llvm::SmallVector<std::string> names = tg::getSymbolNames(module);
    for (llvm::StringRef dim : dims) {
      auto [name, text] = dim.rsplit('=');
      std::optional<tg::SymbolRange> range = parseRange(text);
      auto *found = llvm::find(names, name);
      if (range && found != names.end())
        ranges[found - names.begin()] = *range;
      else if (range)
        (void)diagnostics.report(onnx::ErrorClass::Usage, "--dim: the model has no dimension named `" + name +
                                                              "`; names: " + llvm::join(names, ", "));
    }
    tg::setSymbolRanges(module, ranges);
  }

private:
  static void parseAlias(llvm::StringRef text, onnx::ImportOptions &options, onnx::Diagnostics &diagnostics) {
    auto [input, output] = text.split('=');
    if (text == "caches")
      options.aliasCaches = true;
    else if (input.empty() || output.empty() || input.count('*') > 1 || input.count('*') != output.count('*'))
      (void)diagnostics.report(onnx::ErrorClass::Usage,
                               "--alias: expected input=output with one `*` in both or none, or caches, got `" + text +
                                   "`");
    else
      options.aliases.push_back({input.str(), output.str()});
  }

  static onnx::InputElements parseElements(llvm::StringRef text, onnx::Diagnostics &diagnostics) {
    onnx::InputElements elements;
    auto [name, value] = text.rsplit('=');
    elements.input = name.str();
    elements.isAbsent = value == "none";
    if (elements.isAbsent)
      return elements;
    auto [count, shape] = value.split(':');
    bool isGood = !count.getAsInteger(10, elements.count) && elements.count >= 0;
    llvm::SmallVector<llvm::StringRef> extents;
    shape.split(extents, 'x', -1, /*KeepEmpty=*/false);
    if (value.contains(':'))
      elements.shape.emplace();
    for (llvm::StringRef extent : extents)
      if (int64_t &known = elements.shape->emplace_back(-1); extent != "?")
        isGood &= !extent.getAsInteger(10, known) && known >= 0;
    if (!isGood)
      (void)diagnostics.report(onnx::ErrorClass::Usage,
                               "--elements: expected input=count, input=count:2x? or input=none, got `" + text + "`");
    return elements;
  }

  /// "1..4096", "1..4096:512".
  static std::optional<tg::SymbolRange> parseRange(llvm::StringRef text) {
    tg::SymbolRange range;
    auto [low, rest] = text.split("..");
    auto [high, likely] = rest.split(':');
    int64_t value = 0;
    if (low.getAsInteger(10, range.low) || high.getAsInteger(10, range.high) || range.low < 0 || range.high < range.low)
      return std::nullopt;
    if (!rest.contains(':'))
      return range;
    if (likely.getAsInteger(10, value) || value < range.low || value > range.high)
      return std::nullopt;
    range.likely = value;
    return range;
  }

  static onnx::Binding parseBinding(llvm::StringRef text, onnx::Diagnostics &diagnostics) {
    onnx::Binding binding;
    auto [name, value] = text.split('=');
    binding.input = name.str();
    auto [shape, numbers] = value.split(':');
    if (!value.contains(':')) {
      binding.numbers = value.str();
      return binding;
    }
    binding.numbers = numbers.str();
    binding.shape.emplace();
    llvm::SmallVector<llvm::StringRef> extents;
    shape.split(extents, 'x');
    for (llvm::StringRef extent : extents)
      if (extent.getAsInteger(10, binding.shape->emplace_back()))
        (void)diagnostics.report(onnx::ErrorClass::Usage, "--bind: expected input=2x3:numbers, got `" + text + "`");
    return binding;
  }
};

} // namespace weft::tools

#endif // WEFT_TOOLS_IMPORTFLAGS_H

// Command-line flags of everything that reads an ONNX model, and their way into ImportOptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_COMPILER_IMPORTFLAGS_H
#define WEFT_COMPILER_IMPORTFLAGS_H

#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Import/Onnx/Import.h"
#include "weft/Support/Flags.h"
#include "llvm/ADT/StringExtras.h"

namespace weft {

struct ImportFlags : FlagSet {
  FlagCategory importCategory{*this, "Import of ONNX models"};
  FlagList from{*this, "from", FlagList::Commas, "tensor,...", "Tensors that become the inputs"};
  FlagList to{*this, "to", FlagList::Commas, "tensor,...", "Tensors that become the outputs"};
  FlagList dims{*this, "dim", FlagList::Commas, "name=extent,...",
                "Named dimensions: fix them (name=extent), or say their least and largest extents, and a likely one "
                "(name=low..high, name=low..high:likely)"};
  FlagList bind{*this, "bind", FlagList::None, "input=numbers",
                "Make an input a constant: comma-separated numbers in row-major order, of the declared shape; another "
                "shape as input=2x3:numbers"};
  FlagList elements{*this, "elements", FlagList::None, "input=count[:shape]",
                    "What a sequence or an optional among the inputs has: the number of its tensors, which become the "
                    "inputs `input[0]`, `input[1]`, ..., with a shape such as 2x? where none is declared; input=none: "
                    "an optional without an element"};
  FlagList aliases{
      *this, "alias", FlagList::Commas, "input=output,...|caches",
      "Results that lie in the memory of inputs, of which a run writes the new rows only; one `*` in both "
      "names stands for the same text: past_key_values.*=present.*. An input that the result makes longer "
      "gets the extent of the memory (NAME_capacity). caches: all results that are inputs with more rows, or "
      "with some of their rows written"};
  Flag<std::string> externalDataDir{
      *this, "external-data-dir", "", "folder",
      "Folder that locations of external data are relative to and must lie below (default: the model's)"};
  Flag<std::string> links{*this, "follow-symlinks", "none", "none|hf",
                          "Links that external data may be reached through; hf: those of a Hugging Face cache"};
  FlagCategory limitsCategory{*this, "Limits of what is read from a model"};
  Flag<uint64_t> maxGraphBytes{*this, "max-graph-bytes", onnx::Limits().maxGraphBytes, "",
                               "Largest model without raw tensor data"};
  Flag<uint64_t> maxItems{*this, "max-items", onnx::Limits().maxItems, "", "Most messages and strings of a model"};
  Flag<uint64_t> maxNodes{*this, "max-nodes", onnx::Limits().maxNodes, "", "Most nodes in the file"};
  Flag<uint64_t> maxInitializers{*this, "max-initializers", onnx::Limits().maxInitializers, "", "Most initialisers"};
  Flag<unsigned> maxMessageDepth{*this, "max-message-depth", onnx::Limits().maxMessageDepth, "",
                                 "Deepest nesting of messages"};
  Flag<unsigned> maxSubgraphDepth{*this, "max-subgraph-depth", onnx::Limits().maxSubgraphDepth, "",
                                  "Deepest nesting of subgraphs"};
  Flag<uint64_t> maxNameBytes{*this, "max-name-bytes", onnx::Limits().maxNameBytes, "", "Longest name"};
  Flag<uint64_t> maxExpandedNodes{*this, "max-expanded-nodes", onnx::Limits().maxExpandedNodes, "",
                                  "Most nodes after inlining functions and unrolling loops"};
  Flag<uint64_t> maxFunctionDepth{*this, "max-function-depth", onnx::Limits().maxFunctionDepth, "",
                                  "Deepest chain of function calls"};
  Flag<int64_t> maxTripCount{*this, "max-trip-count", onnx::Limits().maxTripCount, "",
                             "Most iterations of an unrolled loop"};

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

} // namespace weft

#endif // WEFT_COMPILER_IMPORTFLAGS_H

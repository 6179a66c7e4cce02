// An ONNX model, or a part of it cut at tensor names, to a module of `tg` ops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The module has one function whose arguments and results carry their ONNX names (`tg.name`) and whose types give
// extents over the module's symbols (`tg.symbols`: the model's dim_params, and fresh names for extents that it leaves
// open). Weights are `tg.weight`s whose bytes stay in the mapped files that the tg dialect's WeightStore holds; they
// live as long as the context.
#ifndef WEFT_IMPORT_ONNX_IMPORT_H
#define WEFT_IMPORT_ONNX_IMPORT_H

#include "mlir/IR/OwningOpRef.h"
#include "weft/Import/Onnx/ModelReader.h"
#include "llvm/ADT/SmallVector.h"
#include <string>
#include <utility>
#include <vector>

namespace mlir {
class MLIRContext;
class ModuleOp;
} // namespace mlir

namespace weft::onnx {

/// Which links external data may be reached through.
enum class LinkPolicy {
  None,        ///< Regular files with one link, below the model's folder.
  HuggingFace, ///< Also a link from `snapshots/REVISION/...` to `blobs/HASH` of the same cache.
};

/// A graph input turned into a constant.
struct Binding {
  std::string input;
  std::optional<llvm::SmallVector<int64_t>> shape; ///< None: the input's declared shape, which must be static.
  std::string bytes;                               ///< Raw, little-endian, of the input's declared element type; or
  std::string numbers;                             ///< comma-separated numbers, converted to that type.
};

/// What a graph input that is a sequence or an optional has when the model runs.
struct InputElements {
  std::string input;
  int64_t count = 0;     ///< Tensors in it; of an optional of a tensor, 1.
  bool isAbsent = false; ///< An optional without an element.
  /// Extents of every element, negative where they are open; none: what the input declares.
  std::optional<llvm::SmallVector<int64_t>> shape;
};

/// A result that may lie in the memory of an input. Either name may have one `*`, which stands for the same text in
/// both.
struct Alias {
  std::string input, output;
};

struct ImportOptions {
  std::string functionName = "main";
  std::vector<Binding> bind;
  std::vector<InputElements> elements;
  std::vector<Alias> aliases;
  bool aliasCaches = false;                          ///< Also every result that is an input with more rows.
  std::vector<std::pair<std::string, int64_t>> dims; ///< Values of dim_params.
  std::vector<std::string> from;                     ///< Tensors that become the inputs; empty: the graph's inputs.
  std::vector<std::string> to;                       ///< Tensors that become the outputs; empty: the graph's outputs.
  /// Folder that locations of external data are relative to; empty: the model's.
  std::string externalDataFolder;
  LinkPolicy links = LinkPolicy::None;
  bool needWeights =
      true; ///< False: external data files may be missing; the module then cannot be compiled, only looked at.
  Limits limits;
};

/// A way in which the model says that it is split over devices (IR version 11).
struct DeviceConfiguration {
  /// What is split along an axis: a node (its only output), a weight or an input.
  struct Split {
    std::string name;
    int64_t axis = 0;
  };
  std::string name;
  int64_t devices = 1;
  std::vector<Split> splits;
};

/// Facts about a model for people; filled by `importModel` even if it fails later.
struct ModelSummary {
  struct Value {
    std::string name, type; ///< Type such as `batch x 16 x 768 x f32`.
  };
  struct Op {
    std::string domain, op;
    int64_t version = 0; ///< Version of the domain in force.
    uint64_t count = 0;
    std::vector<std::string> failedNodes; ///< At most 8 names.
    uint64_t failed = 0;
    std::string reason; ///< Of the first failure.
    std::string note;   ///< Restrictions the table states.
    bool known = false; ///< The table has a row.
  };
  int64_t irVersion = 0;
  std::string producer;
  std::vector<std::pair<std::string, int64_t>> opsets;
  std::vector<Value> inputs, outputs;
  std::vector<std::string> symbols;
  uint64_t parameters = 0, parameterBytes = 0, initializers = 0, nodes = 0, unusedNodes = 0;
  std::vector<Op> ops; ///< Sorted by domain, op, version.
  std::vector<DeviceConfiguration> devices;
};

/// Reads and imports a model. Null if anything went wrong; `diagnostics` then has every problem found. Loads the
/// dialects it needs into `context`. Result: verified.
mlir::OwningOpRef<mlir::ModuleOp> importModel(llvm::StringRef path, const ImportOptions &options,
                                              mlir::MLIRContext &context, Diagnostics &diagnostics,
                                              ModelSummary *summary = nullptr);
/// The same for a model in memory; external data are resolved against `file.path`, or refused if that is empty.
mlir::OwningOpRef<mlir::ModuleOp> importModel(MappedBytes file, const ImportOptions &options,
                                              mlir::MLIRContext &context, Diagnostics &diagnostics,
                                              ModelSummary *summary = nullptr);

} // namespace weft::onnx

#endif // WEFT_IMPORT_ONNX_IMPORT_H

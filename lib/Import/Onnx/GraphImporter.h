// State of one import: scopes of names, function frames, symbols, budgets; and the walk over nodes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_IMPORT_ONNX_GRAPHIMPORTER_H
#define WEFT_LIB_IMPORT_ONNX_GRAPHIMPORTER_H

#include "ExternalData.h"
#include "GraphChecks.h"
#include "weft/Dialect/TileGraph/Analysis/SymbolicContents.h"
#include "weft/Import/Onnx/Handler.h"
#include "weft/Import/Onnx/Import.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"
#include <map>
#include <memory>
#include <onnx/onnx_pb.h>

namespace weft::onnx {

/// The module's symbols by name.
class SymbolNames {
public:
  SymbolNames(mlir::MLIRContext *context, llvm::ArrayRef<std::pair<std::string, int64_t>> values);
  /// The symbol `name`, or the constant that the user gave for it.
  mlir::AffineExpr get(llvm::StringRef name);
  /// A symbol whose name no other has: `hint`, or `hint` with a number.
  mlir::AffineExpr fresh(llvm::StringRef hint);
  /// Makes `name` a constant unless the user gave it another value.
  void fix(llvm::StringRef name, int64_t value) { values.try_emplace(name, value, true); }
  llvm::ArrayRef<std::string> names() const { return list; }
  /// Names given by the user that `get` was never asked for.
  std::vector<std::string> unused() const;

private:
  mlir::AffineExpr add(llvm::StringRef name);

  mlir::MLIRContext *context;
  llvm::StringMap<std::pair<int64_t, bool>> values; ///< Value, and whether it was used.
  llvm::StringMap<unsigned> index;
  std::vector<std::string> list;
};

/// Where nodes get attribute references and opset versions from: the model, or a call of a model-local function.
struct Frame {
  const Frame *caller = nullptr;
  llvm::StringMap<int64_t> opsets;                                            ///< By canonical domain.
  llvm::DenseMap<llvm::StringRef, const ::onnx::AttributeProto *> attributes; ///< Of the function called.
  std::vector<::onnx::AttributeProto> defaults; ///< Storage of the function's default values.
  llvm::StringRef function;                     ///< Name for messages; empty for the model.
};

using DeclaredTypes = llvm::DenseMap<llvm::StringRef, const ::onnx::TypeProto *>;

/// Names of one graph or function body.
struct Scope {
  Scope *outer = nullptr; ///< Names of it are visible here.
  const Frame *frame = nullptr;
  llvm::DenseMap<llvm::StringRef, mlir::Value> values;                       ///< A null value is one whose node failed.
  llvm::DenseMap<llvm::StringRef, const ::onnx::TensorProto *> initializers; ///< Not materialised yet.
  llvm::DenseSet<llvm::StringRef> sparse;                                    ///< Sparse initialisers.
  llvm::DenseSet<llvm::StringRef> absent; ///< Function inputs that the call leaves out.
  DeclaredTypes declared;
};

/// What a name stands for.
struct NamedValue {
  enum Kind { Unknown, Absent, Failed, Known } kind = Unknown;
  mlir::Value value;
};

class GraphImporter {
public:
  GraphImporter(const Model &model, const ImportOptions &options, mlir::MLIRContext &context, Diagnostics &diagnostics);

  //===--- Walking ---===//
  /// Imports `nodes` in order, those with `needed` (by index; empty: all).
  void importNodes(const NodeList &nodes, Scope &scope, const std::vector<bool> &needed = {});
  /// A subgraph of the node being imported, inlined here.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> inlineGraph(const ::onnx::GraphProto &graph,
                                                              llvm::ArrayRef<mlir::Value> inputs, Scope &outer);
  /// An attribute of a node in a function may refer to an attribute of the call. Null if it, or that, is absent.
  static const ::onnx::AttributeProto *findAttribute(const ::onnx::NodeProto &node, llvm::StringRef name,
                                                     const Frame &frame);
  NamedValue lookup(llvm::StringRef name, Scope &scope);
  void declareInitializers(const ::onnx::GraphProto &graph, Scope &scope);
  static void declareTypes(const google::protobuf::RepeatedPtrField<::onnx::ValueInfoProto> &infos, Scope &scope);

  //===--- Types and tensors ---===//
  /// The tensor type that `type` declares, with symbols for its dim_params; extents left open become symbols named
  /// after `value`. Null with an error reported if it declares none that we support.
  mlir::RankedTensorType declaredType(const ::onnx::TypeProto &type, llvm::StringRef value, const llvm::Twine &what);
  /// Tensor message to constant or weight; null after `fail` received class and cause.
  using Fail = llvm::function_ref<void(ErrorClass, const llvm::Twine &)>;
  mlir::Value importTensor(const ::onnx::TensorProto &tensor, llvm::StringRef name, Fail fail);
  /// Reports if `value`, a result of the current node, has another element type than `declared`; warns of another rank
  /// or static extents.
  bool checkDeclared(const ::onnx::TypeProto &declared, llvm::StringRef name, mlir::Value value);

  //===--- Diagnostics of the current node ---===//
  llvm::LogicalResult reportNode(ErrorClass cls, const llvm::Twine &cause, const llvm::Twine &remedy = {});
  void report(ErrorClass cls, const llvm::Twine &cause, const llvm::Twine &remedy = {}) {
    (void)diagnostics.report(cls, cause, remedy);
  }
  std::string typeText(mlir::Type type) const;

  /// `bytes` as a constant, a range of the model file (at `fileOffset`) or a buffer of the weight store.
  mlir::Value tensorFromBytes(mlir::RankedTensorType type, llvm::ArrayRef<char> bytes,
                              std::optional<uint64_t> fileOffset);

  /// A list of `elements` (see NodeContext::list); null where there are more than an import may have.
  mlir::Value list(mlir::ValueRange elements, bool isOptional);

  //===--- Facts ---===//
  bool isConstant(mlir::Value value) const { return constants.contains(value); }
  void markConstant(mlir::Value value) { constants.insert(value); }
  /// Contents of a value that follows from constants alone.
  mlir::ElementsAttr fold(mlir::Value value, bool withIndices = false);

  /// Channels in a block of com.microsoft.nchwc, seen from a node in `scope`.
  int64_t channelBlock(Scope &scope);

  const Model &model;
  const ImportOptions &options;
  mlir::ImplicitLocOpBuilder builder;
  SymbolNames symbols;
  mlir::Block *mainBlock = nullptr; ///< Where tensors of the model are, which bodies of loops may read too.
  tg::SymbolicContents contents;
  llvm::SmallDenseSet<unsigned> dataSymbols; ///< Those that the program binds.
  Frame modelFrame;

private:
  friend class NodeContext;

  /// The node whose handler runs.
  struct Current {
    const ::onnx::NodeProto *node;
    int64_t version;
    Scope *scope;
    llvm::SmallVector<mlir::Value> inputs; ///< Null where absent.
    llvm::SmallVector<mlir::Value> outputs;
    bool failed = false;
    llvm::SmallVector<llvm::StringRef> asked = {}; ///< Attributes that the handler looked for.
  };
  struct OpStatistics {
    uint64_t count = 0, failed = 0;
    std::vector<std::string> failedNodes;
    std::string reason;
  };

  void importNode(const ::onnx::NodeProto &node, Scope &scope);
  /// Fills the inputs; false if one failed earlier.
  bool resolveInputs(Current &node);
  /// Reports counts and attributes that no version of an ai.onnx operator has.
  bool checkSchema(const Current &node);
  void runHandler(Current &node, const OpEntry &entry);
  /// Reports lists among the inputs of an operator that has no use for them.
  bool checkInputKinds(const Current &node, const OpEntry &entry);
  /// Reports attributes of com.microsoft operators that the handler never asked for: what they mean is not done.
  void checkAllAsked(const Current &node);
  void callFunction(Current &node, const ::onnx::FunctionProto &function);
  void finishNode(Current &node);
  void unknownOp(const Current &node);
  bool spendNode();
  bool followsFromConstants(mlir::Value value, bool withIndices) const;
  mlir::Value foldSmall(mlir::Value value);
  mlir::Value makeWeight(mlir::RankedTensorType type, llvm::StringRef source, uint64_t offset, uint64_t size);
  int64_t blockFromWeights(Scope &scope);
  const ::onnx::FunctionProto *findFunction(const ::onnx::NodeProto &node) const;
  const std::vector<int> &order(const NodeList &nodes);
  llvm::StringRef modelSource();

  mlir::MLIRContext &context;
  Diagnostics &diagnostics;
  ExternalData external;
  Current *current = nullptr;
  llvm::StringMap<const ::onnx::FunctionProto *> functions;
  llvm::DenseMap<const NodeList *, std::vector<int>> orders;
  llvm::DenseMap<const ::onnx::TensorProto *, mlir::Value>
      tensors; ///< Attribute tensors imported, loops meet them again.
  llvm::DenseSet<mlir::Value> constants;
  llvm::DenseSet<const ::onnx::NodeProto *> counted;
  std::map<std::tuple<std::string, std::string, int64_t>, OpStatistics> statistics;
  llvm::DenseSet<std::pair<mlir::AffineExpr, mlir::AffineExpr>> assumed; ///< Equalities checked already.
  llvm::DenseSet<mlir::AffineExpr> assumedOrder; ///< Differences that are checked to be at least 0 already.
  std::string fileSource;
  unsigned numBodies = 0;      ///< Functions of loops and branches.
  int64_t blockOfChannels = 0; ///< 0: not asked yet.
  uint64_t expanded = 0;
  uint64_t foldedBytes = 0;
  uint64_t listElements = 0;
  int64_t foldWork = int64_t(1) << 33; ///< Scalar operations left to folding: some ten seconds' worth in all.
  bool stopped = false;

public:
  const decltype(statistics) &opStatistics() const { return statistics; }
};

} // namespace weft::onnx

#endif // WEFT_LIB_IMPORT_ONNX_GRAPHIMPORTER_H

// What the import of one ONNX node sees: operands, attributes, constants, diagnostics, builders; and the table of
// operators.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A handler reads its node through a NodeContext, builds `tg` ops and hands over results with `output`. Everything in
// the node comes from a stranger: attributes have any type, ranks and extents do not fit, inputs are missing. Rules:
//  * Errors are recorded by `error` (the model is wrong), `unsupported` (we cannot do it) or by the helper that failed;
//  the handler then
//    returns failure. Importing goes on with other nodes, so that all problems are reported at once.
//  * Helpers that return a Value return null after recording an error, and null without a word if an operand is null.
//  So chains
//    need one check at the end; but check a value before asking for its type.
//  * Build ops only with `make`, `create` or the helpers below: they verify, turn failed inference into a diagnostic of
//  the node, and
//    record the equalities that broadcasting assumes between symbolic extents. The plain builders abort on bad input.
#ifndef WEFT_IMPORT_ONNX_HANDLER_H
#define WEFT_IMPORT_ONNX_HANDLER_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "llvm/ADT/Twine.h"
#include <optional>

namespace onnx {
class AttributeProto;
class GraphProto;
class NodeProto;
class ValueInfoProto;
} // namespace onnx

namespace weft::onnx {

class GraphImporter;
struct Limits;

/// Newest version of the default domain that the table knows; `until` of operators that still stand.
inline constexpr int newestOpset = 28;
/// `until` of operators of domains whose version we do not follow (com.microsoft).
inline constexpr int anyOpset = 1 << 30;
/// Extent of the largest tensor that handlers may ask the contents of, in bytes.
inline constexpr int64_t maxFoldBytes = int64_t(64) << 20;
/// Elements of all lists of one import; each change of a sequence makes a new one.
inline constexpr uint64_t maxListElements = uint64_t(1) << 22;

/// A function of the program that loops and branches run.
struct Body {
  mlir::Operation *function;
  mlir::FlatSymbolRefAttr name;
  llvm::SmallVector<mlir::Value> results;  ///< What it returns, inside.
  llvm::SmallVector<mlir::Value> captured; ///< Values outside, for its last arguments.
};

class NodeContext {
public:
  NodeContext(GraphImporter &importer, const ::onnx::NodeProto &node, int64_t opset, mlir::ImplicitLocOpBuilder &b)
      : node(node), opset(opset), b(b), importer(importer) {}

  const ::onnx::NodeProto &node;
  /// Version of the node's domain that the model (or the function that the node is in) imports.
  const int64_t opset;
  /// Location: the node's name.
  mlir::ImplicitLocOpBuilder &b;

  llvm::StringRef opType() const;
  /// Empty for ai.onnx.
  llvm::StringRef domain() const;

  //===--- Inputs and outputs ---===//
  unsigned numInputs() const;
  /// Null when absent or empty.
  mlir::Value input(unsigned i) const;
  /// As `input`, but absence is an error.
  mlir::Value required(unsigned i);
  unsigned numOutputs() const;
  /// Whether output `i` is there and named; results that nobody asked for need not be built.
  bool outputUsed(unsigned i) const;
  /// Hands over output `i`; null and unused ones are ignored.
  void output(unsigned i, mlir::Value value);
  /// Records an error unless min <= number of inputs <= max.
  llvm::LogicalResult checkNumInputs(unsigned min, unsigned max);

  //===--- Attributes: absent without a default, or of another type, is an error ---===//
  bool hasAttr(llvm::StringRef name) const;
  mlir::FailureOr<int64_t> intAttr(llvm::StringRef name, std::optional<int64_t> def = std::nullopt);
  /// An integer attribute that must be 0 or 1.
  mlir::FailureOr<bool> boolAttr(llvm::StringRef name, std::optional<bool> def = std::nullopt);
  mlir::FailureOr<double> floatAttr(llvm::StringRef name, std::optional<double> def = std::nullopt);
  mlir::FailureOr<llvm::StringRef> stringAttr(llvm::StringRef name, std::optional<llvm::StringRef> def = std::nullopt);
  /// Index in `choices` of a string attribute; other strings are errors.
  mlir::FailureOr<unsigned> choiceAttr(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> choices,
                                       llvm::StringRef def);
  mlir::FailureOr<llvm::SmallVector<int64_t>> intsAttr(llvm::StringRef name,
                                                       std::optional<llvm::SmallVector<int64_t>> def = std::nullopt);
  mlir::FailureOr<llvm::SmallVector<double>> floatsAttr(llvm::StringRef name,
                                                        std::optional<llvm::SmallVector<double>> def = std::nullopt);
  mlir::FailureOr<llvm::SmallVector<llvm::StringRef>> stringsAttr(llvm::StringRef name);
  /// A tensor attribute as a value (`tg.constant` or `tg.weight`).
  mlir::FailureOr<mlir::Value> tensorAttr(llvm::StringRef name);
  /// Element type from an integer attribute that holds a TensorProto.DataType (Cast's `to`, `dtype`, `stash_type`).
  /// Null if the attribute is absent and `def` is null.
  mlir::FailureOr<mlir::Type> typeAttr(llvm::StringRef name, mlir::Type def = {});
  /// A graph attribute; the pointer stays valid during import.
  mlir::FailureOr<const ::onnx::GraphProto *> graphAttr(llvm::StringRef name);

  /// Declares that attribute `name` cannot change the result; one that no handler asks for is refused.
  void ignoreAttr(llvm::StringRef name) const { (void)hasAttr(name); }

  //===--- Lists: sequences, which exist at import only ---===//
  /// Whether `value` is a list. Only handlers whose row says so get lists as inputs; subgraphs may return them to any.
  static bool isList(mlir::Value value);
  /// A list of tensors; an optional without an element is a list too, of none and with `isOptional`.
  mlir::Value list(llvm::ArrayRef<mlir::Value> elements, bool isOptional = false);
  static bool isEmptyOptional(mlir::Value value);
  /// A list of tensors of one type, the rows of `rows`: as many as dimension 0 has, which only the run may know.
  mlir::Value stackedList(mlir::Value rows);
  /// The rows of a stacked list; null for other values, whose elements `elements` describes.
  static mlir::Value stackedRows(mlir::Value list);
  static mlir::OperandRange elements(mlir::Value list);
  /// How many elements output `i`, a list among the graph's results, has by the word of the user (--elements).
  std::optional<int64_t> toldElements(unsigned i) const;
  /// Output `i` is a list whose number of elements depends on data: says how to tell it.
  llvm::LogicalResult needsElements(unsigned i, const llvm::Twine &cause);
  /// Records an error that names `what` if `value` is a list.
  llvm::LogicalResult checkTensor(mlir::Value value, const llvm::Twine &what);

  //===--- Contents known at import ---===//
  /// Contents of a value that follows from constants alone: folded by the Reference evaluator, up to `maxFoldBytes`.
  /// Null if it is not constant or too large; records nothing. What follows from indices (`tg.iota`) is folded only
  /// `withIndices`: a kernel computes it more cheaply than it reads it, unless it is a table of trigonometry.
  mlir::ElementsAttr constant(mlir::Value value, bool withIndices = false);
  std::optional<llvm::SmallVector<int64_t>> constantInts(mlir::Value value);
  std::optional<llvm::SmallVector<double>> constantFloats(mlir::Value value);
  std::optional<int64_t> constantInt(mlir::Value value);  ///< A tensor of one element.
  std::optional<double> constantFloat(mlir::Value value); ///< A tensor of one element.
  /// Contents of a small integer tensor as expressions of symbols.
  std::optional<tg::Dims> shapeContents(mlir::Value value);
  /// The elements of a small integer tensor as expressions: what is known at import, else symbols of its own that the
  /// program binds when it runs (the values must be at least 0 then). `what` names the symbols and the check.
  mlir::FailureOr<tg::Dims> runtimeDims(mlir::Value value, const llvm::Twine &what);
  /// Whether `extent` depends on data: on a symbol of runtimeDims.
  bool isData(mlir::AffineExpr extent) const;
  /// Input `i` as constant integers; an error that names the input and suggests --bind if it is not constant.
  mlir::FailureOr<llvm::SmallVector<int64_t>> requiredInts(unsigned i, llvm::StringRef meaning);
  mlir::FailureOr<llvm::SmallVector<double>> requiredFloats(unsigned i, llvm::StringRef meaning);
  /// Input `i`, integers of at least 0, as expressions of symbols: see runtimeDims.
  mlir::FailureOr<tg::Dims> requiredDims(unsigned i, llvm::StringRef meaning);

  //===--- Diagnostics; all return failure ---===//
  /// The model is invalid at this node.
  llvm::LogicalResult error(const llvm::Twine &cause, const llvm::Twine &remedy = {});
  /// Valid, but not supported.
  llvm::LogicalResult unsupported(const llvm::Twine &cause, const llvm::Twine &remedy = {});
  /// A resource limit.
  llvm::LogicalResult limit(const llvm::Twine &cause, const llvm::Twine &remedy = {});
  /// Input `i` is not known at compile time but has to be.
  llvm::LogicalResult needsConstant(unsigned i, llvm::StringRef meaning);
  bool failedAlready() const;

  //===--- Types and extents ---===//
  mlir::Type elementType(mlir::Value value) const;
  int64_t rank(mlir::Value value) const;
  tg::Dims dims(mlir::Value value) const { return tg::getDims(value.getType()); }
  mlir::AffineExpr dim(mlir::Value value, int64_t d) const { return tg::getDim(value.getType(), d); }
  std::optional<int64_t> staticDim(mlir::Value value, int64_t d) const { return tg::getConstant(dim(value, d)); }
  mlir::AffineExpr constExpr(int64_t value) const { return mlir::getAffineConstantExpr(value, b.getContext()); }
  tg::Dims constDims(llvm::ArrayRef<int64_t> extents) const;
  /// `axis` in [-rank, rank) to [0, rank).
  mlir::FailureOr<int64_t> normalizeAxis(int64_t axis, int64_t rank);
  /// The same for several; duplicates are errors. Keeps the order.
  mlir::FailureOr<llvm::SmallVector<int64_t>> normalizeAxes(llvm::ArrayRef<int64_t> axes, int64_t rank);
  /// Records an error unless the rank is in [min, max].
  llvm::LogicalResult checkRank(mlir::Value value, int64_t min, int64_t max, llvm::StringRef what);
  /// Records an error if the extents are known to differ; else emits a run-time check unless they are known to be
  /// equal.
  llvm::LogicalResult assumeEqual(mlir::AffineExpr x, mlir::AffineExpr y, const llvm::Twine &what);
  /// The same for x <= y. What no operand of any type may break is checked without a handler's help: extents of results
  /// are at least 0.
  llvm::LogicalResult assumeAtMost(mlir::AffineExpr x, mlir::AffineExpr y, const llvm::Twine &what);
  /// What `extent` is, if it is constant or was assumed to be equal to a constant.
  std::optional<int64_t> assumedConstant(mlir::AffineExpr extent) const;
  /// Extents as text for messages, with the symbols' names.
  std::string extentsText(llvm::ArrayRef<mlir::AffineExpr> dims) const;
  /// A new symbol, e.g. for an extent that is only known to be some number.
  mlir::AffineExpr freshSymbol(const llvm::Twine &name);

  //===--- Builders; null in, null out ---===//
  /// Builds an op with checks; null (an error is recorded) on failure. Result types are inferred where the op infers
  /// them, else the first argument is the result type, as in the op's own builders.
  template <typename OpTy, typename... Args> OpTy create(Args &&...args);
  /// The same for an op with one result: the result.
  template <typename OpTy, typename... Args> mlir::Value make(Args &&...args) {
    OpTy op = create<OpTy>(std::forward<Args>(args)...);
    return op ? op->getResult(0) : mlir::Value();
  }

  /// Rank-0 constant of element type `element` (or of the element type of tensor type `element`), rounded.
  mlir::Value scalar(double value, mlir::Type element);
  mlir::Value scalarInt(int64_t value, mlir::Type element);
  /// Constant of the shape and type `type` (static), every element `value`.
  mlir::Value splat(double value, mlir::RankedTensorType type);
  mlir::Value constantValue(mlir::ElementsAttr value);
  mlir::Value intsConstant(llvm::ArrayRef<int64_t> values); ///< 1-D i64.
  mlir::Value
  extents(llvm::ArrayRef<mlir::AffineExpr> exprs); ///< 1-D i64 (`tg.extents`, or a constant if all are constant).

  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> dims);
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> dims);
  mlir::Value unsqueeze(mlir::Value value, llvm::ArrayRef<int64_t> axes); ///< Axes of the result, sorted, not negative.
  mlir::Value squeeze(mlir::Value value, llvm::ArrayRef<int64_t> axes);   ///< Sorted, not negative; extents must be 1.
  mlir::Value transpose(mlir::Value value, llvm::ArrayRef<int64_t> permutation);
  /// numpy broadcast to exactly `dims`; the operand itself if it has them.
  mlir::Value broadcastTo(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> dims);
  /// Extents of all values broadcast together; equalities assumed are recorded.
  mlir::FailureOr<tg::Dims> broadcastDims(llvm::ArrayRef<mlir::Value> values);
  /// Elements [offset, offset + size) with `stride` along `axis`, whole in other dimensions. In bounds, checked where
  /// static.
  mlir::Value slice(mlir::Value value, int64_t axis, int64_t offset, mlir::AffineExpr size, int64_t stride = 1);
  mlir::Value concat(llvm::ArrayRef<mlir::Value> values, int64_t axis);
  /// Conversion of the element type; the value itself if it has the type.
  mlir::Value cast(mlir::Value value, mlir::Type element, bool saturate = true);
  /// f16 and bf16 to f32, other types unchanged. For handlers that decompose with intermediate results kept in f32.
  mlir::Value toCompute(mlir::Value value);
  mlir::Value reduce(tg::Monoid kind, mlir::Value value, llvm::ArrayRef<int64_t> axes, bool keepDims);
  /// Number of elements along `axes` as a rank-0 tensor of type `element`.
  mlir::Value count(mlir::Value value, llvm::ArrayRef<int64_t> axes, mlir::Type element);
  /// `tg.contract` from an einsum such as "mk,kn->mn". The extents of shared letters must agree (symbolic ones are
  /// assumed to).
  mlir::Value contract(mlir::Value lhs, mlir::Value rhs, llvm::StringRef einsum, mlir::Type element);

  /// The rank that the model declares for output `i`, or for what elementwise nodes make of it.
  std::optional<int64_t> declaredRank(unsigned i) const;

  /// Channels in a block of com.microsoft.nchwc: 8 or 16.
  int64_t channelBlock();

  //===--- Subgraphs ---===//
  const Limits &limits() const;
  /// The type that a value of a subgraph declares; null with an error if it declares no tensor type of known rank.
  mlir::RankedTensorType declaredType(const ::onnx::ValueInfoProto &info);
  /// Imports the nodes of `graph` here, with its inputs bound to `inputs` and outer names visible. Failure if an output
  /// failed.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> inlineGraph(const ::onnx::GraphProto &graph,
                                                              llvm::ArrayRef<mlir::Value> inputs);

  //===--- Bodies of loops and branches ---===//
  using BuildBody = llvm::function_ref<mlir::FailureOr<llvm::SmallVector<mlir::Value>>(mlir::ValueRange arguments)>;
  /// A function of arguments of `types` that returns what `build`, called with these, gives; it is built where the
  /// function is. Values from outside that it reads become arguments behind these. With `hoist`, ops that depend on no
  /// argument move out.
  mlir::FailureOr<Body> buildBody(llvm::StringRef name, mlir::TypeRange types, bool hoist, BuildBody build);

private:
  const ::onnx::AttributeProto *find(llvm::StringRef name) const;
  llvm::LogicalResult checkExtents(mlir::TypeRange types);
  /// Checks operands, adds inferred types, creates and verifies.
  mlir::Operation *finish(mlir::OperationState &state, bool pointwise,
                          llvm::function_ref<llvm::LogicalResult(llvm::SmallVectorImpl<mlir::Type> &)> infer);

  GraphImporter &importer;
};

using Handler = llvm::LogicalResult (*)(NodeContext &);

/// One row of the operator table. A version of an operator is supported only if a row says so.
struct OpEntry {
  llvm::StringRef domain; ///< Empty for ai.onnx.
  llvm::StringRef op;
  int since, until; ///< Range of opset versions, inclusive, in which the handler is right.
  Handler handler;
  llvm::StringRef note;    ///< What is restricted, for `weft inspect --list-ops`; may be empty.
  bool takesLists = false; ///< Whether inputs may be lists; else they are refused before the handler runs.
};

// Each file Ops/<Category>.cpp defines `llvm::ArrayRef<OpEntry> get<Category>Ops()` in this namespace: its slice of the
// table. CMake lists the categories for OpTable.cpp from the files' names.

/// The whole table, sorted by domain, operator, version. Overlapping ranges are a programming error that a unit test
/// finds.
llvm::ArrayRef<OpEntry> getOpTable();
/// The row for `op` of `domain` at `opset`, or null.
const OpEntry *findOp(llvm::StringRef domain, llvm::StringRef op, int64_t opset);
/// Rows of `op` of `domain` for any version.
llvm::ArrayRef<OpEntry> findOpVersions(llvm::StringRef domain, llvm::StringRef op);

//===----------------------------------------------------------------------===//

template <typename OpTy, typename... Args> OpTy NodeContext::create(Args &&...args) {
  mlir::OperationState state(b.getLoc(), OpTy::getOperationName());
  constexpr bool pointwise = OpTy::template hasTrait<tg::PointwiseOpInterface::Trait>();
  if constexpr (OpTy::template hasTrait<mlir::InferTypeOpInterface::Trait>()) {
    // The op's own builder would abort when inference fails, so it gets placeholder types first.
    constexpr unsigned numResults = OpTy::template hasTrait<mlir::OpTrait::NResults<3>::Impl>()   ? 3
                                    : OpTy::template hasTrait<mlir::OpTrait::NResults<2>::Impl>() ? 2
                                                                                                  : 1;
    llvm::SmallVector<mlir::Type> placeholders(numResults, b.getNoneType());
    OpTy::build(b, state, mlir::TypeRange(placeholders), std::forward<Args>(args)...);
    auto infer = [&](llvm::SmallVectorImpl<mlir::Type> &types) {
      return OpTy::inferReturnTypes(b.getContext(), b.getLoc(), state.operands,
                                    state.attributes.getDictionary(b.getContext()), state.getRawProperties(), {},
                                    types);
    };
    return llvm::cast_if_present<OpTy>(finish(state, pointwise, infer));
  } else {
    OpTy::build(b, state, std::forward<Args>(args)...);
    return llvm::cast_if_present<OpTy>(finish(state, pointwise, nullptr));
  }
}

} // namespace weft::onnx

#endif // WEFT_IMPORT_ONNX_HANDLER_H

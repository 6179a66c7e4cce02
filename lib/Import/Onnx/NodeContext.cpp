// What handlers ask about their node: operands, attributes of the expected type, contents, diagnostics.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GraphImporter.h"
#include "Tensors.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace weft;
using namespace weft::onnx;
using llvm::SmallVector;
using llvm::StringRef;
using mlir::failure;
using mlir::FailureOr;
using ::onnx::AttributeProto;

StringRef NodeContext::opType() const { return node.op_type(); }
StringRef NodeContext::domain() const { return canonicalDomain(node.domain()); }

//===--- Inputs and outputs ---===//

unsigned NodeContext::numInputs() const { return node.input_size(); }
unsigned NodeContext::numOutputs() const { return node.output_size(); }

mlir::Value NodeContext::input(unsigned i) const {
  return i < importer.current->inputs.size() ? importer.current->inputs[i] : mlir::Value();
}

mlir::Value NodeContext::required(unsigned i) {
  mlir::Value value = input(i);
  if (!value)
    (void)error("input " + llvm::Twine(i) + " is missing");
  return value;
}

bool NodeContext::outputUsed(unsigned i) const { return i < numOutputs() && !node.output(static_cast<int>(i)).empty(); }

void NodeContext::output(unsigned i, mlir::Value value) {
  if (value && outputUsed(i))
    importer.current->outputs[i] = value;
}

llvm::LogicalResult NodeContext::checkNumInputs(unsigned min, unsigned max) {
  if (numInputs() >= min && numInputs() <= max)
    return llvm::success();
  return error("expected " + llvm::Twine(min) + (max == min ? llvm::Twine() : " to " + llvm::Twine(max)) +
               " inputs, got " + llvm::Twine(numInputs()));
}

//===--- Attributes ---===//

static StringRef typeName(AttributeProto::AttributeType type) {
  switch (type) {
  case AttributeProto::FLOAT:
    return "a float";
  case AttributeProto::INT:
    return "an integer";
  case AttributeProto::STRING:
    return "a string";
  case AttributeProto::TENSOR:
    return "a tensor";
  case AttributeProto::GRAPH:
    return "a graph";
  case AttributeProto::SPARSE_TENSOR:
    return "a sparse tensor";
  case AttributeProto::TYPE_PROTO:
    return "a type";
  case AttributeProto::FLOATS:
    return "floats";
  case AttributeProto::INTS:
    return "integers";
  case AttributeProto::STRINGS:
    return "strings";
  case AttributeProto::TENSORS:
    return "tensors";
  case AttributeProto::GRAPHS:
    return "graphs";
  case AttributeProto::SPARSE_TENSORS:
    return "sparse tensors";
  case AttributeProto::TYPE_PROTOS:
    return "types";
  default:
    return "a value of unknown type";
  }
}

const AttributeProto *NodeContext::find(StringRef name) const {
  importer.current->asked.push_back(name);
  return GraphImporter::findAttribute(node, name, *importer.current->scope->frame);
}

bool NodeContext::hasAttr(StringRef name) const { return find(name) != nullptr; }

/// The attribute if it has type `type`; null if it is absent and may be; failure with an error otherwise.
static FailureOr<const AttributeProto *> typed(NodeContext &ctx, const AttributeProto *attribute, StringRef name,
                                               AttributeProto::AttributeType type, bool mayBeAbsent) {
  if (!attribute && mayBeAbsent)
    return static_cast<const AttributeProto *>(nullptr);
  if (!attribute)
    return ctx.error("attribute `" + name + "` is missing");
  if (attribute->type() != type)
    return ctx.error("attribute `" + name + "`: expected " + typeName(type) + ", got " + typeName(attribute->type()));
  return attribute;
}

FailureOr<int64_t> NodeContext::intAttr(StringRef name, std::optional<int64_t> def) {
  auto attribute = typed(*this, find(name), name, AttributeProto::INT, def.has_value());
  if (failed(attribute))
    return failure();
  return *attribute ? (*attribute)->i() : *def;
}

FailureOr<bool> NodeContext::boolAttr(StringRef name, std::optional<bool> def) {
  FailureOr<int64_t> value = intAttr(name, def ? std::optional<int64_t>(*def) : std::nullopt);
  if (failed(value))
    return failure();
  if (*value != 0 && *value != 1)
    return error("attribute `" + name + "`: expected 0 or 1, got " + llvm::Twine(*value));
  return *value == 1;
}

FailureOr<double> NodeContext::floatAttr(StringRef name, std::optional<double> def) {
  auto attribute = typed(*this, find(name), name, AttributeProto::FLOAT, def.has_value());
  if (failed(attribute))
    return failure();
  return *attribute ? static_cast<double>((*attribute)->f()) : *def;
}

FailureOr<StringRef> NodeContext::stringAttr(StringRef name, std::optional<StringRef> def) {
  auto attribute = typed(*this, find(name), name, AttributeProto::STRING, def.has_value());
  if (failed(attribute))
    return failure();
  return *attribute ? StringRef((*attribute)->s()) : *def;
}

FailureOr<unsigned> NodeContext::choiceAttr(StringRef name, llvm::ArrayRef<StringRef> choices, StringRef def) {
  FailureOr<StringRef> value = stringAttr(name, def);
  if (failed(value))
    return failure();
  const StringRef *choice = llvm::find(choices, *value);
  if (choice == choices.end())
    return error("attribute `" + name + "`: expected one of " + llvm::join(choices, ", ") + ", got `" + *value + "`");
  return static_cast<unsigned>(choice - choices.begin());
}

FailureOr<SmallVector<int64_t>> NodeContext::intsAttr(StringRef name, std::optional<SmallVector<int64_t>> def) {
  auto attribute = typed(*this, find(name), name, AttributeProto::INTS, def.has_value());
  if (failed(attribute))
    return failure();
  return *attribute ? SmallVector<int64_t>((*attribute)->ints().begin(), (*attribute)->ints().end()) : *def;
}

FailureOr<SmallVector<double>> NodeContext::floatsAttr(StringRef name, std::optional<SmallVector<double>> def) {
  auto attribute = typed(*this, find(name), name, AttributeProto::FLOATS, def.has_value());
  if (failed(attribute))
    return failure();
  return *attribute ? SmallVector<double>((*attribute)->floats().begin(), (*attribute)->floats().end()) : *def;
}

FailureOr<SmallVector<StringRef>> NodeContext::stringsAttr(StringRef name) {
  auto attribute = typed(*this, find(name), name, AttributeProto::STRINGS, false);
  if (failed(attribute))
    return failure();
  return SmallVector<StringRef>((*attribute)->strings().begin(), (*attribute)->strings().end());
}

FailureOr<mlir::Value> NodeContext::tensorAttr(StringRef name) {
  auto attribute = typed(*this, find(name), name, AttributeProto::TENSOR, false);
  if (failed(attribute))
    return failure();
  const ::onnx::TensorProto *tensor = &(*attribute)->t();
  mlir::Value &value = importer.tensors[tensor];
  if (!value)
    value = importer.importTensor(*tensor, {}, [&](ErrorClass cls, const llvm::Twine &cause) {
      (void)importer.reportNode(cls, "attribute `" + name + "`: " + cause);
    });
  if (!value)
    return failure();
  return value;
}

FailureOr<mlir::Type> NodeContext::typeAttr(StringRef name, mlir::Type def) {
  if (!find(name))
    return def;
  FailureOr<int64_t> value = intAttr(name);
  if (failed(value))
    return failure();
  if (mlir::Type type = elementTypeOf(*value, b.getContext()))
    return type;
  if (dataTypeBits(*value) == 0 && *value != 8)
    return error("attribute `" + name + "`: " + llvm::Twine(*value) + " is not an ONNX element type");
  return unsupported("element type " + dataTypeName(*value) + " is not supported");
}

FailureOr<const ::onnx::GraphProto *> NodeContext::graphAttr(StringRef name) {
  auto attribute = typed(*this, find(name), name, AttributeProto::GRAPH, false);
  if (failed(attribute))
    return failure();
  return &(*attribute)->g();
}

//===--- Lists ---===//

// A list is a cast of its elements to a tuple (an empty optional: of nothing to `none`). No op takes one; what is left
// of the casts after import is dead.

bool NodeContext::isList(mlir::Value value) { return llvm::isa<mlir::TupleType, mlir::NoneType>(value.getType()); }

bool NodeContext::isEmptyOptional(mlir::Value value) { return llvm::isa<mlir::NoneType>(value.getType()); }

mlir::Value NodeContext::list(llvm::ArrayRef<mlir::Value> elements, bool isOptional) {
  if (llvm::is_contained(elements, mlir::Value()))
    return {};
  mlir::Value list = importer.list(elements, isOptional);
  if (!list)
    (void)limit("the model's sequences have more than " + llvm::Twine(maxListElements / 2) + " elements in all");
  return list;
}

mlir::Value NodeContext::stackedList(mlir::Value rows) {
  if (!rows)
    return {};
  mlir::Type type = b.getTupleType(mlir::Type(b.getTupleType(rows.getType())));
  return mlir::UnrealizedConversionCastOp::create(b, type, rows).getResult(0);
}

mlir::Value NodeContext::stackedRows(mlir::Value list) {
  auto type = list ? llvm::dyn_cast<mlir::TupleType>(list.getType()) : mlir::TupleType();
  bool isStacked = type && type.size() == 1 && llvm::isa<mlir::TupleType>(type.getType(0));
  return isStacked ? list.getDefiningOp()->getOperand(0) : mlir::Value();
}

mlir::OperandRange NodeContext::elements(mlir::Value list) { return list.getDefiningOp()->getOperands(); }

/// Whether output `i` is, by its name, a result of the model.
static bool isGraphOutput(const ::onnx::GraphProto &graph, const ::onnx::NodeProto &node, unsigned i) {
  return llvm::any_of(graph.output(),
                      [&](const auto &output) { return output.name() == node.output(static_cast<int>(i)); });
}

std::optional<int64_t> NodeContext::toldElements(unsigned i) const {
  const Scope &scope = *importer.current->scope;
  if (!outputUsed(i) || scope.outer || !scope.frame->function.empty() ||
      !isGraphOutput(importer.model.proto->graph(), node, i))
    return std::nullopt;
  for (const InputElements &each : importer.options.elements)
    if (each.input == node.output(static_cast<int>(i)))
      return each.isAbsent ? 0 : each.count;
  return std::nullopt;
}

llvm::LogicalResult NodeContext::needsElements(unsigned i, const llvm::Twine &cause) {
  if (outputUsed(i) && isGraphOutput(importer.model.proto->graph(), node, i))
    return unsupported(cause, "give the number of elements with --elements=" + node.output(static_cast<int>(i)) +
                                  "=COUNT, which is checked when the model runs");
  return unsupported(cause, "if it comes from a graph input, fix that with --bind");
}

llvm::LogicalResult NodeContext::checkTensor(mlir::Value value, const llvm::Twine &what) {
  if (!value)
    return failure();
  return isList(value) ? error(what + " is " + importer.typeText(value.getType()) + "; expected a tensor")
                       : llvm::success();
}

//===--- Contents known at import ---===//

mlir::ElementsAttr NodeContext::constant(mlir::Value value, bool withIndices) {
  return value && !isList(value) ? importer.fold(value, withIndices) : mlir::ElementsAttr();
}

std::optional<tg::Dims> NodeContext::shapeContents(mlir::Value value) {
  if (std::optional<tg::Dims> exprs = importer.contents.get(value))
    return exprs;
  std::optional<SmallVector<int64_t>> integers = constantInts(value);
  if (!integers || integers->size() > tg::SymbolicContents::maxElements)
    return std::nullopt;
  return constDims(*integers);
}

std::optional<SmallVector<int64_t>> NodeContext::constantInts(mlir::Value value) {
  if (!value || isList(value) || !llvm::isa<mlir::IntegerType>(elementType(value)))
    return std::nullopt;
  SmallVector<int64_t> integers;
  if (std::optional<tg::Dims> exprs = importer.contents.get(value)) {
    for (mlir::AffineExpr expr : *exprs) {
      std::optional<int64_t> integer = tg::getConstant(expr);
      if (!integer)
        return std::nullopt;
      integers.push_back(*integer);
    }
    return integers;
  }
  auto elements = llvm::dyn_cast_or_null<mlir::DenseIntElementsAttr>(constant(value));
  if (!elements)
    return std::nullopt;
  bool isUnsigned = elementType(value).isUnsignedInteger() || elementType(value).isInteger(1);
  for (const llvm::APInt &element : elements.getValues<llvm::APInt>())
    integers.push_back(isUnsigned ? static_cast<int64_t>(element.getZExtValue()) : element.getSExtValue());
  return integers;
}

std::optional<SmallVector<double>> NodeContext::constantFloats(mlir::Value value) {
  auto elements = llvm::dyn_cast_or_null<mlir::DenseElementsAttr>(constant(value));
  if (!elements)
    return std::nullopt;
  SmallVector<double> floats;
  if (!llvm::isa<mlir::FloatType>(elements.getElementType())) {
    std::optional<SmallVector<int64_t>> integers = constantInts(value);
    if (!integers)
      return std::nullopt;
    return SmallVector<double>(integers->begin(), integers->end());
  }
  for (llvm::APFloat element : elements.getValues<llvm::APFloat>()) {
    bool inexact = false;
    element.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
    floats.push_back(element.convertToDouble());
  }
  return floats;
}

std::optional<int64_t> NodeContext::constantInt(mlir::Value value) {
  std::optional<SmallVector<int64_t>> integers = constantInts(value);
  return integers && integers->size() == 1 ? std::optional(integers->front()) : std::nullopt;
}

std::optional<double> NodeContext::constantFloat(mlir::Value value) {
  std::optional<SmallVector<double>> floats = constantFloats(value);
  return floats && floats->size() == 1 ? std::optional(floats->front()) : std::nullopt;
}

FailureOr<SmallVector<int64_t>> NodeContext::requiredInts(unsigned i, StringRef meaning) {
  mlir::Value value = required(i);
  if (!value)
    return failure();
  if (std::optional<SmallVector<int64_t>> integers = constantInts(value))
    return *integers;
  return needsConstant(i, meaning);
}

FailureOr<SmallVector<double>> NodeContext::requiredFloats(unsigned i, StringRef meaning) {
  mlir::Value value = required(i);
  if (!value)
    return failure();
  if (std::optional<SmallVector<double>> floats = constantFloats(value))
    return *floats;
  return needsConstant(i, meaning);
}

FailureOr<tg::Dims> NodeContext::requiredDims(unsigned i, StringRef meaning) {
  mlir::Value value = required(i);
  if (!value)
    return failure();
  if (std::optional<tg::Dims> exprs = shapeContents(value))
    return *exprs;
  return runtimeDims(value, meaning);
}

//===--- Diagnostics ---===//

llvm::LogicalResult NodeContext::error(const llvm::Twine &cause, const llvm::Twine &remedy) {
  return importer.reportNode(ErrorClass::Invalid, cause, remedy);
}
llvm::LogicalResult NodeContext::unsupported(const llvm::Twine &cause, const llvm::Twine &remedy) {
  return importer.reportNode(ErrorClass::Unsupported, cause, remedy);
}
llvm::LogicalResult NodeContext::limit(const llvm::Twine &cause, const llvm::Twine &remedy) {
  return importer.reportNode(ErrorClass::Limit, cause, remedy);
}

llvm::LogicalResult NodeContext::needsConstant(unsigned i, StringRef meaning) {
  std::string name = i < numInputs() ? node.input(static_cast<int>(i)) : std::string();
  return unsupported("input " + llvm::Twine(i) + " `" + name + "` (" + meaning + ") is not known at compile time",
                     "if it comes from a graph input, fix that with --bind");
}

bool NodeContext::failedAlready() const { return importer.current->failed; }

//===--- Types and extents ---===//

mlir::Type NodeContext::elementType(mlir::Value value) const {
  return llvm::cast<mlir::RankedTensorType>(value.getType()).getElementType();
}

int64_t NodeContext::rank(mlir::Value value) const {
  return llvm::cast<mlir::RankedTensorType>(value.getType()).getRank();
}

tg::Dims NodeContext::constDims(llvm::ArrayRef<int64_t> extents) const {
  tg::Dims dims;
  for (int64_t extent : extents)
    dims.push_back(constExpr(extent));
  return dims;
}

FailureOr<int64_t> NodeContext::normalizeAxis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    return error("axis " + llvm::Twine(axis) + " is out of range for rank " + llvm::Twine(rank));
  return axis < 0 ? axis + rank : axis;
}

FailureOr<SmallVector<int64_t>> NodeContext::normalizeAxes(llvm::ArrayRef<int64_t> axes, int64_t rank) {
  SmallVector<int64_t> result;
  for (int64_t axis : axes) {
    FailureOr<int64_t> normal = normalizeAxis(axis, rank);
    if (failed(normal))
      return failure();
    if (llvm::is_contained(result, *normal))
      return error("axis " + llvm::Twine(*normal) + " is given twice");
    result.push_back(*normal);
  }
  return result;
}

llvm::LogicalResult NodeContext::checkRank(mlir::Value value, int64_t min, int64_t max, StringRef what) {
  int64_t actual = rank(value);
  if (actual >= min && actual <= max)
    return llvm::success();
  return error("expected rank " + llvm::Twine(min) + (max == min ? llvm::Twine() : " to " + llvm::Twine(max)) + " of " +
               what + ", got " + llvm::Twine(actual));
}

mlir::AffineExpr NodeContext::freshSymbol(const llvm::Twine &name) { return importer.symbols.fresh(name.str()); }

std::string NodeContext::extentsText(llvm::ArrayRef<mlir::AffineExpr> dims) const {
  return tg::formatDims(dims, importer.symbols.names());
}

FailureOr<SmallVector<mlir::Value>> NodeContext::inlineGraph(const ::onnx::GraphProto &graph,
                                                             llvm::ArrayRef<mlir::Value> inputs) {
  return importer.inlineGraph(graph, inputs, *importer.current->scope);
}

const Limits &NodeContext::limits() const { return importer.options.limits; }

int64_t NodeContext::channelBlock() { return importer.channelBlock(*importer.current->scope); }

/// The one node of the model that reads `name` and whose result has its rank (or that of another operand, if that is
/// higher); null if there is none.
static const ::onnx::NodeProto *findPointwiseReader(const ::onnx::GraphProto &graph, StringRef name) {
  const ::onnx::NodeProto *found = nullptr;
  for (const auto &reader : graph.node())
    if (llvm::is_contained(reader.input(), name) && std::exchange(found, &reader))
      return nullptr;
  static const llvm::StringSet<> pointwise = {"Add",  "Cast",    "Clip", "Div",  "Exp",  "Identity",
                                              "Log",  "Mul",     "Neg",  "Pow",  "Relu", "Round",
                                              "Sqrt", "Sigmoid", "Sub",  "Tanh", "Where"};
  return found && pointwise.contains(found->op_type()) && found->output_size() == 1 ? found : nullptr;
}

std::optional<int64_t> NodeContext::declaredRank(unsigned i) const {
  constexpr int mostReaders = 16;
  const Scope &scope = *importer.current->scope;
  StringRef name = i < numOutputs() ? StringRef(node.output(static_cast<int>(i))) : StringRef();
  for (int step = 0; step < mostReaders && !name.empty(); ++step) {
    auto declared = scope.declared.find(name);
    if (declared != scope.declared.end() && declared->second->tensor_type().has_shape())
      return declared->second->tensor_type().shape().dim_size();
    const ::onnx::NodeProto *reader = findPointwiseReader(importer.model.proto->graph(), name);
    name = reader ? StringRef(reader->output(0)) : StringRef();
  }
  return std::nullopt;
}

mlir::RankedTensorType NodeContext::declaredType(const ::onnx::ValueInfoProto &info) {
  return importer.declaredType(info.type(), info.name(), "value");
}

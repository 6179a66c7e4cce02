// The walk over nodes: names to values, functions and subgraphs inlined, handlers called, problems recorded. Everything
// is built in one block, so a value made anywhere earlier is visible. A failed value is a null one; nodes that use it
// are skipped without a word.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GraphImporter.h"
#include "OpSchemas.h"
#include "Tensors.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace weft;
using namespace weft::onnx;

/// Bytes of the largest value that is folded to a constant as soon as it is imported.
static constexpr int64_t eagerFoldBytes = 4096;
/// Bytes that eager folding may touch in one import.
static constexpr uint64_t maxFoldedBytes = uint64_t(256) << 20;

static std::string functionKey(llvm::StringRef domain, llvm::StringRef name, llvm::StringRef overload) {
  return (canonicalDomain(domain) + "\n" + name + "\n" + overload).str();
}

GraphImporter::GraphImporter(const Model &model, const ImportOptions &options, mlir::MLIRContext &context,
                             Diagnostics &diagnostics)
    : model(model), options(options), builder(mlir::UnknownLoc::get(&context), &context),
      symbols(&context, options.dims), context(context), diagnostics(diagnostics),
      external(model.file.path, options.externalDataFolder, options.links,
               context.getLoadedDialect<tg::TileGraphDialect>()->getWeightStore()) {
  for (const auto &import : model.proto->opset_import())
    modelFrame.opsets[canonicalDomain(import.domain())] = import.version();
  for (const auto &function : model.proto->functions())
    functions.try_emplace(functionKey(function.domain(), function.name(), overloadOf(function)), &function);
}

//===--- Names ---===//

void GraphImporter::declareInitializers(const ::onnx::GraphProto &graph, Scope &scope) {
  for (const auto &tensor : graph.initializer())
    scope.initializers[tensor.name()] = &tensor;
  for (const auto &sparse : graph.sparse_initializer())
    scope.sparse.insert(sparse.values().name());
}

void GraphImporter::declareTypes(const google::protobuf::RepeatedPtrField<::onnx::ValueInfoProto> &infos,
                                 Scope &scope) {
  for (const auto &info : infos)
    if (info.has_type())
      scope.declared[info.name()] = &info.type();
}

NamedValue GraphImporter::lookup(llvm::StringRef name, Scope &innermost) {
  for (Scope *scope = &innermost; scope; scope = scope->outer) {
    auto value = scope->values.find(name);
    if (value != scope->values.end())
      return {value->second ? NamedValue::Known : NamedValue::Failed, value->second};
    if (scope->absent.contains(name))
      return {NamedValue::Absent, {}};
    auto initializer = scope->initializers.find(name);
    if (initializer != scope->initializers.end()) {
      mlir::Value tensor = importTensor(*initializer->second, name, [&](ErrorClass cls, const llvm::Twine &cause) {
        report(cls, "initialiser `" + name + "`: " + cause);
      });
      scope->values[name] = tensor;
      return {tensor ? NamedValue::Known : NamedValue::Failed, tensor};
    }
    if (scope->sparse.contains(name)) {
      report(ErrorClass::Unsupported, "initialiser `" + name + "` is a sparse tensor", "export dense initialisers");
      scope->values[name] = {};
      return {NamedValue::Failed, {}};
    }
  }
  return {};
}

//===--- Diagnostics ---===//

llvm::LogicalResult GraphImporter::reportNode(ErrorClass cls, const llvm::Twine &cause, const llvm::Twine &remedy) {
  if (!current)
    return diagnostics.report(cls, cause, remedy);
  Diagnostic diagnostic;
  diagnostic.cls = cls;
  diagnostic.node = displayName(*current->node).str();
  diagnostic.op = displayOp(*current->node, current->version);
  if (!current->scope->frame->function.empty())
    diagnostic.op += (" in function " + current->scope->frame->function).str();
  diagnostic.operandTypes = llvm::join(
      llvm::map_range(current->inputs,
                      [&](mlir::Value value) { return value ? typeText(value.getType()) : std::string("-"); }),
      ", ");
  diagnostic.cause = cause.str();
  diagnostic.remedy = remedy.str();
  if (!current->failed) {
    OpStatistics &row =
        statistics[{canonicalDomain(current->node->domain()).str(), current->node->op_type(), current->version}];
    ++row.failed;
    if (row.failedNodes.size() < 8)
      row.failedNodes.push_back(diagnostic.node);
    if (row.reason.empty())
      row.reason = diagnostic.cause;
  }
  current->failed = true;
  return diagnostics.report(std::move(diagnostic));
}

//===--- Nodes ---===//

const ::onnx::AttributeProto *GraphImporter::findAttribute(const ::onnx::NodeProto &node, llvm::StringRef name,
                                                           const Frame &frame) {
  for (const auto &attribute : node.attribute())
    if (attribute.name() == name)
      return attribute.ref_attr_name().empty() ? &attribute : frame.attributes.lookup(attribute.ref_attr_name());
  return nullptr;
}

const std::vector<int> &GraphImporter::order(const NodeList &nodes) {
  auto [it, isNew] = orders.try_emplace(&nodes);
  if (isNew)
    it->second = orderNodes(nodes);
  return it->second;
}

void GraphImporter::importNodes(const NodeList &nodes, Scope &scope, const std::vector<bool> &needed) {
  // A copy: inlining subgraphs adds to the map that holds it.
  std::vector<int> sequence = order(nodes);
  for (int i : sequence)
    if (needed.empty() || needed[i])
      importNode(nodes[i], scope);
}

bool GraphImporter::spendNode() {
  if (stopped)
    return false;
  if (++expanded <= options.limits.maxExpandedNodes)
    return true;
  stopped = true;
  report(ErrorClass::Limit,
         "the model expands to more than " + llvm::Twine(options.limits.maxExpandedNodes) +
             " nodes by functions and loops",
         "raise the limit with --max-expanded-nodes");
  return false;
}

bool GraphImporter::resolveInputs(Current &node) {
  bool usable = true;
  for (const std::string &name : node.node->input()) {
    NamedValue found;
    if (!name.empty()) {
      found = lookup(name, *node.scope);
      if (found.kind == NamedValue::Unknown)
        (void)reportNode(ErrorClass::Invalid, "input `" + llvm::Twine(name) + "` is not defined before the node");
      usable &= found.kind == NamedValue::Known || found.kind == NamedValue::Absent;
    }
    node.inputs.push_back(found.value);
  }
  return usable;
}

const ::onnx::FunctionProto *GraphImporter::findFunction(const ::onnx::NodeProto &node) const {
  if (functions.empty())
    return nullptr;
  return functions.lookup(functionKey(node.domain(), node.op_type(), overloadOf(node)));
}

void GraphImporter::importNode(const ::onnx::NodeProto &node, Scope &scope) {
  Current state{&node, 0, &scope, {}, {}, false};
  state.outputs.resize(node.output_size());
  Current *saved = std::exchange(current, &state);
  mlir::Location savedLocation = builder.getLoc();
  llvm::StringRef file =
      model.file.path.empty() ? llvm::StringRef("model") : llvm::sys::path::filename(model.file.path);
  builder.setLoc(mlir::NameLoc::get(builder.getStringAttr(displayName(node)),
                                    mlir::FileLineColLoc::get(builder.getStringAttr(file), 0, 0)));
  llvm::StringRef domain = canonicalDomain(node.domain());
  auto version = scope.frame->opsets.find(domain);
  state.version = version == scope.frame->opsets.end() ? 0 : version->second;
  const ::onnx::FunctionProto *function = findFunction(node);
  if (!function && counted.insert(&node).second)
    ++statistics[{domain.str(), node.op_type(), state.version}].count;
  if (spendNode() && resolveInputs(state)) {
    const OpEntry *entry = findOp(domain, node.op_type(), state.version);
    if (function)
      callFunction(state, *function);
    else if (!state.version)
      (void)reportNode(ErrorClass::Invalid, "the model imports no opset of domain `" + domain + "`");
    else if (!entry)
      unknownOp(state);
    else if (checkSchema(state))
      runHandler(state, *entry);
  }
  finishNode(state);
  builder.setLoc(savedLocation);
  current = saved;
}

bool GraphImporter::checkSchema(const Current &node) {
  const OpSchema *schema = findSchema(canonicalDomain(node.node->domain()), node.node->op_type(), node.version);
  if (!schema)
    return true;
  auto check = [&](const char *what, int got, int most) {
    if (most >= 0 && got > most)
      (void)reportNode(ErrorClass::Invalid,
                       "expected at most " + llvm::Twine(most) + " " + what + ", got " + llvm::Twine(got));
  };
  check("inputs", node.node->input_size(), schema->maxInputs);
  check("outputs", node.node->output_size(), schema->maxOutputs);
  for (const auto &attribute : node.node->attribute())
    if (!schema->hasAttribute(attribute.name()))
      (void)reportNode(ErrorClass::Invalid, "the operator has no attribute `" + llvm::Twine(attribute.name()) + "`");
  return !node.failed;
}

void GraphImporter::unknownOp(const Current &node) {
  llvm::StringRef domain = canonicalDomain(node.node->domain());
  llvm::ArrayRef<OpEntry> versions = findOpVersions(domain, node.node->op_type());
  if (versions.empty()) {
    (void)reportNode(ErrorClass::Unsupported, "the operator is not supported",
                     "see weft inspect --list-ops, or cut the model with "
                     "--from and --to");
    return;
  }
  std::string ranges = llvm::join(llvm::map_range(versions,
                                                  [](const OpEntry &entry) {
                                                    int last = std::min(entry.until, newestOpset);
                                                    return std::to_string(entry.since) + " to " +
                                                           (entry.until == anyOpset ? "newest" : std::to_string(last));
                                                  }),
                                  ", ");
  (void)reportNode(ErrorClass::Unsupported,
                   "opset " + llvm::Twine(node.version) + " of the operator is not supported; supported: " + ranges,
                   "convert the model to a supported opset");
}

bool GraphImporter::checkInputKinds(const Current &node, const OpEntry &entry) {
  for (auto [i, value] : llvm::enumerate(node.inputs))
    if (value && !entry.takesLists && NodeContext::isList(value)) {
      (void)reportNode(ErrorClass::Invalid,
                       "input " + llvm::Twine(i) + " is " + typeText(value.getType()) + "; expected a tensor");
      return false;
    }
  return true;
}

/// Whether an attribute says something other than nothing: not 0, not an empty name or `NONE`.
static bool saysSomething(const ::onnx::AttributeProto &attribute) {
  switch (attribute.type()) {
  case ::onnx::AttributeProto::INT:
    return attribute.i() != 0;
  case ::onnx::AttributeProto::FLOAT:
    return attribute.f() != 0;
  case ::onnx::AttributeProto::STRING:
    return !attribute.s().empty() && attribute.s() != "NONE";
  default:
    return false;
  }
}

// The operators of com.microsoft gain attributes without a new version, so one that a newer onnxruntime added must not
// be ignored. (Handlers of ai.onnx ask for some attributes only where these matter; there, the schema is the check.)
void GraphImporter::checkAllAsked(const Current &node) {
  if (canonicalDomain(node.node->domain()) != "com.microsoft")
    return;
  for (const auto &attribute : node.node->attribute())
    if (saysSomething(attribute) && !llvm::is_contained(node.asked, attribute.name()))
      (void)reportNode(ErrorClass::Unsupported, "attribute `" + llvm::Twine(attribute.name()) + "` is not supported");
}

void GraphImporter::runHandler(Current &node, const OpEntry &entry) {
  if (!checkInputKinds(node, entry))
    return;
  NodeContext nodeContext(*this, *node.node, node.version, builder);
  bool succeeded = llvm::succeeded(entry.handler(nodeContext));
  if (node.failed)
    return;
  if (!succeeded) {
    // An inlined subgraph with failed values has been reported at its own nodes.
    if (!diagnostics.empty())
      node.failed = true;
    else
      (void)reportNode(ErrorClass::Internal, "import failed without a reason");
    return;
  }
  for (int i = 0; i < node.node->output_size(); ++i)
    if (!node.node->output(i).empty() && !node.outputs[i]) {
      (void)reportNode(ErrorClass::Unsupported, "output " + llvm::Twine(i) + " is not supported");
      return;
    }
  checkAllAsked(node);
}

void GraphImporter::callFunction(Current &node, const ::onnx::FunctionProto &function) {
  Frame frame;
  frame.caller = node.scope->frame;
  frame.function = function.name();
  frame.opsets = node.scope->frame->opsets;
  for (const auto &import : function.opset_import())
    frame.opsets[canonicalDomain(import.domain())] = import.version();
  if (!defaultAttributes(function, frame.defaults))
    return (void)reportNode(ErrorClass::Invalid, "default attributes of the function are malformed");
  for (const auto &attribute : frame.defaults)
    frame.attributes[attribute.name()] = &attribute;
  for (const auto &attribute : node.node->attribute())
    if (const ::onnx::AttributeProto *bound = findAttribute(*node.node, attribute.name(), *node.scope->frame))
      frame.attributes[attribute.name()] = bound;
  if (node.node->input_size() > function.input_size() || node.node->output_size() > function.output_size())
    return (void)reportNode(ErrorClass::Invalid, "expected at most " + llvm::Twine(function.input_size()) +
                                                     " inputs and " + llvm::Twine(function.output_size()) +
                                                     " outputs of the function");
  Scope scope;
  scope.frame = &frame;
  for (int i = 0; i < function.input_size(); ++i) {
    mlir::Value value = i < node.node->input_size() ? node.inputs[i] : mlir::Value();
    if (value)
      scope.values[function.input(i)] = value;
    else
      scope.absent.insert(function.input(i));
  }
  importNodes(function.node(), scope);
  for (int i = 0; i < node.node->output_size(); ++i)
    node.outputs[i] = lookup(function.output(i), scope).value;
}

mlir::FailureOr<llvm::SmallVector<mlir::Value>>
GraphImporter::inlineGraph(const ::onnx::GraphProto &graph, llvm::ArrayRef<mlir::Value> inputs, Scope &outer) {
  if (static_cast<size_t>(graph.input_size()) != inputs.size())
    return reportNode(ErrorClass::Invalid, "expected a subgraph with " + llvm::Twine(inputs.size()) + " inputs, got " +
                                               llvm::Twine(graph.input_size()));
  Scope scope;
  scope.outer = &outer;
  scope.frame = outer.frame;
  declareInitializers(graph, scope);
  for (const auto &[info, value] : llvm::zip_equal(graph.input(), inputs))
    scope.values[info.name()] = value;
  importNodes(graph.node(), scope);
  llvm::SmallVector<mlir::Value> results;
  for (const auto &output : graph.output()) {
    NamedValue found = lookup(output.name(), scope);
    if (found.kind != NamedValue::Known)
      return mlir::failure();
    results.push_back(found.value);
  }
  return results;
}

/// Hands the node's outputs to the scope: folded, checked against declared types, named.
void GraphImporter::finishNode(Current &node) {
  bool constantInputs =
      !node.failed && llvm::all_of(node.inputs, [&](mlir::Value value) { return !value || isConstant(value); });
  for (const auto &attribute : node.node->attribute())
    constantInputs &= !attribute.has_g() && attribute.graphs_size() == 0;
  for (int i = 0; i < node.node->output_size(); ++i) {
    const std::string &name = node.node->output(i);
    if (name.empty())
      continue;
    mlir::Value value = node.failed || stopped ? mlir::Value() : node.outputs[i];
    if (value && NodeContext::isList(value)) {
      if (llvm::all_of(NodeContext::elements(value), [&](mlir::Value element) { return isConstant(element); }))
        constants.insert(value);
    } else if (value) {
      if (constantInputs)
        constants.insert(value);
      value = foldSmall(value);
      auto declared = node.scope->declared.find(name);
      if (declared != node.scope->declared.end() && !checkDeclared(*declared->second, name, value))
        value = {};
    }
    node.scope->values[name] = value;
  }
}

//===--- Folding ---===//

/// Replaces small constants and shape arithmetic by what they are; the ops that computed them become dead.
mlir::Value GraphImporter::foldSmall(mlir::Value value) {
  mlir::Operation *op = value.getDefiningOp();
  if (!op || llvm::isa<tg::ConstantOp, tg::ExtentsOp, tg::WeightOp>(op))
    return value;
  auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
  std::optional<int64_t> size = tg::getByteSize(type);
  if (!size || *size > eagerFoldBytes)
    return value;
  mlir::Value folded;
  std::optional<tg::Dims> exprs =
      llvm::isa<mlir::IntegerType>(type.getElementType()) ? contents.get(value) : std::nullopt;
  if (exprs) {
    bool allConstant = llvm::all_of(*exprs, [](mlir::AffineExpr expr) { return tg::getConstant(expr).has_value(); });
    if (allConstant && !type.getElementType().isInteger(1)) {
      auto bits = type.getElementTypeBitWidth();
      llvm::SmallVector<llvm::APInt> integers;
      for (mlir::AffineExpr expr : *exprs)
        integers.push_back(llvm::APInt(64, *tg::getConstant(expr)).trunc(std::min(bits, 64u)));
      folded = tg::ConstantOp::create(builder, mlir::DenseElementsAttr::get(type, integers));
    } else if (allConstant) {
      llvm::SmallVector<bool> booleans;
      for (mlir::AffineExpr expr : *exprs)
        booleans.push_back(*tg::getConstant(expr) != 0);
      folded = tg::ConstantOp::create(builder, mlir::DenseElementsAttr::get(type, booleans));
    } else if (type.getElementType().isInteger(64)) {
      unsigned count = symbols.names().size();
      folded = tg::ExtentsOp::create(builder, mlir::AffineMap::get(0, count, *exprs, &context));
      if (type.getRank() != 1)
        folded = tg::ReshapeOp::create(builder, type, folded);
    }
    if (folded && allConstant)
      constants.insert(folded);
  } else if (isConstant(value) && foldedBytes < maxFoldedBytes) {
    for (mlir::Value operand : op->getOperands())
      foldedBytes += static_cast<uint64_t>(tg::getByteSize(operand.getType()).value_or(0));
    if (mlir::ElementsAttr elements = fold(value)) {
      folded = tg::ConstantOp::create(builder, elements);
      constants.insert(folded);
    }
  }
  return folded ? folded : value;
}

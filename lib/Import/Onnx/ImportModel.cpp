// The entry of import: arguments, the part of the graph that is asked for, results, and the facts that `weft inspect`
// prints.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Aliases.h"
#include "Devices.h"
#include "GraphImporter.h"
#include "Tensors.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace weft;
using namespace weft::onnx;
using llvm::StringRef;

namespace {

using ModuleRef = mlir::OwningOpRef<mlir::ModuleOp>;

/// One import of one model.
class ModelImport {
public:
  ModelImport(const Model &model, const ImportOptions &options, mlir::MLIRContext &context, Diagnostics &diagnostics,
              ModelSummary *summary)
      : graph(model.proto->graph()), model(model), options(options), context(context), diagnostics(diagnostics),
        summary(summary), importer(model, options, context, diagnostics) {}

  ModuleRef run() { return build() ? std::move(module) : ModuleRef(); }
  /// Types of tensors of the graph, for cuts at tensors without declared types. Symbols are those of this import.
  llvm::StringMap<mlir::RankedTensorType> inferTypes(llvm::ArrayRef<std::string> names);
  const SymbolNames &symbols() const { return importer.symbols; }

private:
  struct Input {
    std::string name;
    mlir::RankedTensorType type;
  };

  bool build();
  void checkNames();
  void fixBoundDims();
  void findNeeded();
  void findInputs();
  void inferCutTypes(llvm::ArrayRef<std::string> names, llvm::StringMap<mlir::RankedTensorType> &types);
  void importBody(mlir::func::FuncOp function);
  mlir::Value bind(const Binding &binding, const ::onnx::ValueInfoProto &input);
  mlir::Value bindNumbers(const Binding &binding, mlir::RankedTensorType type);
  bool importOutputs(llvm::SmallVectorImpl<mlir::Value> &results);
  void summarize();

  const ::onnx::ValueInfoProto *findInput(StringRef name) const {
    auto it = llvm::find_if(graph.input(), [&](const auto &input) { return input.name() == name; });
    return it == graph.input().end() ? nullptr : &*it;
  }
  void expandInput(const ::onnx::ValueInfoProto &input);
  mlir::RankedTensorType elementType(const ::onnx::ValueInfoProto &input, const InputElements &given);
  const InputElements *findElements(StringRef name) const {
    auto it = llvm::find_if(options.elements, [&](const InputElements &each) { return each.input == name; });
    return it == options.elements.end() ? nullptr : &*it;
  }
  const Binding *findBinding(StringRef name) const {
    auto it = llvm::find_if(options.bind, [&](const Binding &binding) { return binding.input == name; });
    return it == options.bind.end() ? nullptr : &*it;
  }

  const ::onnx::GraphProto &graph;
  const Model &model;
  const ImportOptions &options;
  mlir::MLIRContext &context;
  Diagnostics &diagnostics;
  ModelSummary *summary;
  GraphImporter importer;
  ModuleRef module; ///< Outlives the values of `scope`.

  std::vector<std::string> outputs, resultNames;
  std::vector<bool> needed;  ///< By node.
  llvm::StringSet<> reached; ///< Names that the outputs depend on and that no needed node produces.
  std::vector<Input> inputs;
  std::vector<std::pair<std::string, size_t>>
      lists; ///< Inputs that are sequences, and the first of their elements in `inputs`.
  Scope scope;
};

} // namespace

/// Names given by the user must be names of the graph.
void ModelImport::checkNames() {
  llvm::StringSet<> produced;
  for (const auto &node : graph.node())
    for (const std::string &output : node.output())
      produced.insert(output);
  auto isKnown = [&](StringRef name) {
    return produced.contains(name) || findInput(name) ||
           llvm::any_of(graph.initializer(), [&](const auto &tensor) { return tensor.name() == name; });
  };
  for (const std::string &name : options.from)
    if (!isKnown(name))
      importer.report(ErrorClass::Usage, "--from: the graph has no tensor `" + llvm::Twine(name) + "`");
  for (const std::string &name : options.to)
    if (!isKnown(name))
      importer.report(ErrorClass::Usage, "--to: the graph has no tensor `" + llvm::Twine(name) + "`");
  for (const Binding &binding : options.bind)
    if (!findInput(binding.input))
      importer.report(ErrorClass::Usage, "--bind: the graph has no input `" + llvm::Twine(binding.input) + "`");
  for (const InputElements &each : options.elements)
    if (!findInput(each.input) &&
        llvm::none_of(graph.output(), [&](const auto &output) { return output.name() == each.input; }))
      importer.report(ErrorClass::Usage,
                      "--elements: the graph has no input or output `" + llvm::Twine(each.input) + "`");
  outputs = options.to;
  if (outputs.empty())
    for (const auto &output : graph.output())
      outputs.push_back(output.name());
}

/// The shape of a bound input fixes the dimensions that it names, for the other inputs too.
void ModelImport::fixBoundDims() {
  for (const Binding &binding : options.bind) {
    const ::onnx::ValueInfoProto *input = findInput(binding.input);
    if (!input || !binding.shape)
      continue;
    const auto &shape = input->type().tensor_type().shape();
    if (static_cast<size_t>(shape.dim_size()) != binding.shape->size())
      continue;
    for (auto [d, dim] : llvm::enumerate(shape.dim())) {
      if (isFixed(dim) || (*binding.shape)[d] < 0)
        continue;
      std::string name = isNamed(dim) ? dim.dim_param() : binding.input + "_dim" + std::to_string(d);
      importer.symbols.fix(name, (*binding.shape)[d]);
    }
  }
}

void ModelImport::findNeeded() {
  llvm::DenseMap<StringRef, int> producers;
  for (const auto &[i, node] : llvm::enumerate(graph.node()))
    for (const std::string &output : node.output())
      producers[output] = static_cast<int>(i);
  needed.assign(graph.node_size(), false);
  llvm::StringSet<> from;
  for (const std::string &name : options.from)
    from.insert(name);
  std::vector<StringRef> work(outputs.begin(), outputs.end());
  llvm::DenseSet<StringRef> seen;
  while (!work.empty()) {
    StringRef name = work.back();
    work.pop_back();
    if (name.empty() || !seen.insert(name).second)
      continue;
    auto producer = producers.find(name);
    if (from.contains(name) || producer == producers.end()) {
      reached.insert(name);
      continue;
    }
    if (needed[producer->second])
      continue;
    needed[producer->second] = true;
    const auto &node = graph.node(producer->second);
    work.insert(work.end(), node.input().begin(), node.input().end());
    forEachCapture(node, [&](StringRef captured) { work.push_back(captured); });
  }
}

/// Types of cut tensors: declared in the graph, else inferred by importing what is before the cut.
void ModelImport::inferCutTypes(llvm::ArrayRef<std::string> names, llvm::StringMap<mlir::RankedTensorType> &types) {
  Diagnostics upstream;
  ImportOptions prefix = options;
  prefix.from.clear();
  prefix.to.assign(names.begin(), names.end());
  ModelImport inference(model, prefix, context, upstream, nullptr);
  types = inference.inferTypes(names);
  for (const std::string &name : names)
    if (!types.count(name))
      importer.report(ErrorClass::Unsupported,
                      "--from: the type of `" + llvm::Twine(name) + "` is neither declared nor could it be inferred" +
                          (upstream.empty() ? "" : ": " + upstream.all().front().cause),
                      "run shape inference on the model, or cut at another tensor");
  // Extents over the scratch import's symbols become symbols of ours: by name where they are one, else one for each
  // expression.
  llvm::DenseMap<mlir::AffineExpr, mlir::AffineExpr> renamed;
  for (auto &entry : types) {
    tg::Dims dims = tg::getDims(entry.second);
    for (auto [d, dim] : llvm::enumerate(dims)) {
      if (tg::getConstant(dim))
        continue;
      auto [it, isNew] = renamed.try_emplace(dim);
      auto symbol = llvm::dyn_cast<mlir::AffineSymbolExpr>(dim);
      if (isNew)
        it->second = symbol ? importer.symbols.get(inference.symbols().names()[symbol.getPosition()])
                            : importer.symbols.fresh((entry.first() + "_dim" + llvm::Twine(d)).str());
      dim = it->second;
    }
    entry.second = tg::getTensorType(dims, entry.second.getElementType());
  }
}

llvm::StringMap<mlir::RankedTensorType> ModelImport::inferTypes(llvm::ArrayRef<std::string> names) {
  llvm::StringMap<mlir::RankedTensorType> types;
  build();
  for (const std::string &name : names)
    if (NamedValue found = importer.lookup(name, scope);
        found.kind == NamedValue::Known && !NodeContext::isList(found.value))
      types[name] = llvm::cast<mlir::RankedTensorType>(found.value.getType());
  return types;
}

/// The type of an element of a sequence or an optional. No two elements share extents that are open.
mlir::RankedTensorType ModelImport::elementType(const ::onnx::ValueInfoProto &input, const InputElements &given) {
  ::onnx::TypeProto type = input.type();
  for (;;) {
    // Copies: an assignment from a part of itself would read what it overwrites.
    if (type.has_optional_type())
      type = ::onnx::TypeProto(type.optional_type().elem_type());
    else if (type.has_sequence_type())
      type = ::onnx::TypeProto(type.sequence_type().elem_type());
    else
      break;
  }
  if (type.has_tensor_type()) {
    auto *tensor = type.mutable_tensor_type();
    if (given.shape) {
      tensor->clear_shape();
      for (int64_t extent : *given.shape)
        if (auto *dim = tensor->mutable_shape()->add_dim(); extent >= 0)
          dim->set_dim_value(extent);
      (void)tensor->mutable_shape();
    }
    if (tensor->has_shape())
      for (auto &dim : *tensor->mutable_shape()->mutable_dim())
        if (!isFixed(dim))
          dim.Clear();
  }
  return importer.declaredType(type, inputs.back().name, "input");
}

/// An input of tensor type as it is; a sequence or an optional as the tensors that the user says are in it.
void ModelImport::expandInput(const ::onnx::ValueInfoProto &input) {
  const ::onnx::TypeProto &type = input.type();
  const InputElements *given = findElements(input.name());
  bool isOptional = type.has_optional_type();
  bool isSequence = type.has_sequence_type() || (isOptional && type.optional_type().elem_type().has_sequence_type());
  auto usage = [&](const llvm::Twine &cause) {
    importer.report(ErrorClass::Usage, "--elements: input `" + llvm::Twine(input.name()) + "` " + cause);
    inputs.push_back({input.name(), {}});
  };
  if (!isOptional && !isSequence) {
    if (given)
      return usage("is neither a sequence nor an optional");
    inputs.push_back({input.name(), importer.declaredType(type, input.name(), "input")});
    return;
  }
  if (!given) {
    importer.report(ErrorClass::Unsupported,
                    "input `" + llvm::Twine(input.name()) + "` has " + (isSequence ? "sequence" : "optional") +
                        " type; expected the number of its elements",
                    "give it with --elements=" + input.name() + "=" + (isSequence ? "COUNT" : "1 or =none"));
    inputs.push_back({input.name(), {}});
    return;
  }
  if (given->isAbsent && !isOptional)
    return usage("is a sequence; expected a count");
  if (!isSequence && !given->isAbsent && given->count != 1)
    return usage("is an optional of a tensor; expected 1 or none, got " + llvm::Twine(given->count));
  if (given->count > options.limits.maxTripCount) {
    importer.report(ErrorClass::Limit,
                    "--elements: input `" + llvm::Twine(input.name()) + "` has " + llvm::Twine(given->count) +
                        " elements",
                    "raise the limit with --max-trip-count");
    inputs.push_back({input.name(), {}});
    return;
  }
  if (isSequence || given->isAbsent)
    lists.push_back({input.name(), inputs.size()});
  for (int64_t i = 0; i < given->count; ++i) {
    std::string name = isSequence ? input.name() + "[" + std::to_string(i) + "]" : input.name();
    if (isSequence && findInput(name))
      return usage("has an element of the name of another input, `" + name + "`");
    inputs.push_back({name, {}});
    inputs.back().type = elementType(input, *given);
  }
}

void ModelImport::findInputs() {
  llvm::StringSet<> defaults;
  for (const auto &tensor : graph.initializer())
    defaults.insert(tensor.name());
  if (options.from.empty()) {
    for (const auto &input : graph.input())
      if (!defaults.contains(input.name()) && !findBinding(input.name()) &&
          (options.to.empty() || reached.contains(input.name())))
        expandInput(input);
    return;
  }
  for (const auto &input : graph.input())
    if (reached.contains(input.name()) && !llvm::is_contained(options.from, input.name()) &&
        !defaults.contains(input.name()) && !findBinding(input.name()))
      importer.report(ErrorClass::Usage,
                      "--from: the part of the graph also needs input `" + llvm::Twine(input.name()) + "`",
                      "add it to --from, or give it a value with --bind");
  std::vector<std::string> unknown;
  for (const std::string &name : options.from) {
    const ::onnx::ValueInfoProto *declared = findInput(name);
    for (const auto &info : graph.value_info())
      if (info.name() == name && info.type().tensor_type().has_shape())
        declared = &info;
    inputs.push_back(
        {name, declared ? importer.declaredType(declared->type(), name, "input") : mlir::RankedTensorType()});
    if (!declared)
      unknown.push_back(name);
  }
  if (unknown.empty())
    return;
  llvm::StringMap<mlir::RankedTensorType> types;
  inferCutTypes(unknown, types);
  for (Input &input : inputs)
    if (types.count(input.name))
      input.type = types[input.name];
}

mlir::Value ModelImport::bindNumbers(const Binding &binding, mlir::RankedTensorType type) {
  llvm::SmallVector<StringRef> texts;
  StringRef(binding.numbers).split(texts, ',');
  mlir::Type element = type.getElementType();
  llvm::SmallVector<mlir::Attribute> numbers;
  for (StringRef text : texts) {
    double real = 0;
    uint64_t natural = 0;
    int64_t integer = 0;
    if (!text.trim().getAsInteger(10, natural))
      integer = static_cast<int64_t>(natural);
    if (auto floatType = llvm::dyn_cast<mlir::FloatType>(element); floatType && !text.trim().getAsDouble(real)) {
      llvm::APFloat value(real);
      bool inexact = false;
      value.convert(floatType.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &inexact);
      numbers.push_back(mlir::FloatAttr::get(floatType, value));
    } else if (llvm::isa<mlir::IntegerType>(element) && (natural != 0 || !text.trim().getAsInteger(10, integer))) {
      numbers.push_back(
          mlir::IntegerAttr::get(element, llvm::APInt(64, integer).trunc(element.getIntOrFloatBitWidth())));
    } else {
      importer.report(ErrorClass::Usage,
                      "--bind: input `" + llvm::Twine(binding.input) + "`: expected a number, got `" + text + "`");
      return {};
    }
  }
  if (static_cast<int64_t>(numbers.size()) != type.getNumElements()) {
    importer.report(ErrorClass::Usage, "--bind: input `" + llvm::Twine(binding.input) + "`: expected " +
                                           llvm::Twine(type.getNumElements()) + " numbers, got " +
                                           llvm::Twine(numbers.size()));
    return {};
  }
  mlir::Value value = tg::ConstantOp::create(importer.builder, mlir::DenseElementsAttr::get(type, numbers));
  importer.markConstant(value);
  return value;
}

mlir::Value ModelImport::bind(const Binding &binding, const ::onnx::ValueInfoProto &input) {
  auto fail = [&](const llvm::Twine &cause) {
    importer.report(ErrorClass::Usage, "--bind: input `" + llvm::Twine(binding.input) + "`: " + cause);
    return mlir::Value();
  };
  mlir::RankedTensorType declared = importer.declaredType(input.type(), input.name(), "input");
  if (!declared)
    return {};
  mlir::RankedTensorType type = declared;
  if (binding.shape) {
    bool fits = static_cast<int64_t>(binding.shape->size()) == declared.getRank();
    for (int64_t d = 0; fits && d < declared.getRank(); ++d)
      fits = (*binding.shape)[d] >= 0 && (declared.isDynamicDim(d) || declared.getDimSize(d) == (*binding.shape)[d]);
    if (!fits)
      return fail("the shape given does not fit the declared " + importer.typeText(declared));
    type = mlir::RankedTensorType::get(*binding.shape, declared.getElementType());
  }
  if (!type.hasStaticShape())
    return fail("its declared shape " + importer.typeText(type) + " is not static; give a shape");
  std::optional<int64_t> size = tg::getByteSize(type);
  if (!size)
    return fail("the shape given is too large");
  if (binding.bytes.empty() && !binding.numbers.empty())
    return bindNumbers(binding, type);
  if (static_cast<uint64_t>(*size) != binding.bytes.size())
    return fail("expected " + llvm::Twine(*size) + " bytes, got " + llvm::Twine(binding.bytes.size()));
  mlir::Value value =
      importer.tensorFromBytes(type, llvm::ArrayRef<char>(binding.bytes.data(), binding.bytes.size()), std::nullopt);
  importer.markConstant(value);
  return value;
}

void ModelImport::importBody(mlir::func::FuncOp function) {
  mlir::Block *block = function.addEntryBlock();
  importer.builder.setInsertionPointToEnd(block);
  importer.mainBlock = block;
  scope.frame = &importer.modelFrame;
  importer.declareInitializers(graph, scope);
  GraphImporter::declareTypes(graph.value_info(), scope);
  GraphImporter::declareTypes(graph.output(), scope);
  for (const auto &input : graph.input())
    if (const Binding *binding = findBinding(input.name()))
      scope.values[input.name()] = bind(*binding, input);
  for (auto [i, input] : llvm::enumerate(inputs))
    scope.values[input.name] = block->getArgument(i);
  for (const auto &[name, first] : lists) {
    const InputElements &given = *findElements(name);
    mlir::Value list = importer.list(block->getArguments().slice(first, given.count), given.isAbsent);
    if (!list)
      importer.report(ErrorClass::Limit, "--elements: the inputs have too many elements in all");
    scope.values[findInput(name)->name()] = list;
  }
  importer.importNodes(graph.node(), scope, needed);
}

/// The results, and their names in `resultNames`: a sequence gives one for each element, `name[0]` and so on.
bool ModelImport::importOutputs(llvm::SmallVectorImpl<mlir::Value> &results) {
  for (const std::string &name : outputs) {
    NamedValue found = importer.lookup(name, scope);
    if (found.kind == NamedValue::Unknown)
      importer.report(ErrorClass::Invalid, "output `" + llvm::Twine(name) + "` is not produced by any node");
    if (!found.value || !NodeContext::isList(found.value)) {
      results.push_back(found.value);
      resultNames.push_back(name);
      continue;
    }
    if (NodeContext::stackedRows(found.value))
      importer.report(ErrorClass::Unsupported,
                      "output `" + llvm::Twine(name) + "` is a sequence of a length known when the model runs",
                      "where a Loop or a SplitToSequence gives it, say the number of elements with --elements=" + name +
                          "=COUNT, which is checked then; else join the elements with ConcatFromSequence");
    if (NodeContext::isEmptyOptional(found.value))
      importer.report(ErrorClass::Unsupported, "output `" + llvm::Twine(name) + "` is an empty optional");
    for (auto [i, element] : llvm::enumerate(NodeContext::elements(found.value))) {
      results.push_back(element);
      resultNames.push_back(name + "[" + std::to_string(i) + "]");
    }
  }
  return llvm::all_of(results, [](mlir::Value value) { return static_cast<bool>(value); });
}

static void eraseDead(mlir::Block &block) {
  for (mlir::Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (mlir::isOpTriviallyDead(&op))
      op.erase();
}

/// Bodies that no loop or branch runs: a condition was decided after they were built.
static void eraseUnusedBodies(mlir::ModuleOp module) {
  for (bool isChanged = true; isChanged;) {
    isChanged = false;
    for (auto each : llvm::make_early_inc_range(module.getOps<mlir::func::FuncOp>()))
      if (each.isPrivate() && mlir::SymbolTable::symbolKnownUseEmpty(each, module)) {
        each.erase();
        isChanged = true;
      }
  }
}

bool ModelImport::build() {
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      (void)importer.reportNode(ErrorClass::Invalid, diagnostic.str());
    return mlir::success();
  });
  size_t before = diagnostics.count();
  checkNames();
  if (diagnostics.count() != before)
    return false;
  fixBoundDims();
  findNeeded();
  findInputs();
  module = mlir::ModuleOp::create(importer.builder.getLoc());
  llvm::SmallVector<mlir::Type> argumentTypes;
  for (const Input &input : inputs)
    argumentTypes.push_back(input.type);
  if (llvm::is_contained(argumentTypes, mlir::Type())) {
    // Nodes cannot be judged without their inputs.
    summarize();
    return false;
  }
  importer.builder.setInsertionPointToEnd(module->getBody());
  auto function = mlir::func::FuncOp::create(importer.builder, options.functionName,
                                             importer.builder.getFunctionType(argumentTypes, {}));
  importBody(function);
  llvm::SmallVector<mlir::Value> results;
  bool complete = importOutputs(results);
  for (const std::string &name : importer.symbols.unused())
    importer.report(ErrorClass::Usage, "--dim: the model has no dimension named `" + llvm::Twine(name) + "`",
                    "names: " + llvm::join(importer.symbols.names(), ", "));
  summarize();
  if (!complete || diagnostics.count() != before)
    return false;
  mlir::func::ReturnOp::create(importer.builder, results);
  function.setFunctionType(importer.builder.getFunctionType(argumentTypes, mlir::ValueRange(results).getTypes()));
  for (auto [i, input] : llvm::enumerate(inputs))
    function.setArgAttr(i, "tg.name", importer.builder.getStringAttr(input.name));
  for (auto [i, name] : llvm::enumerate(resultNames))
    function.setResultAttr(i, "tg.name", importer.builder.getStringAttr(name));
  llvm::SmallVector<StringRef> names(importer.symbols.names().begin(), importer.symbols.names().end());
  (*module)->setAttr(tg::TileGraphDialect::symbolsAttrName, importer.builder.getStrArrayAttr(names));
  applyAliases(function, options, diagnostics);
  if (diagnostics.count() != before)
    return false;
  for (auto each : module->getOps<mlir::func::FuncOp>())
    eraseDead(each.front());
  eraseUnusedBodies(*module);
  if (failed(mlir::verify(*module))) {
    importer.report(ErrorClass::Internal, "the imported module does not verify", "please report this with the model");
    return false;
  }
  return true;
}

//===--- Summary ---===//

static void summarizeValue(const GraphImporter &importer, StringRef name, mlir::Type type,
                           std::vector<ModelSummary::Value> &list) {
  list.push_back({name.str(), type ? importer.typeText(type) : std::string("?")});
}

void ModelImport::summarize() {
  if (!summary)
    return;
  summary->irVersion = model.proto->ir_version();
  summary->devices = readDevices(*model.proto, diagnostics);
  summary->producer = model.proto->producer_name() +
                      (model.proto->producer_version().empty() ? "" : " " + model.proto->producer_version());
  for (const auto &import : model.proto->opset_import())
    summary->opsets.push_back({canonicalDomain(import.domain()).str(), import.version()});
  for (const Input &input : inputs)
    summarizeValue(importer, input.name, input.type, summary->inputs);
  for (const std::string &name : outputs) {
    auto value = scope.values.find(name);
    summarizeValue(importer, name,
                   value != scope.values.end() && value->second ? value->second.getType() : mlir::Type(),
                   summary->outputs);
  }
  summary->symbols.assign(importer.symbols.names().begin(), importer.symbols.names().end());
  for (const auto &tensor : graph.initializer()) {
    llvm::Expected<TensorLayout> layout = checkTensor(model, tensor, options.limits);
    if (!layout) {
      llvm::consumeError(layout.takeError());
      continue;
    }
    ++summary->initializers;
    summary->parameters += layout->elements;
    summary->parameterBytes += layout->bytes;
  }
  summary->nodes = graph.node_size();
  summary->unusedNodes = llvm::count(needed, false);
  for (const auto &[key, row] : importer.opStatistics()) {
    ModelSummary::Op op;
    std::tie(op.domain, op.op, op.version) = key;
    op.count = row.count;
    op.failed = row.failed;
    op.failedNodes = row.failedNodes;
    op.reason = row.reason;
    if (const OpEntry *entry = findOp(op.domain, op.op, op.version)) {
      op.known = true;
      op.note = entry->note.str();
    }
    summary->ops.push_back(std::move(op));
  }
}

ModuleRef weft::onnx::importModel(MappedBytes file, const ImportOptions &options, mlir::MLIRContext &context,
                                  Diagnostics &diagnostics, ModelSummary *summary) {
  context.loadDialect<tg::TileGraphDialect, mlir::func::FuncDialect>();
  std::optional<Model> model = readModel(std::move(file), options.limits, diagnostics);
  if (!model)
    return {};
  return ModelImport(*model, options, context, diagnostics, summary).run();
}

ModuleRef weft::onnx::importModel(StringRef path, const ImportOptions &options, mlir::MLIRContext &context,
                                  Diagnostics &diagnostics, ModelSummary *summary) {
  std::optional<MappedBytes> file = mapFile(path, diagnostics);
  if (!file)
    return {};
  return importModel(std::move(*file), options, context, diagnostics, summary);
}

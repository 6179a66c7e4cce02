// Types and tensors of messages as MLIR types and values: symbols for dim_params, constants for small tensors, weights
// for large ones.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GraphImporter.h"
#include "Tensors.h"
#include "llvm/Support/Path.h"

using namespace weft;
using namespace weft::onnx;
using mlir::AffineExpr;

//===--- Symbols ---===//

SymbolNames::SymbolNames(mlir::MLIRContext *context, llvm::ArrayRef<std::pair<std::string, int64_t>> given)
    : context(context) {
  for (const auto &[name, value] : given)
    values[name] = {value, false};
}

AffineExpr SymbolNames::add(llvm::StringRef name) {
  auto [it, isNew] = index.try_emplace(name, list.size());
  if (isNew)
    list.push_back(name.str());
  return mlir::getAffineSymbolExpr(it->second, context);
}

AffineExpr SymbolNames::get(llvm::StringRef name) {
  auto value = values.find(name);
  if (value == values.end())
    return add(name);
  value->second.second = true;
  return mlir::getAffineConstantExpr(value->second.first, context);
}

AffineExpr SymbolNames::fresh(llvm::StringRef hint) {
  std::string name = hint.str();
  for (unsigned i = 2; index.contains(name); ++i)
    name = (hint + "_" + llvm::Twine(i)).str();
  return get(name);
}

std::vector<std::string> SymbolNames::unused() const {
  std::vector<std::string> names;
  for (const auto &entry : values)
    if (!entry.second.second)
      names.push_back(entry.first().str());
  llvm::sort(names);
  return names;
}

//===--- Declared types ---===//

static const char *kindOf(const ::onnx::TypeProto &type) {
  switch (type.value_case()) {
  case ::onnx::TypeProto::kTensorType:
    return "tensor";
  case ::onnx::TypeProto::kSequenceType:
    return "sequence";
  case ::onnx::TypeProto::kMapType:
    return "map";
  case ::onnx::TypeProto::kOptionalType:
    return "optional";
  case ::onnx::TypeProto::kSparseTensorType:
    return "sparse tensor";
  default:
    return "unknown";
  }
}

mlir::Value GraphImporter::list(mlir::ValueRange elements, bool isOptional) {
  listElements += 2 * elements.size(); // An operand of the cast and an entry of its type.
  if (listElements > maxListElements)
    return {};
  mlir::Type type = builder.getNoneType();
  if (!isOptional)
    type = builder.getTupleType(elements.getTypes());
  return mlir::UnrealizedConversionCastOp::create(builder, type, elements).getResult(0);
}

mlir::RankedTensorType GraphImporter::declaredType(const ::onnx::TypeProto &type, llvm::StringRef value,
                                                   const llvm::Twine &what) {
  std::string name = (what + " `" + value + "`").str();
  auto fail = [&](ErrorClass cls, const llvm::Twine &cause, const llvm::Twine &remedy = {}) {
    report(cls, llvm::Twine(name) + " " + cause, remedy);
    return mlir::RankedTensorType();
  };
  if (!type.has_tensor_type())
    return fail(type.value_case() == ::onnx::TypeProto::VALUE_NOT_SET ? ErrorClass::Invalid : ErrorClass::Unsupported,
                "has " + llvm::Twine(kindOf(type)) + " type; expected a tensor", "cut the model with --from and --to");
  const auto &tensor = type.tensor_type();
  mlir::Type element = elementTypeOf(tensor.elem_type(), &context);
  if (!element)
    return fail(dataTypeName(tensor.elem_type()).find(' ') == std::string::npos && tensor.elem_type() != 0
                    ? ErrorClass::Unsupported
                    : ErrorClass::Invalid,
                "has element type " + dataTypeName(tensor.elem_type()) + ", which is not supported");
  if (!tensor.has_shape())
    return fail(ErrorClass::Unsupported, "has no declared rank", "export the model with input shapes");
  if (static_cast<unsigned>(tensor.shape().dim_size()) > options.limits.maxRank)
    return fail(ErrorClass::Limit, "has rank " + llvm::Twine(tensor.shape().dim_size()) + ", the limit is " +
                                       llvm::Twine(options.limits.maxRank));
  tg::Dims dims;
  __uint128_t elements = 1;
  for (const auto &[d, dim] : llvm::enumerate(tensor.shape().dim())) {
    if (isFixed(dim)) {
      if (dim.dim_value() < 0)
        return fail(ErrorClass::Invalid, "has negative dimension " + llvm::Twine(dim.dim_value()),
                    "name the dimension (dim_param) if it is dynamic");
      dims.push_back(mlir::getAffineConstantExpr(dim.dim_value(), &context));
    } else if (isNamed(dim)) {
      dims.push_back(symbols.get(dim.dim_param()));
    } else {
      dims.push_back(symbols.fresh((value + "_dim" + llvm::Twine(d)).str()));
    }
  }
  for (AffineExpr dim : dims) {
    elements *= static_cast<uint64_t>(std::max<int64_t>(tg::getConstant(dim).value_or(1), 1));
    if (elements > (uint64_t(1) << 48))
      return fail(ErrorClass::Invalid, "has more than 2^48 elements");
  }
  return tg::getTensorType(dims, element);
}

bool GraphImporter::checkDeclared(const ::onnx::TypeProto &declared, llvm::StringRef name, mlir::Value value) {
  if (!declared.has_tensor_type())
    return true;
  const auto &tensor = declared.tensor_type();
  auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
  bool wrongElement = tensor.elem_type() != 0 && elementTypeOf(tensor.elem_type(), &context) != type.getElementType();
  bool wrongShape = tensor.has_shape() && tensor.shape().dim_size() != type.getRank();
  for (int d = 0; tensor.has_shape() && !wrongShape && d < tensor.shape().dim_size(); ++d)
    wrongShape = isFixed(tensor.shape().dim(d)) && !type.isDynamicDim(d) &&
                 type.getDimSize(d) != tensor.shape().dim(d).dim_value();
  // Handlers give strings, of which there are no tensors, as numbers.
  if (wrongElement && tensor.elem_type() == ::onnx::TensorProto::STRING) {
    diagnostics.warn("node `" + displayName(*current->node) + "`: result `" + name +
                     "` of strings is given as their indices in the node's list");
    return true;
  }
  if (!wrongElement && !wrongShape)
    return true;
  std::string text = dataTypeName(tensor.elem_type());
  if (tensor.has_shape()) {
    text += " [";
    for (const auto &[d, dim] : llvm::enumerate(tensor.shape().dim()))
      text += (d ? ", " : "") + (dim.has_dim_value()   ? std::to_string(dim.dim_value())
                                 : dim.has_dim_param() ? dim.dim_param()
                                                       : "?");
    text += "]";
  }
  std::string cause = ("result `" + name + "` has type ").str() + typeText(type) + " but is declared as " + text;
  if (wrongElement)
    return mlir::succeeded(reportNode(ErrorClass::Invalid, cause));
  // Tools that change a graph leave the shapes declared before; onnxruntime warns too.
  diagnostics.warn("node `" + displayName(*current->node) + "`: " + cause);
  return true;
}

std::string GraphImporter::typeText(mlir::Type type) const {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto list = llvm::dyn_cast<mlir::TupleType>(type)) {
    if (list.size() == 1 && llvm::isa<mlir::TupleType>(list.getType(0)))
      return "a sequence of a length known when the model runs";
    os << "a sequence of " << list.size();
    return text;
  }
  if (llvm::isa<mlir::NoneType>(type))
    return "an empty optional";
  if (!tensor) {
    os << type;
    return text;
  }
  os << tensor.getElementType() << '[';
  for (const auto &[d, dim] : llvm::enumerate(tg::getDims(type)))
    os << (d ? ", " : "") << tg::formatDims(dim, symbols.names());
  os << ']';
  return text;
}

//===--- Tensors ---===//

llvm::StringRef GraphImporter::modelSource() {
  if (!fileSource.empty())
    return fileSource;
  auto &store = *context.getLoadedDialect<tg::TileGraphDialect>();
  tg::WeightStore::Source source{model.file.bytes, model.file.owner, model.file.path};
  std::string base = model.file.path.empty() ? "model" : llvm::sys::path::filename(model.file.path).str();
  fileSource = base;
  for (unsigned i = 2; !store.getWeightStore().add(fileSource, source); ++i)
    fileSource = base + "#" + std::to_string(i);
  return fileSource;
}

mlir::Value GraphImporter::makeWeight(mlir::RankedTensorType type, llvm::StringRef source, uint64_t offset,
                                      uint64_t size) {
  auto data = tg::DataAttr::get(&context, source, static_cast<int64_t>(offset), static_cast<int64_t>(size));
  return tg::WeightOp::create(builder, type, data);
}

mlir::Value GraphImporter::tensorFromBytes(mlir::RankedTensorType type, llvm::ArrayRef<char> bytes,
                                           std::optional<uint64_t> fileOffset) {
  if (bytes.size() <= inlineRawBytes)
    return tg::ConstantOp::create(builder, denseFromRaw(type, bytes));
  if (type.getElementType().isInteger(1) && llvm::any_of(bytes, [](char byte) { return byte & ~1; })) {
    // Kernels read booleans as 0 or 1.
    std::string clean(bytes.size(), '\0');
    llvm::transform(bytes, clean.begin(), [](char byte) { return byte != 0; });
    auto &store = context.getLoadedDialect<tg::TileGraphDialect>()->getWeightStore();
    return makeWeight(type, store.addBuffer(std::move(clean)), 0, bytes.size());
  }
  if (fileOffset)
    return makeWeight(type, modelSource(), *fileOffset, bytes.size());
  auto &store = context.getLoadedDialect<tg::TileGraphDialect>()->getWeightStore();
  return makeWeight(type, store.addBuffer(bytes.empty() ? std::string() : std::string(bytes.data(), bytes.size())), 0,
                    bytes.size());
}

mlir::Value GraphImporter::importTensor(const ::onnx::TensorProto &tensor, llvm::StringRef name, Fail fail) {
  llvm::Expected<TensorLayout> layout = checkTensor(model, tensor, options.limits);
  if (!layout) {
    fail(ErrorClass::Invalid, llvm::toString(layout.takeError()));
    return {};
  }
  mlir::Type element = elementTypeOf(layout->dataType, &context);
  if (!element) {
    fail(ErrorClass::Unsupported, "element type " + dataTypeName(layout->dataType) + " is not supported");
    return {};
  }
  auto type = mlir::RankedTensorType::get(layout->shape, element);
  mlir::OpBuilder::InsertionGuard guard(builder);
  if (mainBlock && builder.getInsertionBlock() != mainBlock)
    builder.setInsertionPointToEnd(mainBlock);
  mlir::Location saved = builder.getLoc();
  if (!name.empty())
    builder.setLoc(mlir::NameLoc::get(builder.getStringAttr(name)));
  mlir::Value value;
  if (layout->storage == Storage::External) {
    llvm::Expected<ExternalRange> range = external.resolve(tensor, layout->bytes);
    if (!range && external.wasMissing() && !options.needWeights) {
      llvm::consumeError(range.takeError());
      value = makeWeight(type, "missing", 0, layout->bytes);
    } else if (!range) {
      fail(ErrorClass::Invalid, llvm::toString(range.takeError()));
    } else {
      auto &store = context.getLoadedDialect<tg::TileGraphDialect>()->getWeightStore();
      auto bytes = store.lookup(range->source, static_cast<int64_t>(range->offset), static_cast<int64_t>(range->size));
      bool copy = !bytes || bytes->size() <= inlineRawBytes || element.isInteger(1);
      value = copy ? tensorFromBytes(type, bytes.value_or(llvm::ArrayRef<char>()), std::nullopt)
                   : makeWeight(type, range->source, range->offset, range->size);
    }
  } else if (layout->storage == Storage::Raw) {
    RawData raw = model.rawData(tensor.raw_data());
    value = tensorFromBytes(type, raw.bytes, raw.fileOffset);
  } else {
    std::string raw = typedToRaw(tensor, *layout);
    value = tensorFromBytes(type, llvm::ArrayRef<char>(raw.data(), raw.size()), std::nullopt);
  }
  builder.setLoc(saved);
  if (value)
    constants.insert(value);
  return value;
}

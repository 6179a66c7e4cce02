// Features of classical models: TfIdfVectorizer, and of ai.onnx.ml what selects, scales, encodes and fills in.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Common.h"
#include "Shared/Expr.h"
#include "Shared/Window.h"
#include <cmath>

using namespace mlir;

namespace weft::onnx {
namespace {

//===--- TfIdfVectorizer ---===//

/// Pairs of a length and a distance that are counted at most; each is about ten ops.
constexpr int64_t maxPasses = 256;

/// The n-grams of one length: rows of `numbers`, and the column of the result that counts each.
struct Grams {
  int64_t length = 0;
  SmallVector<int64_t> numbers, columns;
};

struct Vectorizer {
  int64_t shortest = 1, longest = 1, maxSkip = 0, width = 0;
  unsigned mode = 0;
  SmallVector<Grams> pools;
  SmallVector<double> weights; ///< One a column; may be empty.
};

/// Splits the pool of numbers, which has the 1-grams first, then the 2-grams.
LogicalResult readPools(NodeContext &n, Vectorizer &v) {
  auto counts = n.intsAttr("ngram_counts"), columns = n.intsAttr("ngram_indexes");
  if (!n.hasAttr("pool_int64s"))
    return n.unsupported("a pool of strings is not supported");
  auto pool = n.intsAttr("pool_int64s");
  if (failed(counts) || failed(columns) || failed(pool))
    return failure();
  int64_t size = int64_t(pool->size()), next = 0;
  for (auto [i, start] : llvm::enumerate(*counts)) {
    int64_t end = i + 1 < counts->size() ? (*counts)[i + 1] : size, length = int64_t(i) + 1;
    if (start < 0 || end < start || end > size || (end - start) % length != 0)
      return n.error("expected attribute `ngram_counts` to split the " + Twine(size) + " numbers of the pool into " +
                     Twine(length) + "-grams, got [" + Twine(start) + ", " + Twine(end) + ")");
    int64_t grams = (end - start) / length;
    if (grams > int64_t(columns->size()) - next)
      return n.error("expected an entry of attribute `ngram_indexes` for every n-gram, got " + Twine(columns->size()));
    if (grams > 0 && length >= v.shortest && length <= v.longest)
      v.pools.push_back({length, SmallVector<int64_t>(ArrayRef(*pool).slice(start, end - start)),
                         SmallVector<int64_t>(ArrayRef(*columns).slice(next, grams))});
    next += grams;
  }
  for (int64_t column : *columns) {
    if (column < 0 || column >= maxTableEntries)
      return n.error("expected entries of attribute `ngram_indexes` in [0, " + Twine(maxTableEntries) + "), got " +
                     Twine(column));
    v.width = std::max(v.width, column + 1);
  }
  return success();
}

FailureOr<Vectorizer> readVectorizer(NodeContext &n) {
  Vectorizer v;
  FailureOr<int64_t> shortest = n.intAttr("min_gram_length"), longest = n.intAttr("max_gram_length"),
                     skip = n.intAttr("max_skip_count");
  FailureOr<unsigned> mode = n.choiceAttr("mode", {"TF", "IDF", "TFIDF"}, "");
  FailureOr<SmallVector<double>> weights = n.floatsAttr("weights", SmallVector<double>());
  if (failed(shortest) || failed(longest) || failed(skip) || failed(mode) || failed(weights))
    return failure();
  if (*shortest < 1 || *longest < *shortest || *skip < 0)
    return n.error("expected 1 <= min_gram_length <= max_gram_length and max_skip_count of at least 0, got " +
                   Twine(*shortest) + ", " + Twine(*longest) + " and " + Twine(*skip));
  v.shortest = *shortest;
  v.longest = *longest;
  v.maxSkip = *skip;
  v.mode = *mode;
  v.weights = *weights;
  if (failed(readPools(n, v)))
    return failure();
  if (!v.weights.empty() && int64_t(v.weights.size()) != v.width)
    return n.error("expected " + Twine(v.width) + " entries of attribute `weights`, got " + Twine(v.weights.size()));
  return v;
}

/// How often each gram stands in each row of x (rows x numbers), its numbers `distance` apart: f32 rows x grams.
Value countGrams(NodeContext &n, Value x, const Grams &grams, int64_t distance) {
  int64_t span = (grams.length - 1) * distance, count = int64_t(grams.columns.size());
  // As many starts as numbers; those that reach behind the end do not count.
  Value padded = padOrCrop(n, x, n.scalarInt(0, n.elementType(x)), {0, 0}, {0, span});
  Value windows = n.make<tg::WindowOp>(padded, ArrayRef<int64_t>{1}, ArrayRef<int64_t>{grams.length},
                                       ArrayRef<int64_t>{1}, ArrayRef<int64_t>{distance});
  if (!windows)
    return {};
  AffineExpr one = n.constExpr(1), starts = n.dim(x, 1);
  Type f32 = n.b.getF32Type(), i64 = n.b.getI64Type();
  Value pool = intTable(n, grams.numbers, {count, grams.length});
  Expr numbers(n, n.cast(n.unsqueeze(windows, {2}), i64));
  Expr isEqual =
      numbers.compare(tg::CmpPredicate::Eq, Expr(n, n.reshape(pool, ArrayRef<int64_t>{1, 1, count, grams.length})));
  Value isGram = n.reduce(tg::Monoid::Min, isEqual.cast(f32), {3}, /*keepDims=*/false);
  Expr place = Expr(n, iota(n, 0, {starts}, i64)).reshape({one, starts, one});
  Expr isInside = place.compare(tg::CmpPredicate::Lt, Expr(n, extentScalar(n, starts, i64)) - double(span));
  return n.reduce(tg::Monoid::Add, isInside.select(Expr(n, isGram), 0.0), {1}, /*keepDims=*/false);
}

LogicalResult tfIdfVectorizer(NodeContext &n) {
  n.ignoreAttr("pool_strings");
  Value x = n.required(0);
  if (failed(n.checkNumInputs(1, 1)) || !x || failed(n.checkRank(x, 1, 2, "X")))
    return failure();
  if (!isInteger(n, x))
    return n.error("expected X of integers, got " + typeName(n.elementType(x)));
  FailureOr<Vectorizer> v = readVectorizer(n);
  if (failed(v))
    return failure();
  bool isRow = n.rank(x) == 1;
  if (isRow)
    x = n.unsqueeze(x, {0});
  Type f32 = n.b.getF32Type();
  std::optional<int64_t> numbers = n.staticDim(x, 1);
  // Counts of the lengths side by side, then each in its column.
  SmallVector<Value> counts;
  SmallVector<int64_t> columns;
  int64_t passes = 0;
  for (const Grams &grams : v->pools) {
    Expr sum(n, full(n, 0, f32, {n.dim(x, 0), n.constExpr(int64_t(grams.columns.size()))}));
    for (int64_t distance = 1; distance - 1 <= (grams.length == 1 ? 0 : v->maxSkip); ++distance) {
      if (numbers && (distance > *numbers || (grams.length - 1) * distance >= *numbers))
        break;
      if (++passes > maxPasses || grams.length * distance > maxWindowParameter)
        return n.limit("more than " + Twine(maxPasses) + " pairs of a length and a distance");
      sum = sum + Expr(n, countGrams(n, x, grams, distance));
    }
    counts.push_back(sum);
    llvm::append_range(columns, grams.columns);
  }
  Expr result(n, full(n, 0, f32, {n.dim(x, 0), n.constExpr(v->width)}));
  if (!counts.empty()) {
    MLIRContext *context = n.b.getContext();
    AffineExpr row = getAffineDimExpr(0, context), gram = getAffineDimExpr(1, context),
               column = getAffineSymbolExpr(0, context);
    result = Expr(n, n.make<tg::ScatterOp>(Value(result), n.intsConstant(columns), n.concat(counts, 1),
                                           AffineMapAttr::get(AffineMap::get(2, 1, {row, column}, context)),
                                           n.b.getAffineMapArrayAttr({AffineMap::get(2, 0, {gram}, context)}),
                                           tg::MonoidAttr::get(context, tg::Monoid::Add)));
  }
  if (v->mode == 1) // Whether it is there at all.
    result = result.compare(tg::CmpPredicate::Gt, 0.0).cast(f32);
  if (v->mode != 0 && !v->weights.empty())
    result = result * Expr(n, floatTable(n, v->weights, {v->width}, f32));
  return deliver(n, isRow && result ? n.squeeze(result, {0}) : Value(result));
}

//===--- ai.onnx.ml ---===//

/// Columns of the last dimension; a vector is one row.
LogicalResult arrayFeatureExtractor(NodeContext &n) {
  Value x = n.required(0), columns = n.required(1);
  if (failed(n.checkNumInputs(2, 2)) || !x || !columns || failed(n.checkRank(x, 1, 64, "X")))
    return failure();
  columns = n.reshape(columns, tg::Dims{tg::getNumElements(columns.getType())});
  if (n.rank(x) == 1)
    x = n.unsqueeze(x, {0});
  return deliver(n, take(n, x, columns, n.rank(x) - 1));
}

LogicalResult binarizer(NodeContext &n) {
  Value x = n.required(0);
  FailureOr<double> threshold = n.floatAttr("threshold", 0.0);
  if (failed(n.checkNumInputs(1, 1)) || !x || failed(threshold))
    return failure();
  Type element = n.elementType(x);
  Expr wide(n, isInteger(n, x) ? n.cast(x, n.b.getF64Type()) : x);
  return deliver(n, wide.compare(tg::CmpPredicate::Gt, *threshold).cast(element));
}

/// (x - offset) * scale along the last dimension, with one number for all columns or one for each.
LogicalResult scaler(NodeContext &n) {
  Value x = n.required(0);
  auto offset = n.floatsAttr("offset", SmallVector<double>()), scale = n.floatsAttr("scale", SmallVector<double>());
  if (failed(n.checkNumInputs(1, 1)) || !x || failed(n.checkRank(x, 1, 64, "X")) || failed(offset) || failed(scale))
    return failure();
  Type f32 = n.b.getF32Type();
  Expr result(n, n.cast(x, f32));
  AffineExpr width = n.dim(x, n.rank(x) - 1);
  auto table = [&](StringRef name, ArrayRef<double> numbers, double none) {
    if (numbers.size() < 2)
      return Expr(n, n.scalar(numbers.empty() ? none : numbers.front(), f32));
    if (failed(n.assumeEqual(width, n.constExpr(int64_t(numbers.size())), "columns and entries of `" + name + "`")))
      return Expr(n, Value());
    return Expr(n, floatTable(n, numbers, {int64_t(numbers.size())}, f32));
  };
  return deliver(n, (result - table("offset", *offset, 0)) * table("scale", *scale, 1));
}

/// Each row divided by its largest element or its 1- or 2-norm; a row of norm 0 stays.
LogicalResult normalizer(NodeContext &n) {
  Value x = n.required(0);
  FailureOr<unsigned> norm = n.choiceAttr("norm", {"MAX", "L1", "L2"}, "MAX");
  if (failed(n.checkNumInputs(1, 1)) || !x || failed(n.checkRank(x, 1, 2, "X")) || failed(norm))
    return failure();
  Expr rows(n, n.cast(x, n.b.getF32Type()));
  int64_t axis = n.rank(x) - 1;
  auto reduce = [&](tg::Monoid kind, Expr each) { return Expr(n, n.reduce(kind, each, {axis}, /*keepDims=*/true)); };
  Expr size = *norm == 0   ? reduce(tg::Monoid::Max, rows)
              : *norm == 1 ? reduce(tg::Monoid::Add, rows.unary<tg::AbsOp>())
                           : reduce(tg::Monoid::Add, rows * rows).unary<tg::SqrtOp>();
  return deliver(n, rows / size.compare(tg::CmpPredicate::Eq, 0.0).select(size.like(1), size));
}

/// Elements equal to `replaced` (NaN too) become the numbers of their columns.
LogicalResult imputer(NodeContext &n) {
  Value x = n.required(0);
  if (failed(n.checkNumInputs(1, 1)) || !x || failed(n.checkRank(x, 1, 2, "X")))
    return failure();
  bool areFloats = isFloat(n, x);
  SmallVector<double> numbers;
  if (areFloats) {
    auto given = n.floatsAttr("imputed_value_floats");
    if (failed(given))
      return failure();
    numbers = *given;
  } else {
    auto given = n.intsAttr("imputed_value_int64s");
    if (failed(given))
      return failure();
    llvm::append_range(numbers, *given);
  }
  FailureOr<double> replacedFloat = n.floatAttr("replaced_value_float", 0.0);
  FailureOr<int64_t> replacedInt = n.intAttr("replaced_value_int64", 0);
  if (failed(replacedFloat) || failed(replacedInt))
    return failure();
  if (numbers.empty())
    return n.error("expected numbers to fill in");
  AffineExpr width = n.dim(x, n.rank(x) - 1);
  if (numbers.size() > 1 &&
      failed(n.assumeEqual(width, n.constExpr(int64_t(numbers.size())), "columns and numbers to fill in")))
    return failure();
  Expr value(n, x), isMissing(n, Value());
  if (areFloats && std::isnan(*replacedFloat))
    isMissing = Expr(n, n.make<tg::IsNanOp>(x));
  else
    isMissing = value.compare(tg::CmpPredicate::Eq, areFloats ? *replacedFloat : double(*replacedInt));
  Type element = n.elementType(x);
  int64_t count = int64_t(numbers.size());
  Value table = areFloats ? floatTable(n, numbers, {count}, element)
                          : n.cast(intTable(n, llvm::to_vector_of<int64_t>(numbers), {count}), element);
  return deliver(n, isMissing.select(Expr(n, n.broadcastTo(table, n.dims(x))), value));
}

/// All inputs, as floats, side by side.
LogicalResult featureVectorizer(NodeContext &n) {
  n.ignoreAttr("inputdimensions");
  SmallVector<Value> columns;
  for (unsigned i = 0; i < n.numInputs(); ++i) {
    Value x = n.required(i);
    if (!x || failed(n.checkRank(x, 1, 2, "X")))
      return failure();
    columns.push_back(n.cast(n.rank(x) == 1 ? n.unsqueeze(x, {0}) : x, n.b.getF32Type()));
  }
  return deliver(n, n.concat(columns, 1));
}

/// A new last dimension with 1 where an element is the category. Without `zeros`, onnxruntime refuses other elements
/// when it runs; here they give zeros too.
LogicalResult oneHotEncoder(NodeContext &n) {
  Value x = n.required(0);
  FailureOr<SmallVector<int64_t>> categories = n.intsAttr("cats_int64s", SmallVector<int64_t>());
  n.ignoreAttr("zeros");
  if (failed(n.checkNumInputs(1, 1)) || !x || failed(categories))
    return failure();
  if (categories->empty())
    return n.unsupported("categories that are strings are not supported");
  Expr value(n, n.unsqueeze(n.cast(x, n.b.getI64Type()), {n.rank(x)}));
  return deliver(n, value.compare(tg::CmpPredicate::Eq, Expr(n, n.intsConstant(*categories))).cast(n.b.getF32Type()));
}

/// Numbers of attribute `name`s, `name`int64s, `name`floats or `name`tensor.
FailureOr<Value> encoderTable(NodeContext &n, const std::string &name) {
  if (n.hasAttr(name + "_int64s")) {
    auto numbers = n.intsAttr(name + "_int64s");
    return failed(numbers) ? FailureOr<Value>(failure()) : FailureOr<Value>(n.intsConstant(*numbers));
  }
  if (n.hasAttr(name + "_floats")) {
    auto numbers = n.floatsAttr(name + "_floats");
    if (failed(numbers))
      return failure();
    return floatTable(n, *numbers, {int64_t(numbers->size())}, n.b.getF32Type());
  }
  if (n.hasAttr(name + "_tensor"))
    return n.tensorAttr(name + "_tensor");
  return n.unsupported("`" + name + "` that are strings are not supported");
}

/// The value that stands at the position of an element among the keys, or the default.
LogicalResult labelEncoder(NodeContext &n) {
  Value x = n.required(0);
  FailureOr<Value> keys = encoderTable(n, "keys"), values = encoderTable(n, "values");
  if (failed(n.checkNumInputs(1, 1)) || !x || failed(keys) || failed(values) || !*keys || !*values)
    return failure();
  std::optional<int64_t> count = n.staticDim(*keys, 0);
  if (n.rank(*keys) != 1 || n.rank(*values) != 1 || !count || n.staticDim(*values, 0) != count || *count < 1)
    return n.error("expected as many keys as values, got " + n.extentsText(n.dims(*keys)) + " and " +
                   n.extentsText(n.dims(*values)));
  Type element = n.elementType(*values);
  Value other;
  if (n.hasAttr("default_tensor")) {
    FailureOr<Value> given = n.tensorAttr("default_tensor");
    if (failed(given) || !*given)
      return failure();
    other = n.reshape(n.cast(*given, element), tg::Dims());
  } else if (isa<FloatType>(element)) {
    FailureOr<double> given = n.floatAttr("default_float", -0.0);
    other = failed(given) ? Value() : n.scalar(*given, element);
  } else {
    FailureOr<int64_t> given = n.intAttr("default_int64", -1);
    other = failed(given) ? Value() : n.scalarInt(*given, element);
  }
  if (n.elementType(x) != n.elementType(*keys))
    return n.error("expected elements of type " + typeName(n.elementType(*keys)) + ", got " +
                   typeName(n.elementType(x)));
  Expr value(n, n.unsqueeze(x, {n.rank(x)})), key(n, *keys), matches = value.compare(tg::CmpPredicate::Eq, key);
  if (isFloat(n, x))
    matches = matches | (Expr(n, n.make<tg::IsNanOp>(Value(value))) & Expr(n, n.make<tg::IsNanOp>(Value(key))));
  // The first key that fits; behind the last one is the default.
  Type i64 = n.b.getI64Type();
  Expr place = matches.select(Expr(n, iota(n, 0, {n.constExpr(*count)}, i64)), double(*count));
  Value first = n.reduce(tg::Monoid::Min, place, {n.rank(x)}, /*keepDims=*/false);
  Value table = n.concat({*values, n.reshape(other, ArrayRef<int64_t>{1})}, 0);
  return deliver(n, first && table ? take(n, table, first, 0) : Value());
}

/// Maps of scores by class, which do not exist here: the scores as they are, a column for each class.
LogicalResult zipMap(NodeContext &n) {
  for (StringRef name : {"classlabels_int64s", "classlabels_strings"})
    n.ignoreAttr(name);
  return failed(n.checkNumInputs(1, 1)) ? failure() : deliver(n, n.required(0));
}

} // namespace

ArrayRef<OpEntry> getFeaturesOps() {
  static const OpEntry table[] = {
      {"", "TfIdfVectorizer", 9, newestOpset, tfIdfVectorizer, "no strings"},
      {"ai.onnx.ml", "ArrayFeatureExtractor", 1, anyOpset, arrayFeatureExtractor, "no strings"},
      {"ai.onnx.ml", "Binarizer", 1, anyOpset, binarizer, ""},
      {"ai.onnx.ml", "FeatureVectorizer", 1, anyOpset, featureVectorizer, ""},
      {"ai.onnx.ml", "Imputer", 1, anyOpset, imputer, ""},
      {"ai.onnx.ml", "LabelEncoder", 2, anyOpset, labelEncoder, "no strings"},
      {"ai.onnx.ml", "Normalizer", 1, anyOpset, normalizer, ""},
      {"ai.onnx.ml", "OneHotEncoder", 1, anyOpset, oneHotEncoder, "no strings"},
      {"ai.onnx.ml", "Scaler", 1, anyOpset, scaler, ""},
      {"ai.onnx.ml", "ZipMap", 1, anyOpset, zipMap, "a tensor with a column for each class"},
  };
  return table;
}

} // namespace weft::onnx

// A launch of any tiles as JSON.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An index is a base and terms ["row" | "col" | "step", divisor, modulus, factor]. Sums are kept far from the ends of
// 64 bits by the ranges of what they are made of.
#include "TilesLaunch.h"

using namespace weft::plan;
namespace json = llvm::json;
using llvm::StringRef;
using When = AccessModel::When;

static constexpr int64_t mostBytes = int64_t(1) << 31, mostFactor = int64_t(1) << 31, mostSteps = int64_t(1) << 24,
                         mostArray = int64_t(1) << 44;
static constexpr size_t mostArrays = 64, mostTerms = 16;
static constexpr StringRef loopNames[] = {"row", "col", "step"}, whenNames[] = {"each", "first", "last"};

static void readTerm(const json::Value &value, AffineIndex &index, const std::string &path, std::string &error) {
  const json::Array *list = value.getAsArray();
  LoopTerm term;
  const auto *loop =
      list && list->size() == 4 ? llvm::find(loopNames, (*list)[0].getAsString().value_or("")) : std::end(loopNames);
  auto number = [&](size_t i, int64_t least, int64_t most, int64_t &field) {
    std::optional<int64_t> read = (*list)[i].getAsInteger();
    bool isGood = read && *read >= least && *read <= most;
    field = isGood ? *read : field;
    return isGood;
  };
  if (loop == std::end(loopNames) || !number(1, 1, mostFactor, term.divisor) ||
      !number(2, 0, mostFactor, term.modulus) || !number(3, -mostFactor, mostFactor, term.factor)) {
    error = path + ": expected terms [\"row\" or \"col\" or \"step\", divisor, modulus, factor]";
    return;
  }
  term.loop = LaunchLoop(loop - std::begin(loopNames));
  index.terms.push_back(term);
}

static AffineIndex readIndex(const json::Object *object, const std::string &path, std::string &error) {
  AffineIndex index;
  static const json::Object none;
  Fields fields(object ? object : &none, path, error);
  fields.number("base", index.base, -mostBytes, mostBytes);
  const json::Array *terms = fields.list("terms", mostTerms);
  fields.finish();
  if (terms)
    for (const json::Value &term : *terms)
      if (error.empty())
        readTerm(term, index, path, error);
  return index;
}

static AccessModel readAccess(const json::Value &value, size_t arrays, const std::string &path, std::string &error) {
  AccessModel access;
  Fields fields(value.getAsObject(), path, error);
  int64_t array = 0;
  fields.number("array", array, 0, int64_t(arrays) - 1, true);
  access.array = int32_t(array);
  fields.number("outers", access.outers, 1, mostBytes);
  fields.number("bytes", access.bytes, 1, mostBytes, true);
  fields.boolean("write", access.isWrite);
  std::string when = fields.text("when", "each");
  const auto *found = llvm::find(whenNames, StringRef(when));
  if (found == std::end(whenNames))
    fields.fail("when", "expected each, first or last");
  else
    access.when = When(found - std::begin(whenNames));
  const json::Object *outer = fields.inner("outer"), *byte = fields.inner("byte");
  fields.finish();
  if (error.empty())
    access.outer = readIndex(outer, path + ".outer", error);
  if (error.empty())
    access.byte = readIndex(byte, path + ".byte", error);
  return access;
}

static void readCausal(const json::Object *object, StageModel &stage, std::string &error) {
  Fields fields(object, "problem.causal", error);
  fields.number("rows", stage.causalRows, 1, mostSteps, true);
  fields.number("cols", stage.causalCols, 1, mostSteps, true);
  fields.number("base", stage.causalBase, -mostFactor, mostFactor);
  const json::Object *place = fields.inner("place");
  fields.finish();
  if (error.empty() && place)
    stage.causalPlace = readIndex(place, "problem.causal.place", error);
}

static void readProduct(const json::Object *object, Configuration &result, std::string &error) {
  ProductExtents product;
  Fields fields(object, "problem.product", error);
  for (auto [name, value] : {std::pair("batch", &product.batch), std::pair("m", &product.m), std::pair("n", &product.n),
                             std::pair("k", &product.k)})
    fields.number(name, *value, 1, int64_t(1) << 31);
  fields.finish();
  if (error.empty())
    result.group = makeGemmGroup(product.m, product.n, product.k, result.elementBytes, product.batch);
}

void weft::plan::readTilesLaunch(Fields &fields, Configuration &result, std::string &error) {
  LaunchModel &launch = result.launch;
  launch.name = "tiles";
  StageModel stage;
  fields.number("rows", stage.grid.rows, 1, maxTiles, true);
  fields.number("cols", stage.grid.cols, 1, maxTiles, true);
  fields.number("steps", stage.steps, 1, mostSteps);
  fields.boolean("static", stage.isStatic);
  fields.positive("operations", stage.operations);
  const json::Array *arrays = fields.list("arrays", mostArrays, true),
                    *accesses = fields.list("accesses", mostArrays, true);
  const json::Object *causal = fields.inner("causal"), *product = fields.inner("product"),
                     *group = fields.inner("group");
  if (!fields.isGood())
    return;
  for (size_t i = 0; i < arrays->size() && error.empty(); ++i) {
    ArrayModel array;
    Fields each((*arrays)[i].getAsObject(), "problem.arrays[" + std::to_string(i) + "]", error);
    array.name = each.text("name", "T" + std::to_string(i));
    each.number("outers", array.outers, 1, mostBytes);
    each.number("rowBytes", array.rowBytes, 1, mostBytes, true);
    if (array.rowBytes > mostArray / array.outers)
      each.fail("outers", "expected at most " + std::to_string(mostArray) + " bytes in all");
    each.finish();
    launch.arrays.push_back(array);
  }
  for (size_t i = 0; i < accesses->size() && error.empty(); ++i)
    stage.accesses.push_back(
        readAccess((*accesses)[i], arrays->size(), "problem.accesses[" + std::to_string(i) + "]", error));
  if (causal && error.empty())
    readCausal(causal, stage, error);
  if (product && error.empty())
    readProduct(product, result, error);
  if (group && error.empty())
    result.group = readGroup(group, error);
  launch.stages = {stage};
}

//===--- Writing ---===//

static json::Object writeIndex(const AffineIndex &index, int64_t rowDivisor) {
  json::Object object;
  if (index.base)
    object["base"] = index.base;
  json::Array terms;
  auto add = [&](const LoopTerm &term) {
    if (term.factor)
      terms.push_back(json::Array{loopNames[size_t(term.loop)], term.divisor, term.modulus, term.factor});
  };
  add({LaunchLoop::Row, rowDivisor, 0, index.perRow});
  add({LaunchLoop::Col, 1, 0, index.perCol});
  add({LaunchLoop::Step, 1, 0, index.perStep});
  llvm::for_each(index.terms, add);
  if (!terms.empty())
    object["terms"] = std::move(terms);
  return object;
}

json::Object weft::plan::writeTilesLaunch(const LaunchModel &launch, const std::optional<ProductExtents> &product,
                                          const AffineGroup *group) {
  const StageModel &stage = launch.stages.front();
  json::Array arrays, accesses;
  for (const ArrayModel &array : launch.arrays)
    arrays.push_back(
        json::Object{{"name", json::fixUTF8(array.name)}, {"outers", array.outers}, {"rowBytes", array.rowBytes}});
  for (const AccessModel &access : stage.accesses)
    accesses.push_back(json::Object{{"array", access.array},
                                    {"outer", writeIndex(access.outer, access.rowDivisor)},
                                    {"byte", writeIndex(access.byte, access.rowDivisor)},
                                    {"outers", access.outers},
                                    {"bytes", access.bytes},
                                    {"when", whenNames[size_t(access.when)]},
                                    {"write", access.isWrite}});
  json::Object object{{"kind", "tiles"},
                      {"rows", stage.grid.rows},
                      {"cols", stage.grid.cols},
                      {"steps", stage.steps},
                      {"static", stage.isStatic},
                      {"operations", stage.operations},
                      {"arrays", std::move(arrays)},
                      {"accesses", std::move(accesses)}};
  if (stage.causalRows)
    object["causal"] = json::Object{{"rows", stage.causalRows},
                                    {"cols", stage.causalCols},
                                    {"base", stage.causalBase},
                                    {"place", writeIndex(stage.causalPlace, 1)}};
  if (product)
    object["product"] =
        json::Object{{"batch", product->batch}, {"m", product->m}, {"n", product->n}, {"k", product->k}};
  else if (group)
    object["group"] = writeGroup(*group);
  return object;
}

bool weft::plan::computeBound(const Configuration &c, TrafficBound &bound, std::string &error) {
  if (!c.group.statements.empty())
    return computeTrafficBound(c.group, double(c.machine.cache.bytes), bound, error);
  bound = TrafficBound();
  bound.bytes = bound.compulsory = double(c.launch.getCompulsoryReads() + c.launch.getCompulsoryWrites());
  return true;
}

// An affine group as JSON.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// {"dims": [extent, ...], "arrays": [{"kind", "bytes", "axes": [[loop, stride, ...], ...]}, ...],
//  "statements": [{"dims": [loop, ...], "reads": [array, ...], "result": array}, ...]}; checkGroup says what is
//  refused.
#include "TilesLaunch.h"

using namespace weft::plan;
namespace json = llvm::json;
using llvm::StringRef;
using Kind = GroupArray::Kind;

static constexpr size_t mostDims = 10, mostArrays = 31, mostStatements = 16, mostAxes = 16;
static constexpr int64_t mostNumber = int64_t(1) << 31;
static constexpr StringRef kindNames[] = {"input", "output", "intermediate"};

/// Whole numbers from 0 to 2^31.
template <typename T>
static std::vector<T> readNumbers(const json::Array *list, const std::string &path, std::string &error) {
  std::vector<T> numbers;
  for (size_t i = 0; list && i < list->size() && error.empty(); ++i) {
    std::optional<int64_t> number = (*list)[i].getAsInteger();
    if (!number || *number < 0 || *number >= mostNumber)
      error = path + ": expected whole numbers from 0 to " + std::to_string(mostNumber - 1);
    else
      numbers.push_back(T(*number));
  }
  return numbers;
}

static GroupArray readArray(const json::Value &value, size_t number, std::string &error) {
  std::string path = "problem.group.arrays[" + std::to_string(number) + "]";
  GroupArray array;
  array.name = "T" + std::to_string(number);
  Fields fields(value.getAsObject(), path, error);
  fields.number("bytes", array.elementBytes, 1, 16, true);
  std::string kind = fields.text("kind", "input");
  const auto *found = llvm::find(kindNames, StringRef(kind));
  if (found == std::end(kindNames))
    fields.fail("kind", "expected input, output or intermediate");
  else
    array.kind = Kind(found - std::begin(kindNames));
  const json::Array *axes = fields.list("axes", mostAxes);
  fields.finish();
  for (size_t i = 0; axes && i < axes->size() && error.empty(); ++i) {
    std::vector<int64_t> numbers = readNumbers<int64_t>((*axes)[i].getAsArray(), path + ".axes", error);
    GroupAxis axis;
    for (size_t k = 0; k + 1 < numbers.size(); k += 2) {
      axis.dims.push_back(int32_t(numbers[k]));
      axis.strides.push_back(numbers[k + 1]);
    }
    array.axes.push_back(std::move(axis));
  }
  return array;
}

AffineGroup weft::plan::readGroup(const json::Object *object, std::string &error) {
  AffineGroup group;
  Fields fields(object, "problem.group", error);
  const json::Array *dims = fields.list("dims", mostDims, true), *arrays = fields.list("arrays", mostArrays, true),
                    *statements = fields.list("statements", mostStatements, true);
  fields.finish();
  if (!error.empty())
    return group;
  for (int64_t extent : readNumbers<int64_t>(dims, "problem.group.dims", error))
    group.dims.push_back({"d" + std::to_string(group.dims.size()), extent});
  for (size_t i = 0; i < arrays->size() && error.empty(); ++i)
    group.arrays.push_back(readArray((*arrays)[i], i, error));
  for (size_t i = 0; i < statements->size() && error.empty(); ++i) {
    std::string path = "problem.group.statements[" + std::to_string(i) + "]";
    GroupStatement statement;
    Fields each((*statements)[i].getAsObject(), path, error);
    const json::Array *loops = each.list("dims", mostDims, true), *reads = each.list("reads", mostArrays);
    int64_t result = 0;
    each.number("result", result, 0, int64_t(mostArrays), true);
    each.finish();
    statement.result = int32_t(result);
    if (error.empty())
      statement.dims = readNumbers<int32_t>(loops, path + ".dims", error);
    if (error.empty())
      statement.reads = readNumbers<int32_t>(reads, path + ".reads", error);
    group.statements.push_back(std::move(statement));
  }
  std::string reason;
  if (error.empty() && !checkGroup(group, reason))
    error = "problem.group: " + reason;
  return group;
}

json::Object weft::plan::writeGroup(const AffineGroup &group) {
  json::Array dims, arrays, statements;
  for (const GroupDim &dim : group.dims)
    dims.push_back(dim.extent);
  for (const GroupArray &array : group.arrays) {
    json::Array axes;
    for (const GroupAxis &axis : array.axes) {
      json::Array numbers;
      for (size_t i = 0; i < axis.dims.size(); ++i) {
        numbers.push_back(axis.dims[i]);
        numbers.push_back(axis.strides[i]);
      }
      axes.push_back(std::move(numbers));
    }
    arrays.push_back(json::Object{
        {"kind", kindNames[size_t(array.kind)]}, {"bytes", array.elementBytes}, {"axes", std::move(axes)}});
  }
  for (const GroupStatement &statement : group.statements)
    statements.push_back(json::Object{
        {"dims", json::Array(statement.dims)}, {"reads", json::Array(statement.reads)}, {"result", statement.result}});
  return json::Object{{"dims", std::move(dims)}, {"arrays", std::move(arrays)}, {"statements", std::move(statements)}};
}

// A launch and a machine as JSON.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every number has a range, every unknown field is refused: a page's export is read back as it was meant.
#include "weft/Plan/Cost/Configuration.h"
#include "Fields.h"
#include "TilesLaunch.h"

#include "weft/Support/InputFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>

using namespace weft;
using namespace weft::plan;
namespace json = llvm::json;
using llvm::StringRef;

static constexpr int64_t kMost = int64_t(1) << 31;

MachineModel weft::plan::makeMachine(const Device &device) {
  MachineModel machine;
  machine.sms = device.sms;
  machine.cache.bytes = int64_t(device.l2Bytes);
  machine.cache.partitions = device.can.l2Partitions;
  machine.smsPerPort = device.can.smsPerPort;
  machine.drift = device.can.drift;
  return machine;
}

static void readMachine(const json::Object *object, Configuration &result, const DeviceTable &devices,
                        std::string &error) {
  static const json::Object none;
  Fields fields(object ? object : &none, "machine", error);
  std::string device = fields.text("device", "");
  if (!device.empty()) {
    result.device = devices.find(device);
    if (!result.device)
      return fields.fail("device", "expected a known device such as H100, got \"" + device.substr(0, 40) + "\"");
    result.machine = makeMachine(*result.device);
  }
  MachineModel &machine = result.machine;
  fields.number("sms", machine.sms, 1, 4096);
  fields.number("blocksPerSm", machine.blocksPerSm, 1, 64);
  fields.number("skew", machine.skew, 0, 1 << 20);
  fields.number("drift", machine.drift, 0, 1 << 20);
  fields.number("smsPerPort", machine.smsPerPort, 1, 4096);
  fields.number("sampling", machine.sampling, 0, 1 << 20);
  const json::Object *inner = fields.inner("cache");
  fields.finish();
  if (!inner || !error.empty())
    return;
  Fields cache(inner, "machine.cache", error);
  cache.number("bytes", machine.cache.bytes, 1, int64_t(1) << 36);
  cache.number("lineBytes", machine.cache.lineBytes, 1, 4096);
  cache.number("sectorBytes", machine.cache.sectorBytes, 1, 4096);
  cache.number("ways", machine.cache.ways, 0, 1024);
  cache.number("partitions", machine.cache.partitions, 1, 2);
  cache.finish();
  std::string reason;
  if (error.empty() && !checkCache(machine.cache, reason))
    error = "machine.cache: " + reason;
}

static void readGemm(Fields &fields, Configuration &c) {
  GemmModelShape shape;
  for (auto [name, value] : {std::pair("m", &shape.m), std::pair("n", &shape.n), std::pair("k", &shape.k)})
    fields.number(name, *value, 1, kMost, true);
  shape.tileM = c.tileM, shape.tileN = c.tileN, shape.tileK = c.tileK;
  shape.elementBytes = shape.resultBytes = c.elementBytes;
  c.launch = makeGemmLaunch(shape);
  c.group = makeGemmGroup(shape.m, shape.n, shape.k, c.elementBytes);
}

static void readChain(Fields &fields, Configuration &c) {
  ChainModelShape shape;
  for (auto [name, value] :
       {std::pair("m", &shape.m), std::pair("k", &shape.k), std::pair("l", &shape.l), std::pair("n", &shape.n)})
    fields.number(name, *value, 1, kMost, true);
  shape.tileM = c.tileM, shape.tileN = c.tileN, shape.tileK = c.tileK;
  shape.elementBytes = c.elementBytes;
  c.launch = makeChainLaunch(shape);
  c.group = makeChainGroup(shape.m, shape.k, shape.l, shape.n, c.elementBytes);
}

static void readAttention(Fields &fields, Configuration &c) {
  AttentionModelShape shape;
  for (auto [name, value] : {std::pair("heads", &shape.heads), std::pair("queries", &shape.queries),
                             std::pair("keys", &shape.keys), std::pair("headDim", &shape.headDim)})
    fields.number(name, *value, 1, 1 << 24, true);
  c.headDim = shape.headDim;
  fields.number("group", shape.group, 1, 1 << 20);
  fields.boolean("causal", shape.isCausal);
  shape.tileQueries = c.tileM, shape.tileKeys = c.tileN;
  shape.elementBytes = c.elementBytes;
  c.launch = makeAttentionLaunch(shape);
  c.group = makeAttentionGroup(shape.heads, shape.group, shape.queries, shape.keys, shape.headDim, shape.isCausal,
                               c.elementBytes);
}

static MatrixEngine readEngine(Fields &fields) {
  std::string engine = fields.text("engine", "");
  if (engine == "wgmma")
    return MatrixEngine::Wgmma;
  if (engine == "mma")
    return MatrixEngine::Mma;
  if (engine == "simt")
    return MatrixEngine::Simt;
  if (!engine.empty())
    fields.fail("engine", "expected wgmma, mma or simt");
  return MatrixEngine::Unknown;
}

static void readMatrixWork(const json::Object *object, Configuration &c, std::string &error) {
  MatrixWork work;
  Fields fields(object, "matrix", error);
  fields.boolean("gmma", work.isGmma);
  for (auto [name, value] :
       {std::pair("tiles", &work.tiles), std::pair("fixed", &work.fixed), std::pair("fixedBytes", &work.fixedBytes),
        std::pair("perStep", &work.perStep), std::pair("perStepBytes", &work.perStepBytes)})
    fields.positive(name, *value);
  fields.finish();
  c.matrix = work;
}

json::Object weft::plan::writeMatrixWork(const MatrixWork &work) {
  return json::Object{{"gmma", work.isGmma},           {"tiles", work.tiles},     {"fixed", work.fixed},
                      {"fixedBytes", work.fixedBytes}, {"perStep", work.perStep}, {"perStepBytes", work.perStepBytes}};
}

static void readProblem(const json::Object *object, Configuration &result, std::string &error) {
  Fields fields(object, "problem", error);
  std::string kind = fields.text("kind", "");
  result.kind = kind == "chain"       ? Configuration::Kind::Chain
                : kind == "attention" ? Configuration::Kind::Attention
                : kind == "tiles"     ? Configuration::Kind::Tiles
                                      : Configuration::Kind::Gemm;
  if (kind == "gemm")
    readGemm(fields, result);
  else if (kind == "chain")
    readChain(fields, result);
  else if (kind == "attention")
    readAttention(fields, result);
  else if (kind == "tiles")
    readTilesLaunch(fields, result, error);
  else
    fields.fail("kind", "expected gemm, chain, attention or tiles");
  fields.finish();
}

bool weft::plan::readConfiguration(const json::Value &value, Configuration &result, std::string &error,
                                   const DeviceTable &devices) {
  error.clear();
  result = Configuration();
  Fields fields(value.getAsObject(), "launch", error);
  result.name = fields.text("name", "");
  fields.number("elementBytes", result.elementBytes, 1, 16);
  result.engine = readEngine(fields);
  fields.number("warps", result.warps, 1, 32);
  fields.boolean("persistent", result.isPersistent);
  const json::Object *tile = fields.inner("tile"), *problem = fields.inner("problem"),
                     *machine = fields.inner("machine"), *matrix = fields.inner("matrix");
  if (const json::Object *measured = fields.inner("measured"))
    result.measured = *measured;
  std::string order = fields.text("order", "row"), hints = fields.text("hints", "");
  fields.text("schema", ""), fields.text("policy", ""), fields.inner("predicted"); // Written by others.
  fields.skip("reuse");
  fields.finish();
  if (fields.isGood()) {
    result.source = *value.getAsObject();
    result.source.erase("predicted");
    result.source.erase("reuse");
  }
  if (tile && fields.isGood()) {
    Fields sides(tile, "tile", error);
    for (auto [name, side] :
         {std::pair("m", &result.tileM), std::pair("n", &result.tileN), std::pair("k", &result.tileK)})
      sides.number(name, *side, 1, 1 << 20);
    sides.finish();
  }
  if (matrix && error.empty())
    readMatrixWork(matrix, result, error);
  if (error.empty())
    readMachine(machine, result, devices, error);
  if (error.empty())
    readProblem(problem, result, error);
  if (error.empty())
    applyHints(hints, result.launch, error);
  if (error.empty())
    parseTraversal(order, result.traversal, error);
  return error.empty();
}

bool weft::plan::readConfigurations(StringRef text, std::vector<Configuration> &result, std::string &error,
                                    const DeviceTable &devices) {
  error.clear();
  std::optional<json::Value> root = parseJson(text, error);
  if (!root)
    return false;
  json::Array one;
  const json::Array *list = root->getAsArray();
  if (const json::Object *object = root->getAsObject()) {
    list = object->getArray("launches");
    if (!list) {
      one.push_back(*root);
      list = &one;
    }
  }
  if (!list) {
    error = "expected a launch, an array of them, or an object with an array launches";
    return false;
  }
  for (size_t i = 0; i < list->size(); ++i) {
    result.emplace_back();
    if (!readConfiguration((*list)[i], result.back(), error, devices)) {
      error = "launch " + std::to_string(i) + ": " + error;
      return false;
    }
  }
  return true;
}

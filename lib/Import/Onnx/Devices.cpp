// Reading what Devices.h says. The fields are unknown to protobuf classes of older versions, which keep them unread.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Devices.h"
#include "GraphChecks.h"
#include "weft/Import/Onnx/ModelReader.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <google/protobuf/unknown_field_set.h>
#include <memory>
#include <onnx/onnx_pb.h>

using namespace weft::onnx;
using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

static_assert(int(::onnx::IR_VERSION) < 11, "expected classes that keep the fields of devices unread");

namespace {

/// A message by its fields' numbers.
class Message {
public:
  explicit Message(const UnknownFieldSet &given) { fields->MergeFrom(given); }
  explicit Message(const std::string &bytes) { isWhole = fields->ParseFromString(bytes); }

  std::vector<Message> getMessages(int number) const {
    std::vector<Message> list;
    forEach(number, UnknownField::TYPE_LENGTH_DELIMITED,
            [&](const UnknownField &field) { list.emplace_back(field.length_delimited()); });
    return list;
  }
  std::string getText(int number) const {
    std::string text;
    forEach(number, UnknownField::TYPE_LENGTH_DELIMITED,
            [&](const UnknownField &field) { text = field.length_delimited(); });
    return text;
  }
  /// Packed or not.
  std::vector<int64_t> getNumbers(int number) const {
    std::vector<int64_t> list;
    forEach(number, UnknownField::TYPE_VARINT,
            [&](const UnknownField &field) { list.push_back(int64_t(field.varint())); });
    forEach(number, UnknownField::TYPE_LENGTH_DELIMITED, [&](const UnknownField &field) {
      uint64_t value = 0;
      unsigned shift = 0;
      for (char byte : field.length_delimited()) {
        value |= uint64_t(byte & 0x7f) << std::min(shift, 63u);
        shift += 7;
        if (byte & 0x80)
          continue;
        list.push_back(int64_t(value));
        value = shift = 0;
      }
    });
    return list;
  }
  std::optional<int64_t> getNumber(int number) const {
    std::vector<int64_t> list = getNumbers(number);
    return list.empty() ? std::nullopt : std::optional(list.back());
  }
  bool isWhole = true;

private:
  void forEach(int number, UnknownField::Type type, llvm::function_ref<void(const UnknownField &)> found) const {
    for (int i = 0; i < fields->field_count(); ++i)
      if (fields->field(i).number() == number && fields->field(i).type() == type)
        found(fields->field(i));
  }

  std::unique_ptr<UnknownFieldSet> fields = std::make_unique<UnknownFieldSet>();
};

/// Numbers of fields, as onnx.proto has them.
enum ModelField { kConfiguration = 26 };
enum ConfigurationField { kName = 1, kNumDevices = 2 };
enum NodeField { kNodeConfigurations = 10 };
enum NodeConfigurationField { kConfigurationId = 1, kShardingSpec = 2, kPipelineStage = 3 };
enum SpecField { kTensorName = 1, kDevice = 2, kGroups = 3, kShardedDim = 4 };
enum DimField { kAxis = 1, kSimpleSharding = 2 };
enum SimpleField { kNumShards = 3 };

class Reader {
public:
  Reader(const ::onnx::ModelProto &proto, Diagnostics &diagnostics) : proto(proto), diagnostics(diagnostics) {}
  std::vector<DeviceConfiguration> run();

private:
  void readNode(const ::onnx::NodeProto &node);
  void findRanks();
  int64_t fromBegin(const std::string &tensor, int64_t axis) const;
  void readSpec(const ::onnx::NodeProto &node, DeviceConfiguration &configuration, const Message &spec);
  void add(const ::onnx::NodeProto &node, DeviceConfiguration &configuration, const std::string &tensor, int64_t axis);
  template <class Nodes> void refuseBodies(const Nodes &nodes, bool isBody);
  void refuse(const ::onnx::NodeProto &node, const llvm::Twine &cause) {
    Diagnostic diagnostic;
    diagnostic.node = displayName(node).str();
    diagnostic.op = displayOp(node, 0);
    diagnostic.cause = ("device_configurations: " + cause).str();
    diagnostic.cls = ErrorClass::Unsupported;
    (void)diagnostics.report(std::move(diagnostic));
  }

  const ::onnx::ModelProto &proto;
  Diagnostics &diagnostics;
  std::vector<DeviceConfiguration> configurations;
  llvm::StringMap<const ::onnx::NodeProto *> producers;
  llvm::StringSet<> outputs; ///< Of the model.
  llvm::StringMap<int64_t> ranks;
  llvm::StringMap<std::pair<int64_t, std::string>> known; ///< Axis and node, by configuration and tensor.
};

} // namespace

/// Where the model says a tensor's rank, an axis from the end is one from the beginning: two may be the same.
int64_t Reader::fromBegin(const std::string &tensor, int64_t axis) const {
  auto rank = ranks.find(tensor);
  return axis < 0 && rank != ranks.end() ? axis + rank->second : axis;
}

/// A tensor has one share, wherever it is read.
void Reader::add(const ::onnx::NodeProto &node, DeviceConfiguration &configuration, const std::string &tensor,
                 int64_t axis) {
  auto [before, isNew] =
      known.try_emplace(configuration.name + "\n" + tensor, std::pair(axis, displayName(node).str()));
  if (!isNew && before->second.first != axis)
    return refuse(node, "`" + tensor + "` is split along axis " + llvm::Twine(axis) + " here, and along axis " +
                            llvm::Twine(before->second.first) + " by node `" + before->second.second +
                            "`; expected one axis for a tensor");
  if (!isNew)
    return;
  const ::onnx::NodeProto *producer = producers.lookup(tensor);
  if (producer && producer->output_size() > 1)
    return refuse(node, "`" + tensor + "` (axis " + llvm::Twine(axis) + ") is one of several outputs of node `" +
                            displayName(*producer) + "`; expected a split of an input, a weight or an only output");
  configuration.splits.push_back({producer ? displayName(*producer).str() : tensor, axis});
  if (producer && outputs.contains(tensor)) // What the caller gets is a part, too.
    configuration.splits.push_back({tensor, axis});
}

void Reader::readSpec(const ::onnx::NodeProto &node, DeviceConfiguration &configuration, const Message &spec) {
  std::string tensor = spec.getText(kTensorName);
  auto names = [&](const auto &list) { return llvm::is_contained(list, tensor); };
  if (tensor.empty() || (!names(node.input()) && !names(node.output())))
    return refuse(node, "expected one of the node's inputs and outputs, got `" + tensor + "`");
  std::optional<int64_t> axis;
  for (const Message &dim : spec.getMessages(kShardedDim)) {
    std::vector<Message> ways = dim.getMessages(kSimpleSharding);
    std::optional<int64_t> at = dim.getNumber(kAxis);
    int64_t shards = ways.size() == 1 ? ways.front().getNumber(kNumShards).value_or(1) : 1;
    std::string place = "`" + tensor + "`, axis " + (at ? std::to_string(*at) : "?") + ": ";
    if (!at || ways.size() > 1)
      return refuse(node, place + "expected an axis and one way of splitting it, got " + llvm::Twine(ways.size()));
    if (shards == 1)
      continue;
    if (shards != configuration.devices)
      return refuse(node, place + "expected " + llvm::Twine(configuration.devices) +
                              " parts, one for each device of configuration `" + configuration.name + "`, got " +
                              llvm::Twine(shards));
    if (axis)
      return refuse(node, place + "expected one axis that is split, got axis " + llvm::Twine(*axis) + ", too");
    axis = at;
  }
  if (!axis)
    return;
  std::vector<int64_t> devices = spec.getNumbers(kDevice);
  bool isInOrder = devices.empty() || int64_t(devices.size()) == configuration.devices;
  for (size_t i = 0; i < devices.size(); ++i)
    isInOrder &= devices[i] == int64_t(i);
  if (!isInOrder || !spec.getMessages(kGroups).empty())
    return refuse(node, "`" + tensor + "`, axis " + llvm::Twine(*axis) + ": expected devices 0 to " +
                            llvm::Twine(configuration.devices - 1) + " in order, each with a part");
  add(node, configuration, tensor, fromBegin(tensor, *axis));
}

void Reader::readNode(const ::onnx::NodeProto &node) {
  for (const Message &of : Message(node.unknown_fields()).getMessages(kNodeConfigurations)) {
    std::string id = of.getText(kConfigurationId);
    auto configuration = llvm::find_if(configurations, [&](const auto &each) { return each.name == id; });
    if (!of.isWhole || configuration == configurations.end()) {
      refuse(node, "expected a configuration of the model, got `" + id + "`");
      continue;
    }
    if (of.getNumber(kPipelineStage).value_or(0) != 0) {
      refuse(node, "expected pipeline stage 0, got " + llvm::Twine(*of.getNumber(kPipelineStage)) +
                       "; a program of ranks has no stages");
      continue;
    }
    for (const Message &spec : of.getMessages(kShardingSpec))
      readSpec(node, *configuration, spec);
  }
}

/// Bodies of loops and branches are whole on each rank, and a function's nodes have other names at each call.
template <class Nodes> void Reader::refuseBodies(const Nodes &nodes, bool isBody) {
  for (const auto &node : nodes) {
    if (isBody && !Message(node.unknown_fields()).getMessages(kNodeConfigurations).empty())
      refuse(node, "expected no splits in the body of a loop, branch or function");
    for (const auto &attribute : node.attribute())
      if (attribute.has_g())
        refuseBodies(attribute.g().node(), true);
  }
}

void Reader::findRanks() {
  for (const auto *list : {&proto.graph().input(), &proto.graph().value_info(), &proto.graph().output()})
    for (const auto &info : *list)
      if (info.type().tensor_type().has_shape())
        ranks[info.name()] = info.type().tensor_type().shape().dim_size();
  for (const auto &tensor : proto.graph().initializer())
    ranks[tensor.name()] = tensor.dims_size();
}

std::vector<DeviceConfiguration> Reader::run() {
  for (const Message &each : Message(proto.unknown_fields()).getMessages(kConfiguration)) {
    int64_t devices = each.getNumber(kNumDevices).value_or(0);
    if (devices < 1 || !each.isWhole)
      (void)diagnostics.report(ErrorClass::Invalid, "configuration `" + each.getText(kName) +
                                                        "`: expected at least 1 device, got " + llvm::Twine(devices));
    configurations.push_back({each.getText(kName), devices, {}});
  }
  for (const auto &node : proto.graph().node())
    for (const std::string &output : node.output())
      producers[output] = &node;
  for (const auto &output : proto.graph().output())
    outputs.insert(output.name());
  findRanks();
  for (const auto &node : proto.graph().node())
    readNode(node);
  refuseBodies(proto.graph().node(), false);
  for (const auto &function : proto.functions())
    refuseBodies(function.node(), true);
  return std::move(configurations);
}

std::vector<DeviceConfiguration> weft::onnx::readDevices(const ::onnx::ModelProto &proto, Diagnostics &diagnostics) {
  return proto.ir_version() < 11 ? std::vector<DeviceConfiguration>() : Reader(proto, diagnostics).run();
}

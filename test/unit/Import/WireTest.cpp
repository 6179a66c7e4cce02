// Reading models from memory: what the wire scan refuses, and that raw data stay where they are.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Import/Onnx/ModelReader.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

using namespace weft::onnx;
using testing::HasSubstr;

namespace {

/// A model with one initialiser of `bytes` bytes that is its output.
::onnx::ModelProto makeModel(size_t bytes) {
  ::onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  auto *graph = model.mutable_graph();
  auto *tensor = graph->add_initializer();
  tensor->set_name("w");
  tensor->set_data_type(2);
  tensor->add_dims(static_cast<int64_t>(bytes));
  tensor->set_raw_data(std::string(bytes, 'w'));
  graph->add_output()->set_name("w");
  return model;
}

std::optional<Model> read(const std::string &bytes, Diagnostics &diagnostics, const Limits &limits = {}) {
  MappedBytes file;
  file.bytes = {bytes.data(), bytes.size()};
  return readModel(file, limits, diagnostics);
}

std::string causeOf(const std::string &bytes, const Limits &limits = {}) {
  Diagnostics diagnostics;
  EXPECT_FALSE(read(bytes, diagnostics, limits).has_value());
  return diagnostics.empty() ? "" : diagnostics.all().front().cause;
}

} // namespace

TEST(Wire, LongRawDataStaysInTheFile) {
  std::string bytes = makeModel(5000).SerializeAsString();
  Diagnostics diagnostics;
  std::optional<Model> model = read(bytes, diagnostics);
  ASSERT_TRUE(model.has_value());
  const std::string &field = model->proto->graph().initializer(0).raw_data();
  EXPECT_LT(field.size(), 32u);
  RawData raw = model->rawData(field);
  ASSERT_TRUE(raw.fileOffset.has_value());
  EXPECT_EQ(raw.bytes.size(), 5000u);
  EXPECT_EQ(raw.bytes.data(), bytes.data() + *raw.fileOffset);
}

TEST(Wire, ForgedReferencesAreData) {
  // Contents that look like the scan's own reference are marked as data all the same.
  ::onnx::ModelProto proto = makeModel(17);
  proto.mutable_graph()->mutable_initializer(0)->set_raw_data(
      std::string("\1\0\0\0\0\0\0\0\0\377\377\377\377\377\377\377\177", 17));
  std::string bytes = proto.SerializeAsString();
  Diagnostics diagnostics;
  std::optional<Model> model = read(bytes, diagnostics);
  ASSERT_TRUE(model.has_value());
  RawData raw = model->rawData(model->proto->graph().initializer(0).raw_data());
  EXPECT_FALSE(raw.fileOffset.has_value());
  EXPECT_EQ(raw.bytes.size(), 17u);
}

TEST(Wire, Truncation) {
  std::string bytes = makeModel(64).SerializeAsString();
  for (size_t size = 1; size < bytes.size(); ++size) {
    Diagnostics diagnostics;
    EXPECT_FALSE(read(bytes.substr(0, size), diagnostics).has_value()) << size;
    EXPECT_FALSE(diagnostics.empty()) << size;
  }
}

TEST(Wire, BadEncodings) {
  EXPECT_THAT(causeOf(std::string(11, '\xff')), HasSubstr("more than 10 bytes"));
  EXPECT_THAT(causeOf("\x3a\x7f\x08"), HasSubstr("runs over the end"));
  EXPECT_THAT(causeOf("\x0b"), HasSubstr("wire type 3"));
  EXPECT_THAT(causeOf(std::string("\x00\x01", 2)), HasSubstr("field number 0"));
}

TEST(Wire, LimitsAreNamed) {
  std::string bytes = makeModel(64).SerializeAsString();
  Limits few;
  few.maxItems = 2;
  EXPECT_THAT(causeOf(bytes, few), HasSubstr("the limit is 2"));
  Limits shallow;
  shallow.maxMessageDepth = 1;
  EXPECT_THAT(causeOf(bytes, shallow), HasSubstr("nested too deeply"));
}

TEST(Wire, SizesMustAgree) {
  ::onnx::ModelProto proto = makeModel(64);
  proto.mutable_graph()->mutable_initializer(0)->set_dims(0, 65);
  EXPECT_THAT(causeOf(proto.SerializeAsString()),
              HasSubstr("expected 65 bytes of data for the shape and type, got 64"));
  proto.mutable_graph()->mutable_initializer(0)->set_dims(0, -1);
  EXPECT_THAT(causeOf(proto.SerializeAsString()), HasSubstr("negative"));
}

TEST(Diagnostics, Escapes) {
  EXPECT_EQ(escape("a\x1b[31m\n\xff\\"), "a\\x1b[31m\\x0a\\xff\\x5c");
  EXPECT_EQ(escape("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(escape("\xe2\x80\xae"), "\\xe2\\x80\\xae");
  EXPECT_EQ(escape("aaaa", 2), "aa...");
}

// Files that are broken: every prefix and every changed byte of good ones is read or refused, never believed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Files.h"

#include <gtest/gtest.h>

using namespace weft::run;

static Tensor makeRamp(DType dtype, std::vector<int64_t> dims) {
  Tensor tensor;
  EXPECT_FALSE(Tensor::create(dtype, std::move(dims), tensor));
  for (int64_t i = 0; i < tensor.getCount(); ++i)
    tensor.set(i, double(i % 2));
  return tensor;
}

TEST(Npy, RoundTrip) {
  for (int code = 0; code < 256; ++code) {
    auto dtype = DType(code);
    if (!weft::bundle::getBits(dtype))
      continue;
    for (const std::vector<int64_t> &dims : {std::vector<int64_t>{}, {5}, {2, 0}, {1, 2, 3}}) {
      Tensor tensor = makeRamp(dtype, dims), again;
      std::vector<uint8_t> bytes = formatNpy(tensor);
      Error error = parseNpy(bytes.data(), bytes.size(), dtype, again);
      ASSERT_FALSE(error) << weft::bundle::getName(dtype) << ": " << error.getMessage();
      EXPECT_EQ(again.bytes, tensor.bytes) << weft::bundle::getName(dtype);
      EXPECT_EQ(again.dims, dims);
    }
  }
}

/// The message for a .npy file of version 1 with this header and `dataBytes` bytes of data.
static std::string parse(const std::string &header, size_t dataBytes) {
  std::vector<uint8_t> bytes = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, uint8_t(header.size()), 0};
  bytes.insert(bytes.end(), header.begin(), header.end());
  bytes.resize(bytes.size() + dataBytes);
  Tensor tensor;
  return parseNpy(bytes.data(), bytes.size(), DType::F32, tensor).getMessage();
}

TEST(Npy, RefusesBrokenHeaders) {
  EXPECT_EQ(parse("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", 8), "");
  EXPECT_EQ(parse("{\"descr\": \"<f4\", 'shape': (), 'fortran_order': True}", 4), "");
  const char *malformed = "the header of the .npy file is malformed";
  for (const char *header :
       {"", "{", "{}", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 2, }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), } trailing", "{'descr': '<f4"})
    EXPECT_EQ(parse(header, 8), malformed) << header;
  EXPECT_EQ(parse("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", 8),
            "expected 8 bytes of data to be the shape in the .npy header times 4");
  EXPECT_EQ(parse("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", 8),
            "expected 8 bytes of data to be the shape in the .npy header times 4");
  EXPECT_EQ(parse("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", 8),
            "expected elements of type f32, got numpy type \"|O\"");
}

/// Field `number` with wire type 2.
static void addBytes(std::vector<uint8_t> &message, unsigned number, const std::vector<uint8_t> &bytes) {
  message.push_back(uint8_t(number << 3 | 2));
  message.push_back(uint8_t(bytes.size()));
  message.insert(message.end(), bytes.begin(), bytes.end());
}

/// A TensorProto of f32[2, 1] named "t".
static std::vector<uint8_t> makeProto() {
  std::vector<uint8_t> message;
  addBytes(message, 1, {2, 1});
  message.insert(message.end(), {2 << 3, 1});
  addBytes(message, 8, {'t'});
  addBytes(message, 9, {0, 0, 0x80, 0x3f, 0, 0, 0, 0x40});
  return message;
}

TEST(TensorProto, Reads) {
  Tensor tensor;
  std::string name;
  ASSERT_FALSE(parseTensorProto(makeProto(), tensor, name));
  EXPECT_EQ(name, "t");
  EXPECT_EQ(tensor.describe(), "2x1xf32");
  EXPECT_EQ(tensor.get(1), 2);
  std::vector<uint8_t> unknown = makeProto();
  addBytes(unknown, 15, {1, 2, 3});
  EXPECT_FALSE(parseTensorProto(unknown, tensor, name)) << "unknown fields are skipped";
}

TEST(TensorProto, SurvivesDamage) {
  std::vector<uint8_t> good = makeProto();
  Tensor tensor;
  std::string name;
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_TRUE(parseTensorProto({good.begin(), good.begin() + long(size)}, tensor, name)) << "prefix of " << size;
  for (size_t i = 0; i < good.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<uint8_t> bytes = good;
      bytes[i] ^= uint8_t(1 << bit);
      Tensor changed;
      if (!parseTensorProto(bytes, changed, name))
        EXPECT_LE(changed.bytes.size(), 16u) << "no more memory than the file has data";
    }
}

TEST(TensorProto, RefusesLies) {
  auto message = [](std::vector<uint8_t> bytes) {
    Tensor tensor;
    std::string name;
    return parseTensorProto(bytes, tensor, name).getMessage();
  };
  std::vector<uint8_t> huge = {1 << 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 2 << 3, 1};
  EXPECT_EQ(message(huge), "malformed TensorProto: dims are negative or too large");
  std::vector<uint8_t> many = {1 << 3, 0x80, 0x80, 0x80, 0x80, 0x04, 2 << 3, 1};
  EXPECT_EQ(message(many), "malformed TensorProto: 0 values are too few for its dims");
  std::vector<uint8_t> both = makeProto();
  addBytes(both, 4, {0, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(message(both), "malformed TensorProto: raw_data and typed data");
  std::vector<uint8_t> typed = {1 << 3, 1, 2 << 3, 1};
  addBytes(typed, 7, {5});
  EXPECT_EQ(message(typed), "malformed TensorProto: the data field does not belong to data_type");
  std::vector<uint8_t> external = makeProto();
  addBytes(external, 13, {});
  EXPECT_EQ(message(external), "TensorProto with segments or external data is not supported");
  EXPECT_EQ(message({2 << 3, 14}), "ONNX element type 14 is not supported");
}

TEST(Npz, SurvivesDamage) {
  std::map<std::string, Range> members;
  EXPECT_TRUE(parseNpz({}, members));
  EXPECT_TRUE(parseNpz(std::vector<uint8_t>(100), members));
  // An end record that points outside.
  std::vector<uint8_t> end = {'P', 'K', 5, 6, 0, 0, 0, 0, 1, 0, 1, 0, 46, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f, 0, 0};
  EXPECT_EQ(parseNpz(end, members).getMessage(), "the directory of the .npz file is malformed");
}

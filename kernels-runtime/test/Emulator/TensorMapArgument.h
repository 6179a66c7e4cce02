// Tensor maps as kernel parameters of tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A TensorMapSpec over a buffer of a KernelCase, with the description from which a replay on a GPU encodes it.
#ifndef WEFT_TEST_EMULATOR_TENSORMAPARGUMENT_H
#define WEFT_TEST_EMULATOR_TENSORMAPARGUMENT_H

#include "Emulator/Async/TensorMap.h"
#include "KernelHarness.h"

#include <gtest/gtest.h>

namespace weft::emu::test {

template <typename T> std::string jsonList(const T *values, size_t count) {
  std::string text = "[";
  for (size_t i = 0; i < count; ++i)
    text += (i ? ", " : "") + std::to_string(values[i]);
  return text + "]";
}

/// The arguments of cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col by their names, less the address.
inline std::string describe(const TensorMapSpec &spec) {
  std::string text = "{\"mode\": \"" + std::string(spec.isIm2col ? "im2col" : "tiled") + "\"";
  auto add = [&](const char *name, const std::string &value) { text += std::string(", \"") + name + "\": " + value; };
  add("tensorDataType", std::to_string(unsigned(spec.type)));
  add("tensorRank", std::to_string(spec.rank));
  add("globalDim", jsonList(spec.globalDim, spec.rank));
  add("globalStrides", jsonList(spec.globalStrides, spec.rank - 1));
  add("elementStrides", jsonList(spec.elementStrides, spec.rank));
  if (spec.isIm2col) {
    add("pixelBoxLowerCorner", jsonList(spec.pixelBoxLowerCorner, spec.rank - 2));
    add("pixelBoxUpperCorner", jsonList(spec.pixelBoxUpperCorner, spec.rank - 2));
    add("channelsPerPixel", std::to_string(spec.channelsPerPixel));
    add("pixelsPerColumn", std::to_string(spec.pixelsPerColumn));
  } else {
    add("boxDim", jsonList(spec.boxDim, spec.rank));
  }
  add("interleave", std::to_string(unsigned(spec.interleave)));
  add("swizzle", std::to_string(unsigned(spec.swizzle)));
  add("l2Promotion", std::to_string(unsigned(spec.l2Promotion)));
  add("oobFill", std::to_string(unsigned(spec.fill)));
  return text + "}";
}

/// `spec` over argument number `buffer`; its own address is not looked at.
inline Argument tensorMap(const TensorMapSpec &spec, size_t buffer) {
  Argument argument;
  argument.kind = Argument::Kind::TensorMap;
  argument.alignment = kTensorMapAlignment;
  argument.buffer = buffer;
  argument.description = describe(spec);
  argument.encode = [spec](uint64_t address, uint8_t (&map)[kTensorMapBytes]) {
    TensorMapSpec placed = spec;
    placed.globalAddress = address;
    bundle::Error error = encodeTensorMap(placed, map);
    EXPECT_FALSE(error) << error.getMessage();
    return !error;
  };
  return argument;
}

/// `body` in an entry "k" with registers of every kind and dynamic shared memory `smem`.
inline std::string kernelText(const std::string &parameters, const std::string &body,
                              const std::string &version = "8.0", const std::string &directives = "") {
  return module(".extern .shared .align 1024 .b8 smem[];\n.visible .entry k(" + parameters + ")" + directives +
                    "\n{\n.reg .pred %p<16>;\n.reg .b16 %h<16>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<32>;\n" + body +
                    "\nret;\n}\n",
                version);
}

} // namespace weft::emu::test

#endif // WEFT_TEST_EMULATOR_TENSORMAPARGUMENT_H

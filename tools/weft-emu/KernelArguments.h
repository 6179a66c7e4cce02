// Buffers and parameters of one kernel.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the command line of weft-emu says of a kernel's data:
//
//   --buffer=NAME=SHAPE[=VALUE]   device memory; SHAPE as "512x768xf16"; VALUE as for weft-run's --input, or `empty`
//                                 (uninitialised: reading it before writing is a finding). Random without VALUE.
//   --arg=NAME                    the kernel's next parameter: the address of that buffer
//   --arg=TYPE=NUMBER             a scalar: i32=512, ui64=7, f32=1.5, ...
//   --arg=map:NAME:BOX[:swizzle=32|64|128][:nan]
//                                 a tiled tensor map over the whole buffer (row-major), BOX as "128x64" in the buffer's
//                                 order of dimensions
#ifndef WEFT_EMU_KERNELARGUMENTS_H
#define WEFT_EMU_KERNELARGUMENTS_H

#include "Emulator/Emulator.h"
#include "Tensor.h"

namespace weft::emu {

/// One piece of device memory.
struct Buffer {
  std::string name;
  run::Tensor contents; ///< Before the launch.
  bool isEmpty = false; ///< Uninitialised before the launch.
  uint64_t address = 0;
};

class KernelArguments {
public:
  /// Reads the flags; random buffers take `seed` plus their number.
  Error parse(const std::vector<std::string> &buffers, const std::vector<std::string> &arguments, uint64_t seed);

  /// Allocates the buffers on `card`, fills them, and makes the parameter buffer.
  Error place(Emulator &card);
  /// Gives their memory back.
  Error release(Emulator &card);
  const std::vector<uint8_t> &getParameters() const { return parameters; }

  const std::vector<Buffer> &getBuffers() const { return buffers; }
  /// Null if there is no buffer of that name.
  const Buffer *findBuffer(std::string_view name) const;
  /// The contents of a buffer on the GPU.
  Error read(const Emulator &card, const Buffer &buffer, run::Tensor &tensor) const;

private:
  Error parseBuffer(const std::string &text, uint64_t seed);
  Error addScalar(const std::string &text);
  Error addMap(const std::string &text);
  void append(const void *data, size_t size, size_t alignment);

  std::vector<Buffer> buffers;
  std::vector<std::string> arguments;
  std::vector<uint8_t> parameters;
};

} // namespace weft::emu

#endif // WEFT_EMU_KERNELARGUMENTS_H

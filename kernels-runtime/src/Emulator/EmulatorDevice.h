// The emulator as a device of the runtime.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_EMULATOR_EMULATORDEVICE_H
#define WEFT_EMULATOR_EMULATORDEVICE_H

#include "Emulator.h"

#include <memory>
#include <string_view>

namespace weft {
class Device;

namespace emu {

/// Reads "GPU[,option]...": a GPU or architecture of GPU.h, and of LaunchOptions seed=N, timing=early|random|late,
/// order=random|depth-first|reverse, ctas=numbers|reverse|random (who begins first), sanitizer=on|off, counters=on|off,
/// limit=N (warp instructions of a launch).
Error parseCard(std::string_view text, std::string &card, LaunchOptions &options);

} // namespace emu

/// The device named "emu:<text>", with the text that emu::parseCard reads. A finding of the sanitizer is an error of
/// the run.
bundle::Error createEmulatorDevice(std::string_view text, std::unique_ptr<Device> &device);

} // namespace weft

#endif // WEFT_EMULATOR_EMULATORDEVICE_H

// Which program of a bundle a device runs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model compiled for several targets has one entry for each of them: `main` for the CPU, `main@sm_90a` for that GPU
// architecture. A caller names the function (`main`); the session takes the entry that fits its device.
#ifndef WEFT_GPU_ENTRYCHOICE_H
#define WEFT_GPU_ENTRYCHOICE_H

#include "weft/Bundle/Reader.h"

#include <string_view>

namespace weft {

/// An entry and the code it needs.
struct EntryChoice {
  uint32_t index = 0;
  std::string_view target; ///< Of GPU code, "sm_90a"; empty: whatever the device likes best.
};

/// The entry `name` (empty: the function of the first entry) for a device of `architecture` ("cpu", "sm_90a"):
///  * a name with '@' is exactly that entry, which must fit the device;
///  * else the CPU takes the entry without '@'; a GPU the best `name@sm_<n>` that it can run, or, if the function has
///  no
///    entry with '@', the one without.
/// Usage if there is no such function, Device if none of its entries fits.
bundle::Error chooseEntry(const bundle::Tables &tables, std::string_view name, std::string_view architecture,
                          EntryChoice &choice);

/// "expected code for sm_80, the bundle has sm_90a, cpu; compile the model with --target=sm_80".
bundle::Error makeNoCodeError(const bundle::Tables &tables, std::string_view architecture);

} // namespace weft

#endif // WEFT_GPU_ENTRYCHOICE_H

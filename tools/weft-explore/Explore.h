// weft-explore: what its parts share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_EXPLORE_EXPLORE_H
#define WEFT_TOOLS_EXPLORE_EXPLORE_H

#include "weft/Plan/Cost/Configuration.h"
#include "llvm/Support/raw_ostream.h"
#include <string>

namespace weft::explore {

/// What every model says of a configuration, as one JSON object: orders, panels, optimum, simulation, bound. Fails
/// (false, `error`) where a model refuses.
bool writeNumbers(const plan::Configuration &configuration, llvm::json::OStream &json, std::string &error);

} // namespace weft::explore

#endif // WEFT_TOOLS_EXPLORE_EXPLORE_H

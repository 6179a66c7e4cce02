// weft-explore: what its parts share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_EXPLORE_EXPLORE_H
#define WEFT_TOOLS_EXPLORE_EXPLORE_H

#include "weft/Plan/Cost/Configuration.h"
#include "llvm/Support/raw_ostream.h"
#include <string>
#include <string_view>

namespace weft::explore {

/// A file of tools/weft-explore/web, embedded at build time.
struct WebFile {
  std::string_view name, text;
};
/// All of them; the build writes this function.
llvm::ArrayRef<WebFile> getWebFiles();

/// The page: index.html with styles, scripts and the table of devices inside. `launches` is JSON that the page opens
/// with, or empty.
std::string makePage(llvm::StringRef launches);

/// What every model says of a configuration, as one JSON object: orders, panels, optimum, simulation, bound. Fails
/// (false, `error`) where a model refuses.
bool writeNumbers(const plan::Configuration &configuration, llvm::json::OStream &json, std::string &error);

} // namespace weft::explore

#endif // WEFT_TOOLS_EXPLORE_EXPLORE_H

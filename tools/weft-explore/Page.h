// The pages that tools write: self-contained HTML out of the files in web/, which the build embeds.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_EXPLORE_PAGE_H
#define WEFT_TOOLS_EXPLORE_PAGE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <string_view>

namespace weft::explore {

/// A file of tools/weft-explore/web, or models.wasm, embedded at build time.
struct WebFile {
  std::string_view name, text;
};
/// All of them; the build writes this function.
llvm::ArrayRef<WebFile> getWebFiles();

/// The explorer: index.html with styles, scripts, models and the table of devices inside. `launches` is JSON that the
/// page opens with, or empty.
std::string makePage(llvm::StringRef launches);

/// The report on a model: report.html with the same and `explanation`, JSON of `weft explain`.
std::string makeReport(llvm::StringRef explanation);

} // namespace weft::explore

#endif // WEFT_TOOLS_EXPLORE_PAGE_H

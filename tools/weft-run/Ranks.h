// Which rank this process is.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_WEFT_RUN_RANKS_H
#define WEFT_TOOLS_WEFT_RUN_RANKS_H

#include "weft/Bundle/Error.h"

#include <cstdint>
#include <string>

namespace weft::run {

struct RankOptions {
  int32_t rank = 0, ranks = 1;
  std::string address; ///< "host:port".
  std::string nccl;    ///< WEFT_NCCL; empty: libnccl.so.2.
};

/// Of "R/N@HOST:PORT", or "env": what launchers put in the environment.
bundle::Error readRank(std::string text, RankOptions &options);

} // namespace weft::run

#endif // WEFT_TOOLS_WEFT_RUN_RANKS_H

// What a session asks of the provider.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_ORT_OPTIONS_H
#define WEFT_ORT_OPTIONS_H

#include "Partition.h"

namespace weft::ort {

/// onnxruntime's own entries of a session's configuration that are the provider's business, and those of the provider:
/// `device`, `threads`, `compile_flags`.
struct Options {
  PartitionOptions partition;
  std::string device = "cpu"; ///< Of the runtime. Tensors are on the host.
  int threads = 0;
  bool makesContexts = false; ///< ep.context_enable
  bool embedsContexts = false;
  std::string contextPath, contextPrefix;

  /// The error's text; empty: none.
  static std::string read(Api api, const SessionOptions *session, Options &options);
};

/// "target=cpu;format=1.4": what code of the options' device needs.
std::string describeCompatibility(const Options &options);
Compatibility checkCompatibility(std::string_view text);

} // namespace weft::ort

#endif // WEFT_ORT_OPTIONS_H

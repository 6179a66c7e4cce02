// Inputs and outputs in words.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a caller sees of an entry's inputs and outputs: static extents as numbers, others as the text of their
// expression.
#ifndef WEFT_SESSION_PORTDESCRIPTION_H
#define WEFT_SESSION_PORTDESCRIPTION_H

#include "weft/Bundle/Reader.h"

#include <string>
#include <vector>

namespace weft {

struct PortDescription {
  std::string name;
  bundle::DType dtype;
  std::vector<int64_t> dims;           ///< -1 if not static.
  std::vector<std::string> texts;      ///< "" if static, else e.g. "batch" or "2*seq".
  std::vector<const char *> textViews; ///< `texts` for the C ABI, null if static.
};

PortDescription describePort(const bundle::Tables &tables, const bundle::EntryView &entry,
                             const bundle::PortRecord &port);

/// "2x3xf32"; a scalar is "f32".
std::string describeShape(const int64_t *dims, size_t rank, bundle::DType dtype);

} // namespace weft

#endif // WEFT_SESSION_PORTDESCRIPTION_H

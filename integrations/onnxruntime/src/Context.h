// Nodes that hold a bundle (EPContext of com.microsoft), by which a model is compiled once and loaded often.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_ORT_CONTEXT_H
#define WEFT_ORT_CONTEXT_H

#include "Options.h"

namespace weft::ort {

/// Whether a node is one of this provider's.
bool isContext(const NodeView &node);
/// Its bundle: the node's own bytes, or those of a file below the model's folder.
std::string readContext(const NodeView &node, const std::string &modelPath, std::vector<char> &bundle);

/// The node of a bundle, or a file beside the model to be and a node that names it. `name`, `inputs`, `outputs` are the
/// fused node's. The error's text; empty: none.
std::string makeContext(Api api, const Options &options, const std::string &modelPath, const std::string &name,
                        const std::vector<std::string> inputs, const std::vector<std::string> outputs,
                        const std::vector<char> &bundle, Node *&node);

} // namespace weft::ort

#endif // WEFT_ORT_CONTEXT_H

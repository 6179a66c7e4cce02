// Structural checks of a parsed model, before anything is built from it; and the order of nodes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_IMPORT_ONNX_GRAPHCHECKS_H
#define WEFT_LIB_IMPORT_ONNX_GRAPHCHECKS_H

#include "weft/Import/Onnx/ModelReader.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <google/protobuf/repeated_field.h>
#include <vector>

namespace onnx {
class AttributeProto;
class FunctionProto;
class NodeProto;
} // namespace onnx

namespace weft::onnx {

using NodeList = google::protobuf::RepeatedPtrField<::onnx::NodeProto>;

/// Domain names as the table has them: `ai.onnx` is the empty one.
llvm::StringRef canonicalDomain(llvm::StringRef domain);
/// Name for messages: the node's name, else its first output's.
llvm::StringRef displayName(const ::onnx::NodeProto &node);
/// `Op-13` or `domain::Op-1`; version 0 is left out.
std::string displayOp(const ::onnx::NodeProto &node, int64_t version);

/// Calls `use` for each name that subgraphs of `node` take from outside themselves.
void forEachCapture(const ::onnx::NodeProto &node, llvm::function_ref<void(llvm::StringRef)> use);

/// Indices of `nodes`, producers first; the file's order if that is right already. Nodes on a cycle are left out.
std::vector<int> orderNodes(const NodeList &nodes);

/// String fields that are newer than the system's protobuf classes, read from the unknown fields; empty if absent.
std::string overloadOf(const ::onnx::NodeProto &node);
std::string overloadOf(const ::onnx::FunctionProto &function);
/// Attributes with default values of a function, parsed from field 11. Fails on malformed ones.
bool defaultAttributes(const ::onnx::FunctionProto &function, std::vector<::onnx::AttributeProto> &attributes);

/// Versions, names, single assignment, missing inputs, cycles, attribute types, initialisers, function recursion.
/// Reports every problem.
llvm::LogicalResult checkModel(const Model &model, const Limits &limits, Diagnostics &diagnostics);

} // namespace weft::onnx

#endif // WEFT_LIB_IMPORT_ONNX_GRAPHCHECKS_H

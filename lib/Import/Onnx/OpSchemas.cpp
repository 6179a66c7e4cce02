// Look-up in the generated table of ONNX's own operators.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "OpSchemas.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace weft::onnx;

static constexpr OpSchema schemas[] = {
#define WEFT_OP_SCHEMA(OP, INPUTS, OUTPUTS, ATTRIBUTES) {#OP, INPUTS, OUTPUTS, ATTRIBUTES},
#include "OpSchemas.inc"
#undef WEFT_OP_SCHEMA
};

const OpSchema *weft::onnx::findSchema(llvm::StringRef op) {
  const OpSchema *schema =
      llvm::lower_bound(schemas, op, [](const OpSchema &row, llvm::StringRef name) { return row.op < name; });
  return schema != std::end(schemas) && schema->op == op ? schema : nullptr;
}

bool OpSchema::hasAttribute(llvm::StringRef name) const {
  llvm::SmallVector<llvm::StringRef> names;
  attributes.split(names, ',');
  return llvm::is_contained(names, name);
}

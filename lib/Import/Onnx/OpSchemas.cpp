// Look-up in the generated tables of operators.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "OpSchemas.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace weft::onnx;

#define WEFT_OP_SCHEMA(OP, INPUTS, OUTPUTS, ATTRIBUTES) {#OP, INPUTS, OUTPUTS, ATTRIBUTES},
static constexpr OpSchema onnxSchemas[] = {
#include "OpSchemas.inc"
};
static constexpr OpSchema oldSchemas[] = {
#include "OldOpSchemas.inc"
};
static constexpr OpSchema microsoftSchemas[] = {
#include "MicrosoftSchemas.inc"
};
#undef WEFT_OP_SCHEMA

const OpSchema *weft::onnx::findSchema(llvm::StringRef domain, llvm::StringRef op, int64_t opset) {
  llvm::ArrayRef<OpSchema> schemas;
  if (domain.empty())
    schemas = opset < 7 ? llvm::ArrayRef<OpSchema>(oldSchemas) : onnxSchemas;
  else if (domain == "com.microsoft")
    schemas = microsoftSchemas;
  const OpSchema *schema =
      llvm::lower_bound(schemas, op, [](const OpSchema &row, llvm::StringRef name) { return row.op < name; });
  return schema != schemas.end() && schema->op == op ? schema : nullptr;
}

bool OpSchema::hasAttribute(llvm::StringRef name) const {
  llvm::SmallVector<llvm::StringRef> names;
  attributes.split(names, ',');
  return llvm::is_contained(names, name);
}

// Diagnostics of reading and importing a model: every problem, each with its node, cause and remedy, as text and as
// JSON.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_IMPORT_ONNX_DIAGNOSTICS_H
#define WEFT_IMPORT_ONNX_DIAGNOSTICS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/LogicalResult.h"
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
namespace json {
class OStream;
}
} // namespace llvm

namespace weft::onnx {

/// Classes of problems; the values are the exit codes of tools.
enum class ErrorClass { Usage = 2, Unsupported = 3, Invalid = 5, Limit = 6, Internal = 70 };

struct Diagnostic {
  ErrorClass cls = ErrorClass::Invalid;
  std::string node; ///< Name of the ONNX node (of its first output if it has none), or empty for the model as a whole.
  std::string op;   ///< `domain::Op-version`, domain left out for ai.onnx; empty if not known.
  std::string operandTypes; ///< Types of the node's inputs, comma-separated.
  std::string cause;
  std::string remedy; ///< May be empty.
};

/// Collects problems. Everything that came out of the model is escaped when printed. At most `maxKept` are kept, all
/// are counted.
class Diagnostics {
public:
  static constexpr size_t maxKept = 1000;

  llvm::LogicalResult report(Diagnostic diagnostic);
  /// A problem of the model as a whole.
  llvm::LogicalResult report(ErrorClass cls, const llvm::Twine &cause, const llvm::Twine &remedy = {});

  /// What is wrong with the model and changes nothing; at most `maxKept` are kept.
  void warn(const llvm::Twine &text) {
    if (warned.size() < maxKept)
      warned.push_back(text.str());
  }
  llvm::ArrayRef<std::string> warnings() const { return warned; }

  bool empty() const { return total == 0; }
  size_t count() const { return total; }
  llvm::ArrayRef<Diagnostic> all() const { return kept; }
  /// 0 without problems; else the code of the gravest class: internal, invalid, limit, usage, unsupported.
  int exitCode() const;

  /// One line a problem: `FILE: error: node `N` (Op-13): cause; operands: ...; remedy`.
  void print(llvm::raw_ostream &os, llvm::StringRef file) const;
  /// Array of objects {class, node, op, operands, cause, remedy}.
  void print(llvm::json::OStream &json) const;

private:
  std::vector<Diagnostic> kept;
  std::vector<std::string> warned;
  size_t total = 0;
};

/// `text` with control characters, invalid UTF-8, bidirectional overrides and backslashes written as `\xNN`, cut after
/// `maxBytes`.
std::string escape(llvm::StringRef text, size_t maxBytes = 200);

} // namespace weft::onnx

#endif // WEFT_IMPORT_ONNX_DIAGNOSTICS_H

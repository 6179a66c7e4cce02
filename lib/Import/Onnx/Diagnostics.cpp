// Collecting and printing the problems of a model. Text that came out of the model never reaches a terminal or a page
// raw.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Import/Onnx/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace weft::onnx;

llvm::LogicalResult Diagnostics::report(Diagnostic diagnostic) {
  ++total;
  if (kept.size() < maxKept)
    kept.push_back(std::move(diagnostic));
  return llvm::failure();
}

llvm::LogicalResult Diagnostics::report(ErrorClass cls, const llvm::Twine &cause, const llvm::Twine &remedy) {
  Diagnostic diagnostic;
  diagnostic.cls = cls;
  diagnostic.cause = cause.str();
  diagnostic.remedy = remedy.str();
  return report(std::move(diagnostic));
}

int Diagnostics::exitCode() const {
  for (ErrorClass cls :
       {ErrorClass::Internal, ErrorClass::Invalid, ErrorClass::Limit, ErrorClass::Usage, ErrorClass::Unsupported})
    if (llvm::any_of(kept, [&](const Diagnostic &diagnostic) { return diagnostic.cls == cls; }))
      return static_cast<int>(cls);
  return 0;
}

static llvm::StringRef className(ErrorClass cls) {
  switch (cls) {
  case ErrorClass::Usage:
    return "usage";
  case ErrorClass::Unsupported:
    return "unsupported";
  case ErrorClass::Invalid:
    return "invalid";
  case ErrorClass::Limit:
    return "limit";
  case ErrorClass::Internal:
    return "internal";
  }
  return "internal";
}

/// One line with its end.
static void printLine(llvm::raw_ostream &os, llvm::StringRef file, const Diagnostic &diagnostic) {
  os << escape(file) << ": error: ";
  if (!diagnostic.node.empty())
    os << "node `" << escape(diagnostic.node) << '`'
       << (diagnostic.op.empty() ? "" : " (" + escape(diagnostic.op) + ")") << ": ";
  os << escape(diagnostic.cause, 2000);
  if (!diagnostic.operandTypes.empty())
    os << "; operands: " << escape(diagnostic.operandTypes, 1000);
  if (!diagnostic.remedy.empty())
    os << "; " << escape(diagnostic.remedy, 1000);
  os << '\n';
}

void Diagnostics::print(llvm::raw_ostream &os, llvm::StringRef file) const {
  // Text is for people: a page of it. The JSON form has everything kept.
  constexpr size_t maxBytes = 12'000;
  size_t bytes = 0, printed = 0;
  for (const Diagnostic &diagnostic : kept) {
    std::string line;
    llvm::raw_string_ostream stream(line);
    printLine(stream, file, diagnostic);
    if (printed > 0 && bytes + line.size() > maxBytes)
      break;
    os << line;
    bytes += line.size();
    ++printed;
  }
  if (total > printed)
    os << escape(file) << ": error: and " << (total - printed) << " more problems\n";
}

void Diagnostics::print(llvm::json::OStream &json) const {
  json.array([&] {
    for (const Diagnostic &diagnostic : kept) {
      json.object([&] {
        json.attribute("class", className(diagnostic.cls));
        json.attribute("node", escape(diagnostic.node));
        json.attribute("op", escape(diagnostic.op));
        json.attribute("operands", escape(diagnostic.operandTypes, 1000));
        json.attribute("cause", escape(diagnostic.cause, 2000));
        json.attribute("remedy", escape(diagnostic.remedy, 1000));
      });
    }
  });
}

/// Marks that reorder or hide the text around them.
static bool isDirectional(llvm::UTF32 c) {
  return (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
         c == 0x061c;
}

std::string weft::onnx::escape(llvm::StringRef text, size_t maxBytes) {
  bool cut = text.size() > maxBytes;
  std::string result;
  const auto *it = reinterpret_cast<const llvm::UTF8 *>(text.data());
  const auto *end = it + std::min(text.size(), maxBytes);
  while (it != end) {
    const llvm::UTF8 *next = it;
    llvm::UTF32 c = 0;
    bool valid = llvm::convertUTF8Sequence(&next, end, &c, llvm::strictConversion) == llvm::conversionOK;
    if (!valid)
      next = it + 1;
    bool plain = valid && c >= 0x20 && c != 0x7f && c != '\\' && !(c >= 0x80 && c < 0xa0) && !isDirectional(c);
    for (; it != next; ++it) {
      if (plain) {
        result.push_back(static_cast<char>(*it));
      } else {
        result += "\\x";
        result += llvm::toHex(llvm::ArrayRef<uint8_t>(*it), /*LowerCase=*/true);
      }
    }
  }
  if (cut)
    result += "...";
  return result;
}

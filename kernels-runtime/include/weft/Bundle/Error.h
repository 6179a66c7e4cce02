// Errors as values.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime and the bundle builder are compiled without exceptions: a function that can fail returns an Error, which
// is true when something went wrong. Codes equal the exit codes of the tools and the codes of the C ABI.
#ifndef WEFT_BUNDLE_ERROR_H
#define WEFT_BUNDLE_ERROR_H

#include <string>
#include <string_view>
#include <utility>

namespace weft::bundle {

enum class ErrorCode : int {
  None = 0,
  Usage = 2,       ///< The caller asked for something that cannot be: wrong name, wrong count, wrong order of calls.
  Unsupported = 3, ///< Understood, but not implemented.
  Device = 4,      ///< The requested device, or the code for it, is not available.
  Input = 5,       ///< Broken, hostile or unreadable file; tensor that does not fit the model.
  Resource = 6,    ///< Out of memory or over a limit.
  Internal = 70,
};

class [[nodiscard]] Error {
public:
  Error() = default;
  Error(ErrorCode code, std::string message) : code(code), message(std::move(message)) {}

  /// True when there is an error.
  explicit operator bool() const { return code != ErrorCode::None; }
  ErrorCode getCode() const { return code; }
  /// Lower-case, without final period; any text from a file in it is escaped.
  const std::string &getMessage() const { return message; }
  /// The same error, with `context` and ": " before the message.
  Error within(std::string_view context) && { return Error(code, std::string(context) + ": " + message); }

private:
  ErrorCode code = ErrorCode::None;
  std::string message;
};

/// Builds an error from a printf format.
Error makeError(ErrorCode code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// `text` in double quotes, with control characters, quotes, backslashes and bytes that are not UTF-8 escaped, cut
/// after 200 bytes: safe to print, whatever file it comes from.
std::string quote(std::string_view text);

/// `text` as a JSON string, quotes included: valid whatever bytes it holds ('<' is escaped, too, so that it may stand
/// in HTML).
std::string quoteJson(std::string_view text);

/// The element of `names` that is nearest to `word` and near enough to be meant (edit distance at most a third of the
/// word's length, at least one); empty when there is none. `names(i)` returns name number i of `count`.
std::string nearestName(std::string_view word, size_t count, std::string_view (*name)(size_t, const void *),
                        const void *context);

/// True if `text` is well-formed UTF-8 (no surrogates, no overlong forms).
bool isUtf8(std::string_view text);

} // namespace weft::bundle

#endif // WEFT_BUNDLE_ERROR_H

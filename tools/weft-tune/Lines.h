// Files of one JSON object a line: candidates, times, records. They grow by whole lines, so a process that ends at any
// moment leaves at most one line that is not whole, which is left out.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TUNE_LINES_H
#define WEFT_TUNE_LINES_H

#include "weft/Bundle/Error.h"

#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weft::tune {

using bundle::Error;
using bundle::ErrorCode;

/// The fields of one object: each value as JSON, without blanks outside of its strings.
struct Fields {
  std::map<std::string, std::string> values;

  /// The value as JSON; empty if there is none.
  std::string getRaw(const std::string &name) const;
  /// A string's text; empty if the field is no string.
  std::string getText(const std::string &name) const;
  std::optional<double> getNumber(const std::string &name) const;
};

/// The fields of a line; none if it is no object.
std::optional<Fields> parseLine(std::string_view line);
std::string formatLine(const Fields &fields);

/// All lines of a file. Input: it cannot be read, or a line but the last is no object. `isTorn`: the last line is not
/// whole, and left out.
Error readLines(const std::string &path, std::vector<Fields> &lines, bool &isTorn);

/// Appends lines to a file, each at once and whole.
class LineWriter {
public:
  LineWriter() = default;
  ~LineWriter();
  LineWriter(const LineWriter &) = delete;
  LineWriter &operator=(const LineWriter &) = delete;

  /// Makes the file if there is none; a line that is not whole at its end is taken away first.
  Error open(const std::string &path);
  Error write(const Fields &fields);

private:
  std::FILE *file = nullptr;
  std::string path;
};

} // namespace weft::tune

#endif // WEFT_TUNE_LINES_H

// The server's configurations are JSON: as much of it as they need.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TRITON_JSON_H
#define WEFT_TRITON_JSON_H

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::triton {

/// A value; members keep their order. What is not there reads as null.
class Json {
public:
  enum Kind { Null, Word, Text, List, Object }; ///< Word: a number, true or false, as it is written.

  static Json text(std::string value) { return {Text, std::move(value)}; }
  static Json number(int64_t value) { return {Word, std::to_string(value)}; }
  static Json list() { return {List, ""}; }
  static Json object() { return {Object, ""}; }
  Json() = default;

  /// Null if `text` is no JSON.
  static Json parse(std::string_view text);
  std::string write() const;

  const Json &get(std::string_view key) const;
  void set(const std::string &key, Json value);
  void add(Json value) { items.push_back(std::move(value)); }
  const std::vector<Json> &getItems() const { return items; }
  const std::string &getText() const { return value; }
  /// Of a word, or a text that holds one; `otherwise` if it is none.
  int64_t getInteger(int64_t otherwise) const;
  bool isEmpty() const { return items.empty(); }

private:
  Json(Kind kind, std::string value) : kind(kind), value(std::move(value)) {}
  static bool parseValue(std::string_view &rest, int depth, Json &json);

  Kind kind = Null;
  std::string value;
  std::vector<std::string> keys; ///< Of an object; its values are the items.
  std::vector<Json> items;
};

} // namespace weft::triton

#endif // WEFT_TRITON_JSON_H

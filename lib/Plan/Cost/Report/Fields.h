// Fields of a JSON object that is not trusted.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every number has a range, every unknown field is refused; messages have the path of the field.
#ifndef WEFT_LIB_PLAN_COST_REPORT_FIELDS_H
#define WEFT_LIB_PLAN_COST_REPORT_FIELDS_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace weft::plan {

/// The fields of an object; the first failure stays in `error`.
class Fields {
public:
  Fields(const llvm::json::Object *object, llvm::StringRef path, std::string &error)
      : object(object), path(path), error(error) {
    if (!object)
      fail("", "expected an object");
  }

  bool isGood() const { return error.empty(); }

  void number(llvm::StringRef name, int64_t &value, int64_t least, int64_t most, bool isNeeded = false) {
    const llvm::json::Value *field = find(name);
    if (!field) {
      if (isNeeded)
        fail(name, "expected a number, got nothing");
      return;
    }
    std::optional<int64_t> read = field->getAsInteger();
    if (!read || *read < least || *read > most)
      return fail(name, "expected a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    value = *read;
  }

  void boolean(llvm::StringRef name, bool &value) {
    if (const llvm::json::Value *field = find(name)) {
      if (std::optional<bool> read = field->getAsBoolean())
        value = *read;
      else
        fail(name, "expected true or false");
    }
  }

  std::string text(llvm::StringRef name, llvm::StringRef otherwise) {
    const llvm::json::Value *field = find(name);
    if (!field)
      return otherwise.str();
    if (std::optional<llvm::StringRef> read = field->getAsString())
      return read->str();
    fail(name, "expected a text");
    return "";
  }

  const llvm::json::Object *inner(llvm::StringRef name) {
    const llvm::json::Value *field = find(name);
    if (field && !field->getAsObject())
      fail(name, "expected an object");
    return field ? field->getAsObject() : nullptr;
  }

  /// At most `most` elements.
  const llvm::json::Array *list(llvm::StringRef name, size_t most, bool isNeeded = false) {
    const llvm::json::Value *field = find(name);
    const llvm::json::Array *read = field ? field->getAsArray() : nullptr;
    if ((field || isNeeded) && (!read || read->size() > most || (isNeeded && read->empty())))
      fail(name, "expected an array of " + std::string(isNeeded ? "1" : "0") + " to " + std::to_string(most));
    return read;
  }

  /// A finite number of at least 0.
  void positive(llvm::StringRef name, double &value, bool isNeeded = false) {
    const llvm::json::Value *field = find(name);
    if (!field && !isNeeded)
      return;
    std::optional<double> read = field ? field->getAsNumber() : std::nullopt;
    if (!read || !(*read >= 0 && *read < 1e300))
      return fail(name, "expected a number of at least 0");
    value = *read;
  }

  void skip(llvm::StringRef name) { (void)find(name); }

  void fail(llvm::StringRef name, const std::string &what) {
    if (error.empty())
      error = (path + (name.empty() ? llvm::StringRef() : ".") + name).str() + ": " + what;
  }

  /// After all fields were asked for: refuses others.
  void finish() {
    if (!object)
      return;
    for (const auto &entry : *object)
      if (!llvm::is_contained(known, llvm::StringRef(entry.first)))
        fail(llvm::StringRef(entry.first).take_front(40), "unknown field, expected one of " + llvm::join(known, ", "));
  }

private:
  const llvm::json::Value *find(llvm::StringRef name) {
    known.push_back(name.str());
    return object ? object->get(name) : nullptr;
  }

  const llvm::json::Object *object;
  std::string path;
  std::string &error;
  std::vector<std::string> known;
};

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_COST_REPORT_FIELDS_H

// Profiles: reading them, finding records.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/Profile.h"
#include "weft/Support/InputFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using llvm::StringRef, llvm::StringMap;
namespace json = llvm::json;

namespace weft::plan {

static constexpr StringRef schema = "weft.profile/1";
static constexpr size_t mostRecords = 200000, mostShapes = 256, mostText = 4096;

static std::string makeKey(StringRef name, StringRef device, llvm::ArrayRef<std::string> shapes) {
  return (name + "|" + device.lower() + "|" + llvm::join(shapes, ",")).str();
}

namespace {

/// One record with the fields of its key.
struct Entry {
  std::string key, device;
  ProfileRecord record;
};

/// Reads the fields of one record; the first problem ends it.
class RecordReader {
public:
  explicit RecordReader(const json::Object &object) : object(object) {}

  /// The problem, or "".
  std::string read(Entry &entry) {
    for (const auto &[field, value] : object) {
      StringRef name = field;
      if (!llvm::is_contained(
              {"subgraph", "device", "shapes", "seconds", "apart_seconds", "choice", "schedule", "kernel"}, name))
        return "unknown field '" + name.take_front(40).str() + "'";
    }
    std::string name = text("subgraph"), choice = text("choice", /*isNeeded=*/false);
    entry.device = text("device");
    entry.record.schedule = text("schedule", /*isNeeded=*/false);
    text("kernel", /*isNeeded=*/false);
    entry.record.seconds = seconds("seconds", /*isNeeded=*/true);
    entry.record.apartSeconds = seconds("apart_seconds", /*isNeeded=*/false);
    llvm::SmallVector<std::string, 4> shapes = readShapes();
    if (problem.empty() && (name.size() != 32 || !llvm::all_of(name, llvm::isHexDigit)))
      problem = "subgraph: expected 32 hexadecimal digits";
    if (problem.empty() && choice != "" && choice != "fused" && choice != "apart")
      problem = "choice: expected fused or apart, got '" + choice.substr(0, 40) + "'";
    entry.record.choice = choice == "fused"   ? ProfileRecord::Choice::Fused
                          : choice == "apart" ? ProfileRecord::Choice::Apart
                                              : ProfileRecord::Choice::None;
    entry.key = makeKey(StringRef(name).lower(), entry.device, shapes);
    return problem;
  }

private:
  void fail(const llvm::Twine &what) {
    if (problem.empty())
      problem = what.str();
  }

  std::string text(StringRef field, bool isNeeded = true) {
    const json::Value *value = object.get(field);
    std::optional<StringRef> found = value ? value->getAsString() : std::nullopt;
    if (value ? (!found || found->empty() || found->size() > mostText) : isNeeded)
      fail(field + ": expected a text of 1 to 4096 bytes");
    return found.value_or("").str();
  }

  double seconds(StringRef field, bool isNeeded) {
    const json::Value *value = object.get(field);
    std::optional<double> found = value ? value->getAsNumber() : std::nullopt;
    if (value ? !(found && *found > 0 && *found <= 1e6) : isNeeded)
      fail(field + ": expected seconds above 0, at most 1e6");
    return found.value_or(0);
  }

  llvm::SmallVector<std::string, 4> readShapes() {
    llvm::SmallVector<std::string, 4> shapes;
    const json::Array *list = object.getArray("shapes");
    if (!list || list->size() > mostShapes)
      fail("shapes: expected a list of at most 256 texts");
    else
      for (const json::Value &each : *list) {
        std::optional<StringRef> shape = each.getAsString();
        if (!shape || shape->size() > mostText)
          fail("shapes: expected texts of at most 4096 bytes");
        shapes.push_back(shape.value_or("").str());
      }
    return shapes;
  }

  const json::Object &object;
  std::string problem;
};

} // namespace

bool Profile::parse(StringRef text, std::string &error) {
  std::optional<json::Value> root = parseJson(text, error);
  if (!root)
    return false;
  const json::Object *object = root->getAsObject();
  std::optional<StringRef> found = object ? object->getString("schema") : std::nullopt;
  const json::Array *list = object ? object->getArray("records") : nullptr;
  if (found != schema || !list || list->size() > mostRecords) {
    error = found != schema
                ? ("expected schema " + schema + ", got '" + found.value_or("none").take_front(40) + "'").str()
                : std::string("expected an array `records` of at most 200000");
    return false;
  }
  std::vector<Entry> entries;
  for (const json::Value &value : *list) {
    const json::Object *record = value.getAsObject();
    entries.emplace_back();
    std::string problem = record ? RecordReader(*record).read(entries.back()) : std::string("expected an object");
    if (!problem.empty()) {
      error = "record " + std::to_string(entries.size() - 1) + ": " + problem;
      return false;
    }
  }
  for (Entry &entry : entries) {
    ++devices[StringRef(entry.device).lower()];
    auto [it, isNew] = records.try_emplace(entry.key, entry.record);
    if (!isNew && entry.record.seconds < it->second.seconds)
      it->second = entry.record;
  }
  return true;
}

bool Profile::read(StringRef file, std::string &error) {
  std::string text;
  if (readInputFile(file, text, error) && parse(text, error))
    return true;
  error = "'" + file.str() + "': " + error;
  return false;
}

const ProfileRecord *Profile::find(const SubgraphKey &key, StringRef device) const {
  auto it = records.find(makeKey(key.name, device, key.shapes));
  return it == records.end() ? nullptr : &it->second;
}

std::string describe(const ProfileRecord &record, StringRef device) {
  std::string apart =
      record.apartSeconds > 0 ? llvm::formatv(", {0:f1} us apart", record.apartSeconds * 1e6).str() : "";
  return llvm::formatv("{0:f1} us together{1}, measured on {2}", record.seconds * 1e6, apart, device);
}

} // namespace weft::plan

// Records: reading and finding them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/Records.h"
#include "weft/Support/InputFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using llvm::StringRef, llvm::StringMap;
namespace json = llvm::json;

namespace weft::plan {

static constexpr StringRef schema = "weft.records/1";
static constexpr size_t mostRecords = 200000, mostShapes = 256, mostText = 4096;

static std::string makeKey(StringRef name, StringRef device) { return (name.lower() + "|" + device.lower()); }
static std::string makeKey(StringRef name, StringRef device, llvm::ArrayRef<std::string> shapes) {
  return makeKey(name, device) + "|" + llvm::join(shapes, ",");
}

namespace {

/// One record with the fields of its key.
struct Entry {
  std::string name, device;
  Record record;
};

/// Reads the fields of one record; the first problem ends it.
class RecordReader {
public:
  explicit RecordReader(const json::Object &object) : object(object) {}

  /// The problem, or "".
  std::string read(Entry &entry) {
    for (const auto &[field, value] : object) {
      StringRef name = field;
      if (!llvm::is_contained({"subgraph", "device", "shapes", "seconds", "apart_seconds", "choice", "schedule",
                               "planned", "planned_seconds", "planned_model_seconds", "kernel", "date", "version",
                               "card", "checked", "spread", "trials"},
                              name))
        return "unknown field '" + name.take_front(40).str() + "'";
    }
    std::string name = text("subgraph"), choice = text("choice", /*isNeeded=*/false);
    entry.device = text("device");
    entry.record.schedule = text("schedule", /*isNeeded=*/false);
    entry.record.planned = text("planned", /*isNeeded=*/false);
    entry.record.date = text("date", /*isNeeded=*/false);
    entry.record.version = text("version", /*isNeeded=*/false);
    for (StringRef forPeople : {"kernel", "card", "checked"})
      text(forPeople, /*isNeeded=*/false);
    entry.record.seconds = seconds("seconds", /*isNeeded=*/true);
    entry.record.apartSeconds = seconds("apart_seconds", /*isNeeded=*/false);
    entry.record.plannedSeconds = seconds("planned_seconds", /*isNeeded=*/false);
    entry.record.plannedModelSeconds = seconds("planned_model_seconds", /*isNeeded=*/false);
    entry.record.shapes = readShapes();
    if (problem.empty() && (name.size() != 32 || !llvm::all_of(name, llvm::isHexDigit)))
      problem = "subgraph: expected 32 hexadecimal digits";
    if (problem.empty() && choice != "" && choice != "fused" && choice != "apart")
      problem = "choice: expected fused or apart, got '" + choice.substr(0, 40) + "'";
    entry.record.choice = choice == "fused"   ? Record::Choice::Fused
                          : choice == "apart" ? Record::Choice::Apart
                                              : Record::Choice::None;
    entry.name = name;
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

/// The problem of the first line, or "".
static std::string checkHead(StringRef line) {
  std::string error;
  std::optional<json::Value> root = parseJson(line, error);
  const json::Object *object = root ? root->getAsObject() : nullptr;
  std::optional<StringRef> found = object ? object->getString("schema") : std::nullopt;
  return found == schema ? ""
                         : ("expected schema " + schema + " in the first line, as `weft tune` writes it, got '" +
                            found.value_or(line).take_front(40) + "'")
                               .str();
}

bool Records::parse(StringRef text, std::string &error) {
  std::vector<Entry> entries;
  auto [head, rest] = text.split('\n');
  error = checkHead(head);
  for (size_t number = 2; error.empty() && !rest.empty(); ++number) {
    bool isWhole = rest.contains('\n');
    auto [line, next] = rest.split('\n');
    rest = next;
    if (line.trim().empty())
      continue;
    std::string problem;
    std::optional<json::Value> value = parseJson(line, problem);
    const json::Object *object = value ? value->getAsObject() : nullptr;
    if (!value && !isWhole)
      break;
    entries.emplace_back();
    if (object)
      problem = RecordReader(*object).read(entries.back());
    else if (problem.empty())
      problem = "expected an object";
    if (entries.size() > mostRecords)
      problem = "expected at most 200000 records";
    if (!problem.empty())
      error = "line " + std::to_string(number) + ": " + problem;
  }
  if (!error.empty())
    return false;
  for (Entry &entry : entries) {
    ++devices[StringRef(entry.device).lower()];
    Record *&known = exact[makeKey(entry.name, entry.device, entry.record.shapes)];
    if (!known) {
      known = &all.emplace_back(entry.record);
      alike[makeKey(entry.name, entry.device)].push_back(known);
    } else if (entry.record.seconds < known->seconds) {
      *known = entry.record;
    }
  }
  return true;
}

bool Records::read(StringRef file, std::string &error) {
  std::string text;
  if (readInputFile(file, text, error) && parse(text, error))
    return true;
  error = "'" + file.str() + "': " + error;
  return false;
}

const Record *Records::find(const SubgraphKey &key, StringRef device) const {
  return exact.lookup(makeKey(key.name, device, key.shapes));
}

/// How far apart two shapes are: the sum of the logarithms of their extents' ratios; none where they are not alike.
static std::optional<double> getDistance(StringRef one, StringRef other) {
  constexpr double most = 1.125;
  constexpr int64_t vector = 8;
  double distance = 0;
  while (true) {
    auto [a, oneRest] = one.split('x');
    auto [b, otherRest] = other.split('x');
    int64_t first = 0, second = 0;
    if (oneRest.empty() != otherRest.empty())
      return std::nullopt;
    if (oneRest.empty() || a.getAsInteger(10, first) || b.getAsInteger(10, second) || first <= 0 || second <= 0)
      return one == other ? std::optional(distance) : std::nullopt; // Elements, or extents with symbols.
    double ratio = double(std::max(first, second)) / double(std::min(first, second));
    if (first != second && (ratio > most || (first % vector == 0) != (second % vector == 0)))
      return std::nullopt;
    distance += std::log(ratio);
    one = oneRest, other = otherRest;
  }
}

/// The tile of a schedule's text.
static llvm::SmallVector<int64_t> readTile(StringRef schedule) {
  llvm::SmallVector<int64_t> tile;
  llvm::SmallVector<StringRef> words;
  schedule.split("tile = [").second.split(']').first.split(words, ',');
  for (StringRef word : words)
    if (int64_t extent = 0; !word.trim().getAsInteger(10, extent) && extent > 0)
      tile.push_back(extent);
  return tile;
}

/// Whether a tile cuts two results into as many parts along each dimension.
static bool cutsAlike(llvm::ArrayRef<int64_t> tile, StringRef one, StringRef other) {
  for (int64_t extent : tile) {
    auto [a, oneRest] = one.split('x');
    auto [b, otherRest] = other.split('x');
    int64_t first = 0, second = 0;
    if (a.getAsInteger(10, first) || b.getAsInteger(10, second) ||
        llvm::divideCeil(first, extent) != llvm::divideCeil(second, extent))
      return false;
    one = oneRest, other = otherRest;
  }
  return true;
}

llvm::SmallVector<const Record *> Records::findNear(const SubgraphKey &key, StringRef device) const {
  constexpr double leastGain = 1.03; // Less may be the luck of one shape.
  llvm::SmallVector<std::pair<double, const Record *>> found;
  auto it = alike.find(makeKey(key.name, device));
  if (it == alike.end() || key.shapes.empty())
    return {};
  for (const Record *record : it->second) {
    if (record->schedule.empty() || record->plannedSeconds < leastGain * record->seconds ||
        record->shapes.size() != key.shapes.size() ||
        !cutsAlike(readTile(record->schedule), record->shapes.back(), key.shapes.back()))
      continue;
    double distance = 0;
    bool isNear = true;
    for (auto [one, other] : llvm::zip_equal(record->shapes, key.shapes)) {
      std::optional<double> part = getDistance(one, other);
      isNear &= part.has_value();
      distance += part.value_or(0);
    }
    if (isNear)
      found.emplace_back(distance, record);
  }
  llvm::stable_sort(found, llvm::less_first());
  return llvm::map_to_vector(found, [](auto &each) { return each.second; });
}

std::string describe(const Record &record, StringRef device) {
  std::string text = llvm::formatv("{0:f1} us", record.seconds * 1e6);
  if (record.choice != Record::Choice::None || record.apartSeconds > 0)
    text += " together";
  if (record.apartSeconds > 0)
    text += llvm::formatv(", {0:f1} us apart", record.apartSeconds * 1e6);
  if (record.plannedSeconds > 0)
    text += llvm::formatv(", {0:f1} as planned", record.plannedSeconds * 1e6);
  text += (", measured on " + device).str();
  return record.date.empty() ? text : text + " on " + record.date;
}

} // namespace weft::plan

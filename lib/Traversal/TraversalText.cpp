// The text form of traversals.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parsing and printing of `grouped<8>` and the like; one spelling for each traversal.
#include "weft/Traversal/Traversal.h"

#include <algorithm>
#include <charconv>

using namespace weft::plan;
using Kind = Traversal::Kind;

const std::vector<std::string> &weft::plan::getTraversalNames() {
  static const std::vector<std::string> names = {"row",           "column",  "serpentine", "grouped",
                                                 "grouped-snake", "cutlass", "morton",     "hilbert",
                                                 "table",         "chain",   "each",       "zigzag"};
  return names;
}

std::string Traversal::print() const {
  std::string text = getTraversalNames()[size_t(kind)];
  switch (kind) {
  case Kind::Row:
  case Kind::Column:
  case Kind::Serpentine:
  case Kind::Morton:
  case Kind::Hilbert:
    return text;
  case Kind::Table:
    text += "<";
    for (size_t i = 0; i < table.size(); ++i)
      text += (i ? "," : "") + std::to_string(table[i]);
    return text + ">";
  case Kind::Grouped:
  case Kind::GroupedSnake:
    return text + "<" + std::to_string(width) + (isByColumns ? ",columns>" : ">");
  case Kind::Cutlass:
    return text + "<" + std::to_string(width) + ">";
  case Kind::Chain:
    return text + "<" + std::to_string(width) +
           (inner && inner->kind != Kind::Column ? "," + inner->print() + ">" : ">");
  case Kind::Each:
  case Kind::Zigzag:
    return text + "<" + std::to_string(width) + "," + (inner ? inner->print() : "row") + ">";
  }
  return text;
}

namespace {
/// A cursor over the text; the first failure stays in `error`.
class Parser {
public:
  Parser(std::string_view text, std::string &error) : text(text), error(error) {}

  bool parseWhole(Traversal &result) {
    if (!parse(result, Kind::Row))
      return false;
    return position == text.size() || fail("expected the end");
  }

private:
  /// Bytes that are not printable are shown as '?'.
  static std::string clean(std::string_view part) {
    std::string shown(part.substr(0, 40));
    for (char &c : shown)
      if (c < ' ' || c > '~')
        c = '?';
    return part.size() > 40 ? shown + "..." : shown;
  }

  bool fail(const std::string &expected) {
    std::string got = position < text.size() ? "'" + clean(text.substr(position)) + "'" : "the end";
    error = "traversal '" + clean(text) + "': " + expected + ", got " + got;
    return false;
  }

  bool accept(std::string_view token) {
    if (text.substr(position, token.size()) != token)
      return false;
    position += token.size();
    return true;
  }

  bool expect(std::string_view token) { return accept(token) || fail("expected '" + std::string(token) + "'"); }

  bool parseNumber(int64_t least, int64_t &value) {
    auto [end, code] = std::from_chars(text.data() + position, text.data() + text.size(), value);
    if (code != std::errc() || value < least || value > maxTiles)
      return fail("expected a number from " + std::to_string(least) + " to " + std::to_string(maxTiles));
    position = size_t(end - text.data());
    return true;
  }

  bool parseTable(Traversal &result) {
    do {
      int64_t value;
      if (!parseNumber(0, value))
        return false;
      result.table.push_back(value);
    } while (accept(","));
    return true;
  }

  bool parseArguments(Traversal &result) {
    if (result.kind == Kind::Table)
      return parseTable(result);
    size_t start = position;
    if (!parseNumber(1, result.width))
      return false;
    bool isPower = result.width <= 8 && (result.width & (result.width - 1)) == 0;
    if (result.kind == Kind::Cutlass && !isPower) {
      position = start;
      return fail("expected the width 1, 2, 4 or 8");
    }
    bool needsInner = result.kind == Kind::Each || result.kind == Kind::Zigzag;
    if (needsInner && !expect(","))
      return false;
    if (result.kind == Kind::Cutlass || (!needsInner && !accept(",")))
      return true;
    if (result.kind != Kind::Chain && !needsInner) {
      result.isByColumns = true;
      return expect("columns");
    }
    auto inner = std::make_shared<Traversal>();
    if (!parse(*inner, result.kind))
      return false;
    if (inner->kind != Kind::Column || needsInner)
      result.inner = inner;
    return true;
  }

  /// `outer`: of the order around this one; rows where there is none.
  bool parse(Traversal &result, Kind outer) {
    size_t start = position, end = std::min(text.find_first_of("<>,", position), text.size());
    const std::vector<std::string> &names = getTraversalNames();
    auto name = std::find(names.begin(), names.end(), text.substr(position, end - position));
    if (name == names.end()) {
      std::string list;
      for (const std::string &known : names)
        list += (list.empty() ? "" : ", ") + known;
      return fail("expected one of " + list);
    }
    result = Traversal();
    result.kind = Kind(name - names.begin());
    if (outer != Kind::Row && !canBeInside(result.kind, outer)) {
      position = start;
      return fail("expected an order of one stage that is not a table");
    }
    position = end;
    switch (result.kind) {
    case Kind::Grouped:
    case Kind::GroupedSnake:
    case Kind::Cutlass:
    case Kind::Table:
    case Kind::Chain:
    case Kind::Each:
    case Kind::Zigzag:
      return expect("<") && parseArguments(result) && expect(">");
    default:
      return true;
    }
  }

  std::string_view text;
  std::string &error;
  size_t position = 0;
};
} // namespace

bool weft::plan::parseTraversal(std::string_view text, Traversal &result, std::string &error) {
  return Parser(text, error).parseWhole(result);
}

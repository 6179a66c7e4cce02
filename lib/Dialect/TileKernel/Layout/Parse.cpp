// The parser of the text form: NAME(ITEM, ...), an item being VALUE or NAME=VALUE, a value a word, a number or [VALUE,
// ...].
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileKernel/Layout/Builders.h"
#include "weft/Dialect/TileKernel/Layout/Text.h"

#include <algorithm>
#include <cctype>
#include <limits>

namespace weft::layout {

namespace {
struct Value {
  enum Kind { word, number, list } kind = word;
  std::string text;
  uint64_t count = 0;
  std::vector<Value> items;
};
struct Item {
  std::string name; ///< Empty for a value alone.
  Value value;
  bool isOutput = false; ///< After "->".
};

class Parser {
public:
  Parser(std::string_view text, std::string &error) : text(text), error(error) {}

  bool parse(std::string &name, std::vector<Item> &items) {
    if (!parseWord(name) || !expect('('))
      return false;
    bool isOutput = false;
    while (!accept(')')) {
      if (accept('-') && !isOutput) {
        if (!expect('>'))
          return false;
        isOutput = true;
      } else if (!items.empty() && !expect(',')) {
        return false;
      }
      Item item;
      item.isOutput = isOutput;
      if (!parseItem(item))
        return false;
      items.push_back(std::move(item));
    }
    return at() == text.size() || fail("the end");
  }

private:
  size_t at() {
    while (position < text.size() && std::isspace(static_cast<unsigned char>(text[position])))
      ++position;
    return position;
  }
  bool fail(const std::string &expected) {
    std::string found = at() < text.size() ? "'" + std::string(1, text[position]) + "'" : "the end";
    error = "column " + std::to_string(position + 1) + ": expected " + expected + ", got " + found;
    return false;
  }
  bool accept(char c) {
    if (at() >= text.size() || text[position] != c)
      return false;
    ++position;
    return true;
  }
  bool expect(char c) { return accept(c) || fail("'" + std::string(1, c) + "'"); }

  static bool isWordChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
  bool parseWord(std::string &word) {
    size_t first = at();
    while (position < text.size() && isWordChar(text[position]))
      ++position;
    word = text.substr(first, position - first);
    return !word.empty() || fail("a name");
  }

  bool parseItem(Item &item) {
    if (!parseValue(item.value, 0))
      return false;
    if (item.value.kind != Value::word || !accept('='))
      return true;
    item.name = std::move(item.value.text);
    item.value = Value();
    return parseValue(item.value, 0);
  }

  bool parseValue(Value &value, unsigned depth) {
    if (depth < 2 && accept('[')) {
      value.kind = Value::list;
      while (!accept(']')) {
        if (!value.items.empty() && !expect(','))
          return false;
        value.items.emplace_back();
        if (!parseValue(value.items.back(), depth + 1))
          return false;
      }
      return true;
    }
    if (!parseWord(value.text))
      return false;
    if (!std::all_of(value.text.begin(), value.text.end(), [](unsigned char c) { return std::isdigit(c); }))
      return true;
    value.kind = Value::number;
    for (char digit : value.text) {
      if (value.count > std::numeric_limits<uint64_t>::max() / 20)
        return fail("a number below 2^60");
      value.count = value.count * 10 + (digit - '0');
    }
    return true;
  }

  std::string_view text;
  std::string &error;
  size_t position = 0;
};

/// The parameters of a builder; complains about the first that is missing, of the wrong kind or not known.
class Arguments {
public:
  Arguments(std::string builder, std::vector<Item> items, std::string &error)
      : builder(std::move(builder)), items(std::move(items)), error(error) {}

  /// Takes the word alone, if it is there.
  bool takeWord(std::string_view word) {
    return take([&](const Item &item) { return item.name.empty() && item.value.text == word; }).has_value();
  }
  /// Takes the next word alone.
  std::string takeAny(const char *what) {
    std::optional<Item> item =
        take([](const Item &item) { return item.name.empty() && item.value.kind == Value::word; });
    if (!item)
      complain(std::string("expected ") + what);
    return item ? item->value.text : "";
  }
  uint64_t takeNumber(const char *name, std::optional<uint64_t> otherwise = std::nullopt) {
    std::optional<Item> item = takeNamed(name, Value::number, otherwise.has_value());
    return item ? std::min<uint64_t>(item->value.count, 1u << 30) : otherwise.value_or(0);
  }
  Extents takeList(const char *name) {
    Extents result;
    if (std::optional<Item> item = takeNamed(name, Value::list, false))
      for (const Value &value : item->value.items) {
        if (value.kind != Value::number)
          complain(std::string(name) + ": expected numbers");
        result.push_back(value.count);
      }
    return result;
  }
  void complain(const std::string &message) {
    if (error.empty())
      error = builder + ": " + message;
  }
  /// The layout, unless something was wrong.
  std::optional<LinearLayout> finish(std::optional<LinearLayout> layout, const char *rule) {
    for (const Item &item : items)
      complain("unknown parameter \"" + (item.name.empty() ? item.value.text : item.name) + "\"");
    if (!layout)
      complain(std::string("no such layout; ") + rule);
    if (!error.empty())
      return std::nullopt;
    return layout;
  }

private:
  template <typename Predicate> std::optional<Item> take(Predicate predicate) {
    auto at = std::find_if(items.begin(), items.end(), predicate);
    if (at == items.end())
      return std::nullopt;
    Item item = std::move(*at);
    items.erase(at);
    return item;
  }
  std::optional<Item> takeNamed(const char *name, Value::Kind kind, bool isOptional) {
    std::optional<Item> item = take([&](const Item &item) { return item.name == name && !item.isOutput; });
    if (!item && !isOptional)
      complain("expected " + std::string(name) + "=" + (kind == Value::list ? "[...]" : "N"));
    if (item && item->value.kind != kind) {
      complain(std::string(name) + ": expected " + (kind == Value::list ? "a list" : "a number"));
      return std::nullopt;
    }
    return item;
  }

  std::string builder;
  std::vector<Item> items;
  std::string &error;
};
} // namespace

static std::vector<unsigned> takeOrder(Arguments &arguments) {
  std::vector<unsigned> order;
  for (uint64_t dim : arguments.takeList("order"))
    order.push_back(std::min<uint64_t>(dim, ~0u));
  return order;
}

static std::optional<LinearLayout> parseBlocked(Arguments arguments) {
  Blocked blocked;
  blocked.shape = arguments.takeList("shape");
  blocked.sizePerThread = arguments.takeList("size");
  blocked.threadsPerWarp = arguments.takeList("threads");
  blocked.warps = arguments.takeList("warps");
  blocked.order = takeOrder(arguments);
  return arguments.finish(makeBlocked(blocked),
                          "expected lists of one length, powers of two, 32 threads, order a permutation");
}

static std::optional<LinearLayout> parseShared(Arguments arguments) {
  Shared shared;
  shared.shape = arguments.takeList("shape");
  shared.order = takeOrder(arguments);
  shared.elementBits = arguments.takeNumber("bits", 16);
  const char *rule = "expected powers of two, order a permutation, swizzle=32|64|128 (bytes, at most a row), vec * "
                     "maxPhase at most a row";
  if (uint64_t bytes = arguments.takeNumber("swizzle", 0))
    return arguments.finish(makeTmaSwizzled(shared, bytes), rule);
  uint64_t vec = arguments.takeNumber("vec", 0);
  if (vec == 0)
    return arguments.finish(makeShared(shared), rule);
  uint64_t perPhase = arguments.takeNumber("perPhase"), maxPhase = arguments.takeNumber("maxPhase");
  return arguments.finish(makeSwizzled(shared, vec, perPhase, maxPhase), rule);
}

/// "m16n8k32" into its numbers.
static bool parseShape(const std::string &text, unsigned (&shape)[3]) {
  size_t at = 0;
  for (int i = 0; i < 3; ++i) {
    if (at >= text.size() || text[at++] != "mnk"[i])
      return false;
    size_t first = at;
    for (shape[i] = 0; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) && at - first < 4; ++at)
      shape[i] = shape[i] * 10 + (text[at] - '0');
    if (at == first)
      return false;
  }
  return at == text.size();
}

static std::optional<LinearLayout> parseMma(Arguments arguments) {
  unsigned shape[3] = {};
  Operand operand = arguments.takeWord("a") ? Operand::a : arguments.takeWord("b") ? Operand::b : Operand::c;
  if (operand == Operand::c && !arguments.takeWord("c"))
    arguments.complain("expected an operand: a, b or c");
  std::string shapeText = arguments.takeAny("a shape such as m16n8k16");
  std::string typeText = arguments.takeAny("an element type after the shape, such as f16");
  std::optional<ElementType> type = parseElementType(typeText);
  std::optional<LinearLayout> layout;
  if (type && parseShape(shapeText, shape))
    layout = makeMma(shape[0], shape[1], shape[2], *type, operand);
  return arguments.finish(layout, "expected a shape of mma.sync and a type it has, such as m16n8k16, f16");
}

static std::optional<LinearLayout> parseWgmma(Arguments arguments) {
  if (uint64_t n = arguments.takeNumber("n", 0)) {
    if (!arguments.takeWord("c"))
      arguments.complain("expected operand c beside n");
    return arguments.finish(makeWgmmaAccumulator(n), "expected n=8, 16, ... 256");
  }
  if (!arguments.takeWord("a"))
    arguments.complain("expected \"n=N, c\" or \"TYPE, a\"");
  std::optional<ElementType> type = parseElementType(arguments.takeAny("an element type"));
  return arguments.finish(type ? makeWgmmaA(*type) : std::nullopt, "expected a type of 8, 16 or 32 bits");
}

static std::optional<LinearLayout> parseLdmatrix(Arguments arguments) {
  bool isTransposed = arguments.takeWord("trans");
  std::string count = arguments.takeAny("x1, x2 or x4");
  unsigned matrices = count == "x1" ? 1 : count == "x2" ? 2 : count == "x4" ? 4 : 0;
  return arguments.finish(makeLdmatrix(matrices, isTransposed), "expected x1, x2 or x4");
}

/// Checks the values of one basis against the output dimensions.
static bool parseBasis(const Value &basis, const Dims &outs, uint64_t &column) {
  if (basis.kind != Value::list || basis.items.size() != outs.size())
    return false;
  unsigned shift = 0;
  for (size_t i = 0; i < outs.size(); ++i) {
    const Value &value = basis.items[i];
    if (value.kind != Value::number || value.count >> outs[i].bits != 0)
      return false;
    column |= value.count << shift;
    shift += outs[i].bits;
  }
  return true;
}

static std::optional<LinearLayout> parseLinear(const std::vector<Item> &items, std::string &error) {
  Dims ins, outs;
  Vectors columns;
  for (const Item &item : items)
    if (item.isOutput) {
      std::optional<unsigned> bits = item.value.kind == Value::number ? exactLog2(item.value.count) : std::nullopt;
      if (item.name.empty() || !bits || countBits(outs) + *bits > LinearLayout::maxBits) {
        error = "linear: after \"->\": expected NAME=SIZE, powers of two, 60 bits in all";
        return std::nullopt;
      }
      outs.push_back({item.name, *bits});
    }
  for (const Item &item : items) {
    if (item.isOutput)
      continue;
    for (const Value &basis : item.value.items) {
      columns.push_back(0);
      if (!parseBasis(basis, outs, columns.back())) {
        error = "linear: " + item.name + ": expected a list of bases, each with a value within its size for each of " +
                std::to_string(outs.size()) + " outputs";
        return std::nullopt;
      }
    }
    if (item.name.empty() || item.value.kind != Value::list) {
      error = "linear: expected NAME=[BASIS, ...] before \"->\"";
      return std::nullopt;
    }
    ins.push_back({item.name, unsigned(item.value.items.size())});
  }
  std::optional<LinearLayout> layout = LinearLayout::make(ins, outs, columns);
  if (!layout)
    error = "linear: expected each name once on a side and 60 bits at most";
  return layout;
}

std::optional<LinearLayout> parseLayout(std::string_view text, std::string &error) {
  error.clear();
  std::string name;
  std::vector<Item> items;
  if (!Parser(text, error).parse(name, items))
    return std::nullopt;
  if (name == "linear")
    return parseLinear(items, error);
  Arguments arguments(name, std::move(items), error);
  if (name == "blocked")
    return parseBlocked(std::move(arguments));
  if (name == "smem")
    return parseShared(std::move(arguments));
  if (name == "mma")
    return parseMma(std::move(arguments));
  if (name == "wgmma")
    return parseWgmma(std::move(arguments));
  if (name == "ldmatrix")
    return parseLdmatrix(std::move(arguments));
  error = "expected blocked, mma, wgmma, ldmatrix, smem or linear, got \"" + name + "\"";
  return std::nullopt;
}

} // namespace weft::layout

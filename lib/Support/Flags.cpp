// Parsing and describing sets of flags.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Support/Flags.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

using llvm::StringRef;

namespace weft {

FlagBase::FlagBase(FlagSet &set, StringRef name, StringRef valueName, StringRef description, Takes takes)
    : name(name), valueName(valueName), description(description), category(set.category), takes(takes) {
  set.flags.push_back(this);
}

template <typename T> bool Flag<T>::assign(StringRef text, std::string &expected) {
  if constexpr (std::is_same_v<T, bool>) {
    expected = "true or false";
    value = text.empty() || text == "true" || text == "1";
    return value || text == "false" || text == "0";
  } else if constexpr (std::is_same_v<T, double>) {
    expected = "a number";
    return !text.getAsDouble(value);
  } else {
    expected = std::is_signed_v<T> ? "an integer" : "an integer, not negative";
    return !text.getAsInteger(10, value);
  }
}
template <typename T> std::string Flag<T>::getText() const {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}
template class Flag<bool>;
template class Flag<double>;
template class Flag<unsigned>;
template class Flag<uint64_t>;
template class Flag<int64_t>;

bool FlagList::assign(StringRef text, std::string &) {
  llvm::SmallVector<StringRef> parts;
  if (separator == Commas)
    text.split(parts, ',');
  else
    parts.push_back(text);
  for (StringRef part : parts)
    push_back(part.str());
  return true;
}

std::string FlagList::getText() const { return llvm::join(*this, separator == Commas ? "," : "\n"); }

FlagBase *FlagSet::find(StringRef name) const {
  auto found = llvm::find_if(flags, [&](FlagBase *flag) { return flag->name == name; });
  return found == flags.end() ? nullptr : *found;
}

std::string FlagSet::describeUnknown(StringRef argument) const {
  constexpr unsigned farthest = 3;
  StringRef name = argument.split('=').first.ltrim('-'), nearest;
  unsigned least = farthest;
  for (const FlagBase *flag : flags)
    if (unsigned distance = name.edit_distance(flag->name, true, farthest); !flag->name.empty() && distance < least) {
      least = distance;
      nearest = flag->name;
    }
  return ("unknown flag `" + argument.split('=').first + "`" +
          (nearest.empty() ? llvm::Twine("; see --help") : "; did you mean --" + nearest + "?"))
      .str();
}

bool FlagSet::parse(llvm::ArrayRef<StringRef> arguments, std::string &problem) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    StringRef argument = arguments[i];
    bool isFlag = argument.starts_with("-") && argument != "-";
    auto [head, value] = argument.split('=');
    FlagBase *flag = isFlag ? find(head.drop_front(head.starts_with("--") ? 2 : 1)) : find("");
    if (!flag || (isFlag && flag->name.empty())) {
      problem = isFlag ? describeUnknown(argument) : ("unexpected argument `" + argument + "`; see --help").str();
      return false;
    }
    bool hasValue = isFlag && argument.contains('=');
    if (!isFlag) {
      value = argument;
    } else if (!hasValue && flag->takes == FlagBase::Takes::Value) {
      if (i + 1 == arguments.size()) {
        problem = (head + ": expected a value").str();
        return false;
      }
      value = arguments[++i];
    }
    if (flag->occurrences++ && !flag->mayRepeat()) {
      problem = isFlag ? (head + ": expected once, got it again").str()
                       : ("expected one argument, got also `" + argument + "`").str();
      return false;
    }
    std::string expected;
    if (!flag->assign(value, expected)) {
      problem = (head + ": expected " + expected + ", got `" + value + "`").str();
      return false;
    }
  }
  return true;
}

/// Words in lines of `width`, behind `indent` columns of which `used` are written.
static void printWrapped(llvm::raw_ostream &os, StringRef text, unsigned used, unsigned indent, unsigned width) {
  if (used + 2 > indent) {
    os << '\n';
    used = 0;
  }
  os.indent(indent - used);
  unsigned column = indent;
  llvm::SmallVector<StringRef> words;
  text.split(words, ' ', -1, /*KeepEmpty=*/false);
  for (StringRef word : words) {
    if (column > indent && column + 1 + word.size() > width) {
      os << '\n';
      os.indent(indent);
      column = indent;
    } else if (column > indent) {
      os << ' ';
      ++column;
    }
    os << word;
    column += word.size();
  }
  os << '\n';
}

void FlagSet::printHelp(llvm::raw_ostream &os) const {
  constexpr unsigned indent = 30, width = 100;
  llvm::SmallVector<StringRef> headings;
  for (const FlagBase *flag : flags)
    if (!llvm::is_contained(headings, flag->category))
      headings.push_back(flag->category);
  for (StringRef heading : headings) {
    os << '\n' << (heading.empty() ? StringRef("Flags") : heading) << ":\n";
    for (const FlagBase *flag : flags) {
      if (flag->category != heading)
        continue;
      std::string left = "  ";
      if (flag->name.empty())
        left += flag->valueName;
      else
        left += (flag->name.size() == 1 ? "-" : "--") + flag->name.str();
      if (!flag->name.empty() && !flag->valueName.empty())
        left += (flag->takes == FlagBase::Takes::Perhaps ? "[="
                 : flag->name.size() == 1                ? " "
                                                         : "=") +
                flag->valueName.str() + (flag->takes == FlagBase::Takes::Perhaps ? "]" : "");
      os << left;
      printWrapped(os, flag->description, left.size(), indent, width);
    }
  }
}

} // namespace weft

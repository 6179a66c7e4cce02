// Flags as data: a set of named values with their descriptions, which a command line or a list of strings assigns. No
// set knows of another, so that a library may have one for each call.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SUPPORT_FLAGS_H
#define WEFT_SUPPORT_FLAGS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace llvm {
class raw_ostream;
}

namespace weft {

class FlagSet;

/// What all flags have. A flag belongs to the set that it was made for, which must outlive it.
class FlagBase {
public:
  /// Whether "=value" may follow the name.
  enum class Takes { Nothing, Perhaps, Value };

  FlagBase(FlagSet &set, llvm::StringRef name, llvm::StringRef valueName, llvm::StringRef description, Takes takes);
  FlagBase(const FlagBase &) = delete;
  FlagBase &operator=(const FlagBase &) = delete;
  virtual ~FlagBase() = default;

  unsigned getNumOccurrences() const { return occurrences; }
  /// The value as a command line would have it.
  virtual std::string getText() const = 0;

  const llvm::StringRef name; ///< Without dashes; empty: the argument that is no flag.
  const llvm::StringRef valueName, description;
  const llvm::StringRef category; ///< Of the set when the flag was made.
  const Takes takes;

protected:
  friend class FlagSet;
  /// False: the text is no such value; `expected` says what is.
  virtual bool assign(llvm::StringRef text, std::string &expected) = 0;
  virtual bool mayRepeat() const { return false; }

  unsigned occurrences = 0;
};

/// Flags of one tool or one call, in the order in which they were made.
class FlagSet {
public:
  FlagSet() = default;
  FlagSet(const FlagSet &) = delete;
  FlagSet &operator=(const FlagSet &) = delete;

  /// Flags that are made from now on stand under this heading.
  void beginCategory(llvm::StringRef heading) { category = heading; }

  /// "--flag=value", "--flag value" (or one dash), "-o file"; what begins with no dash, or is "-", is the set's
  /// argument. False with `problem` for what is no flag of the set, or no value of the flag.
  bool parse(llvm::ArrayRef<llvm::StringRef> arguments, std::string &problem);

  /// A line or a few for each flag, under its heading.
  void printHelp(llvm::raw_ostream &os) const;

  llvm::ArrayRef<FlagBase *> getFlags() const { return flags; }

private:
  friend class FlagBase;
  FlagBase *find(llvm::StringRef name) const;
  std::string describeUnknown(llvm::StringRef argument) const;

  std::vector<FlagBase *> flags;
  llvm::StringRef category;
};

/// A heading as a member between flags.
struct FlagCategory {
  FlagCategory(FlagSet &set, llvm::StringRef heading) { set.beginCategory(heading); }
};

/// Numbers and switches; a switch is on where it stands without a value.
template <typename T> class Flag : public FlagBase {
public:
  Flag(FlagSet &set, llvm::StringRef name, T value, llvm::StringRef valueName, llvm::StringRef description)
      : FlagBase(set, name, valueName, description, std::is_same_v<T, bool> ? Takes::Perhaps : Takes::Value),
        value(value) {}
  operator T() const { return value; }
  T getValue() const { return value; }
  std::string getText() const override;

private:
  bool assign(llvm::StringRef text, std::string &expected) override;

  T value;
};

/// A text, which the flag is.
template <> class Flag<std::string> : public FlagBase, public std::string {
public:
  Flag(FlagSet &set, llvm::StringRef name, llvm::StringRef value, llvm::StringRef valueName,
       llvm::StringRef description)
      : FlagBase(set, name, valueName, description, Takes::Value), std::string(value.str()) {}
  const std::string &getValue() const { return *this; }
  std::string getText() const override { return *this; }

private:
  bool assign(llvm::StringRef text, std::string &) override {
    std::string::operator=(text.str());
    return true;
  }
};

/// Texts, in the order in which they were given: one for each time, or separated by commas.
class FlagList : public FlagBase, public std::vector<std::string> {
public:
  enum Separator { None, Commas };
  FlagList(FlagSet &set, llvm::StringRef name, Separator separator, llvm::StringRef valueName,
           llvm::StringRef description, Takes takes = Takes::Value)
      : FlagBase(set, name, valueName, description, takes), separator(separator) {}
  std::string getText() const override;

private:
  bool assign(llvm::StringRef text, std::string &) override;
  bool mayRepeat() const override { return true; }

  const Separator separator;
};

} // namespace weft

#endif // WEFT_SUPPORT_FLAGS_H

// Who touched each word of a CTA's shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A record per 4-byte word: the last write, and the reads since then that are not known to be ordered before one
// another. Words that are accessed by bytes have a record per byte instead, so that neighbours in a word never meet.
// 52 bytes per word touched (four times that by bytes); 132 CTAs of 228 KB take 0.4 GB. Knows no warps, only agents.
#ifndef WEFT_EMULATOR_SANITIZER_SHAREDSHADOW_H
#define WEFT_EMULATOR_SANITIZER_SHAREDSHADOW_H

#include "Emulator/Sanitizer/VectorClock.h"

#include <array>
#include <memory>

namespace weft::emu {

/// One side of a possible conflict.
struct Party {
  enum Flag : uint8_t {
    Strong = 1,     ///< Atomic, volatile, relaxed or more: does not race with its like.
    Async = 2,      ///< By an asynchronous operation; `agent` is not a warp.
    AsyncProxy = 4, ///< ... that accesses memory through the asynchronous proxy.
    Unsure = 8,     ///< Several lanes at once: none is named.
    Wrote = 16,     ///< Among a record's reads: a strong write that no later one is ordered after.
  };
  uint32_t clock = 0; ///< 0: nobody.
  uint16_t agent = 0;
  uint8_t lane = 0;
  uint8_t flags = 0;
  uint32_t site = 0; ///< The caller's name for the instruction.
  uint32_t turn = 0; ///< Which split of the warp ran, as the caller counts them.
};

enum class SharedUse : uint8_t { Read, Write, Update };

enum class Conflict : uint8_t {
  Race,          ///< `other` is not ordered before.
  MissingFence,  ///< `other` is a generic write before an access by the asynchronous proxy, ordered but not fenced.
  Uninitialised, ///< Nobody has written it.
};

/// Told of conflicts, and asked for what only the caller knows.
class ConflictSink {
public:
  virtual ~ConflictSink() = default;
  /// `offset` is the first byte concerned; called once per run of words with the same other side.
  virtual void conflict(Conflict kind, uint32_t offset, const Party &other, bool isOtherWrite) = 0;
  /// Whether a lane of the same warp is ordered after `earlier`, another lane's access.
  virtual bool isOrderedInWarp(const Party &earlier) = 0;
};

class SharedShadow {
public:
  explicit SharedShadow(uint32_t bytes);

  /// Checks an access against the records and becomes one. `self.clock` is the agent's own.
  void access(uint32_t offset, uint32_t bytes, SharedUse use, const Party &self, const Knowledge &knows,
              ConflictSink &sink);
  /// Bytes that have been given a value by other means.
  void markInitialised(uint32_t offset, uint32_t bytes);

private:
  struct Record {
    Party write;
    Party reads[2];
    uint32_t more = 0; ///< Index + 1 in `readLists`; in a word with kSplit: index in `splitWords`.
  };
  static constexpr uint32_t kPageWords = 256;
  struct Page {
    std::array<Record, kPageWords> records;
    std::array<uint8_t, kPageWords> initialised{}; ///< A bit per byte.
    std::array<uint8_t, kPageWords> isSplit{};
  };
  struct Check;

  Page &page(uint32_t word);
  void accessRecord(Record &record, const Check &check, uint32_t offset);
  void accessBytes(Page &page, uint32_t word, uint8_t bytes, const Check &check);
  void addRead(Record &record, const Check &check);
  void forget(Record &record);

  std::vector<std::unique_ptr<Page>> pages;
  std::vector<std::vector<Party>> readLists;
  std::vector<uint32_t> freeLists;
  std::vector<std::array<Record, 4>> splitWords;
  std::vector<uint32_t> freeSplits;
};

} // namespace weft::emu

#endif // WEFT_EMULATOR_SANITIZER_SHAREDSHADOW_H

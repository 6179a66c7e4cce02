// Runs that a device can repeat.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a run starts depends on the registers of the shape program (sizes, grids, scalars) and on the addresses of the
// buffers; two runs with equal ones start the same. The second such run is recorded, later ones are replayed. A run
// that does not come again so costs no recording.
#ifndef WEFT_SESSION_RECORDEDRUNS_H
#define WEFT_SESSION_RECORDEDRUNS_H

#include "../Device.h"
#include "weft/Bundle/Hash.h"

#include <vector>

namespace weft {

/// The recordings of a session: at most 8, of which the least recently used one leaves.
class RecordedRuns {
public:
  /// What a run depends on. The vectors must outlive the key.
  struct Key {
    const std::vector<int64_t> &registers;
    const std::vector<void *> &addresses;
  };

  /// The recording for this key, or null.
  const Recording *find(const Key &key);
  /// True from the second time on that it is asked about a key, as long as not too many others came between.
  bool comesAgain(const Key &key);
  /// The entry of the recording for this key. It holds null, or an old recording to be changed. Valid until the next
  /// call.
  std::unique_ptr<Recording> &add(const Key &key);
  /// Forgets all recordings.
  void clear() { runs.clear(); }

private:
  struct Run {
    std::vector<int64_t> registers;
    std::vector<void *> addresses;
    std::unique_ptr<Recording> recording;
    uint64_t lastUse;
  };
  static constexpr size_t capacity = 8, seenCapacity = 16;
  std::vector<Run> runs;
  std::vector<bundle::Hash128> seen; ///< A ring of the last keys without a recording.
  size_t nextSeen = 0;
  uint64_t now = 0;
};

} // namespace weft

#endif // WEFT_SESSION_RECORDEDRUNS_H

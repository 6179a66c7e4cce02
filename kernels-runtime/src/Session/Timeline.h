// What a run did and when, and the same as ranges for a profiler.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SESSION_TIMELINE_H
#define WEFT_SESSION_TIMELINE_H

#include "weft/Bundle/Error.h"
#include "weft/runtime.h"

#include <string>
#include <vector>

namespace weft {

/// The events of the last run, and ranges of NVTX (NVIDIA's tools extension) around what the host starts.
class Timeline {
public:
  /// `nvtx`: the library of NVTX, "": no ranges.
  bundle::Error open(bool keepsEvents, const std::string &nvtx);

  bool keepsEvents() const { return keeps; }
  void clear() { events.clear(); }
  /// Of a run that takes more of them, the later ones are left out.
  void add(const weft_event &event) {
    if (events.size() < mostEvents)
      events.push_back(event);
  }
  const std::vector<weft_event> &getEvents() const { return events; }

  /// A range from here to the end of the scope; nothing without a profiler's library.
  class Range {
  public:
    Range(const Timeline &timeline, const char *name) : timeline(timeline) {
      if (timeline.push)
        timeline.push(name);
    }
    ~Range() {
      if (timeline.pop)
        timeline.pop();
    }
    Range(const Range &) = delete;
    Range &operator=(const Range &) = delete;

  private:
    const Timeline &timeline;
  };

private:
  static constexpr size_t mostEvents = size_t(1) << 20;

  bool keeps = false;
  std::vector<weft_event> events;
  int (*push)(const char *) = nullptr;
  int (*pop)() = nullptr;
};

} // namespace weft

#endif // WEFT_SESSION_TIMELINE_H

// Runs one entry of a bundle on one device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A session walks the launch program: it evaluates the shape program segment by segment, plans memory for the buffers
// that a segment sizes, and hands kernels to the device. Runs of one session are serialised by a mutex.
#ifndef WEFT_SESSION_SESSION_H
#define WEFT_SESSION_SESSION_H

#include "../Comm/Communicator.h"
#include "../Gpu/EntryChoice.h"
#include "../Memory/LoadedBundle.h"
#include "PortDescription.h"
#include "RecordedRuns.h"
#include "SessionMemory.h"
#include "Timeline.h"
#include "weft/runtime.h"

#include <mutex>
#include <optional>

namespace weft {

struct SessionOptions {
  unsigned threads = 0;
  bool profile = false;
  std::string entry;                          ///< See chooseEntry.
  uint64_t memoryLimit = 0;                   ///< 0: the memory of the device.
  int64_t turnLimit = bundle::kMaxTurns;      ///< Of all loops of a run together.
  bool launchesKernels = false;               ///< Nothing is recorded.
  std::string nvtx;                           ///< See Timeline::open.
  std::shared_ptr<Communicator> communicator; ///< Of a program of several ranks.
  DeviceOptions device;                       ///< `threads` is ignored here: the one above counts.
};

class Session {
public:
  static bundle::Error create(std::shared_ptr<LoadedBundle> bundle, std::string_view device,
                              const SessionOptions &options, std::unique_ptr<Session> &session);
  ~Session();

  const std::vector<PortDescription> &getInputs() const { return inputs; }
  const std::vector<PortDescription> &getOutputs() const { return outputs; }
  const bundle::Tables &getTables() const { return bundle->getTables(); }
  const bundle::EntryView &getEntry() const { return entry; }
  const std::string &getCode() const { return device->getCode(); }
  /// The input in whose memory the output may lie; bundle::kNone: none.
  uint32_t getAlias(size_t output) const { return inputOfOutput.empty() ? bundle::kNone : inputOfOutput[output]; }

  /// See weft_session_input_dims. `isOutput` says which list `index` is in.
  bundle::Error inferDims(bool isOutput, size_t index, const int64_t *symbols, int64_t *dims) const;

  /// See weft_session_run, and with a stream weft_session_run_on.
  bundle::Error run(const weft_tensor *inputTensors, size_t inputCount, weft_tensor *outputTensors, size_t outputCount,
                    std::optional<void *> stream = std::nullopt);
  /// See weft_session_wait, weft_session_stream, weft_session_copy_to_host.
  bundle::Error makeWait(void *stream);
  void *getStream() const { return device->getStream(); }
  bundle::Error copyToHost(void *destination, const void *source, uint64_t bytes);

  /// The memory of an output that the session provided for the last run, and its tensor, whose dims are valid until the
  /// next one.
  bundle::Error takeOutput(size_t index, std::shared_ptr<TakenOutput> &taken, weft_tensor &tensor);

  weft_statistics getStatistics() const;
  /// Counters of the last run; empty if the device counts nothing. Valid until the next call.
  const char *getCounters(bool asJson);
  size_t getDispatchCount() const { return dispatches.size(); }
  weft_dispatch getDispatch(size_t index) const;
  const std::vector<weft_event> &getEvents() const { return timeline.getEvents(); }

private:
  /// What one Eval command defines: the buffers whose size is among its registers.
  struct Segment {
    std::vector<uint32_t> extents; ///< Registers that are extents of buffers and not constant.
    std::vector<uint32_t> buffers; ///< Not transient.
    std::vector<uint32_t> transients;
    std::vector<bundle::PlanRequest> requests; ///< For the transients, sizes of the last run.
    PlanCache plans;
    DeviceMemory memory;
  };
  struct DispatchState {
    uint32_t kernel;
    std::vector<const char *> origins;
    int64_t lastGrid = -1;
    uint64_t runs = 0, nanoseconds = 0;
  };
  /// Where an input or output lies during a run.
  struct PortState {
    weft_tensor given = {};  ///< As the caller gave it.
    bool isStaged = false;   ///< An output that must be copied to the caller's memory.
    bool isTakeable = false; ///< An output of the last run in memory of the session.
    DeviceMemory memory;     ///< Staging, or the session's own output.
    AlignedMemory hostCopy;  ///< The session's own output, for the host, where it cannot see the device's memory.
    uint64_t hostBytes = 0;  ///< Capacity of hostCopy.
    std::vector<int64_t> dims;
  };

  Session(std::shared_ptr<LoadedBundle> bundle, const EntryChoice &choice, bool profile);
  bundle::Error prepare();
  bundle::Error joinRanks();
  void prepareSegments();
  bundle::Error prepareReadOnlyBuffers();

  // ShapeBinding.cpp
  bundle::Error bindInputs(const weft_tensor *tensors);
  bundle::Error checkInput(uint32_t index, const weft_tensor &tensor) const;
  bundle::Error bindSymbols(uint32_t index, const weft_tensor &tensor);
  bundle::Error checkDerivedExtents() const;
  bundle::Error checkSymbolRange(uint32_t symbol, int64_t value) const;

  // Execution.cpp
  bundle::Error runOnce(const weft_tensor *inputTensors, weft_tensor *outputTensors);
  void dropMemory();
  bundle::Error execute();
  bundle::Error startCommands(uint32_t first, uint32_t end, bool isRecorded);
  bundle::Error startCommand(uint32_t index, bool isRecorded);
  bundle::Error runLoop(uint32_t index, bool isRecorded);
  bool isBranching() const;
  void countDispatch(const bundle::CommandRecord &command, DispatchState &state);
  void countReplay();
  bundle::Error record(const RecordedRuns::Key &key);
  bool replay(const RecordedRuns::Key &key);
  bundle::Error evaluate(const bundle::CommandRecord &command, Segment &segment);
  bundle::Error checkExtents(const Segment &segment) const;
  bundle::Error sizeBuffer(uint32_t index);
  bundle::Error placeTransients(Segment &segment);
  bundle::Error dispatch(const bundle::CommandRecord &command, DispatchState &state);
  bundle::Error copy(const bundle::CommandRecord &command);
  /// An event of this run, if any are kept.
  void note(int32_t kind, int32_t dispatch, int64_t size, uint64_t begin, uint64_t nanoseconds);
  bundle::Error collective(const bundle::CommandRecord &command);
  bundle::Error beginCollectives();
  bundle::Error load(uint32_t buffer, int64_t index, int64_t &value);
  bundle::Error offsetAddress(uint32_t buffer, uint32_t offsetRegister, int64_t bytes, void *&address) const;

  /// An output in memory of its own, or in that of an input.
  bool isInPlace(uint32_t output) const;
  /// That no kernel reads an input whose memory this run has written.
  bundle::Error noteOverwritten(const bundle::CommandRecord &command);

  // CallerTensors.cpp
  bundle::Error checkOverlaps() const;
  bundle::Error checkPlace(const weft_tensor &tensor, const char *kind, const std::string &name) const;
  bool isUsable(const weft_tensor &tensor) const;
  bundle::Error stageInput(uint32_t index, const weft_tensor &tensor);
  bundle::Error prepareOutput(uint32_t index, int64_t bytes);
  bundle::Error returnOutput(PortState &state, const void *result, uint64_t bytes, weft_tensor &tensor);
  bundle::Error finishOutput(uint32_t index, weft_tensor &tensor);

  /// What the address of an empty buffer points to: aligned and readable.
  static uint8_t emptyBuffer[];

  mutable std::mutex mutex;
  std::shared_ptr<LoadedBundle> bundle;
  bundle::EntryView entry;
  uint32_t entryIndex;
  std::string_view codeTarget; ///< Of the entry's GPU code; empty: any.
  bool profile;
  Timeline timeline;
  std::shared_ptr<SessionMemory> memory;
  Device *device = nullptr;                   ///< Of `memory`; outlives everything below, which holds its memory.
  std::shared_ptr<Communicator> communicator; ///< Null: a program of one rank.
  bool isAttached = false;                    ///< To the communicator.
  uint32_t rank = 0;
  std::vector<PortDescription> inputs, outputs;
  std::vector<uint32_t> portOfBuffer; ///< Input or output number of such a buffer.
  std::vector<Segment> segments;
  std::vector<DispatchState> dispatches;
  std::vector<uint32_t> placeOfCommand; ///< In `segments` or `dispatches`.
  bool isForeseeable = false;           ///< Nothing that a run starts depends on the data of a buffer that it writes.
  bool isRecordable = false;            ///< So it can be recorded.
  RecordedRuns recordings;

  int64_t turn = 0;            ///< Of the innermost loop that runs.
  int64_t turnLimit = 0;       ///< Of all loops of a run together.
  int64_t turnsLeft = 0;       ///< Those that this run may still take.
  bool hasLaunched = false;    ///< A kernel of this run has been started.
  bool usesHostMemory = false; ///< Copies of this run read or write tensors of the caller on the host.

  // State of a run, kept for its memory.
  std::vector<int64_t> symbolValues;                       ///< -1: not bound yet.
  std::vector<std::pair<uint32_t, uint32_t>> symbolOrigin; ///< Input and dimension that bound a symbol.
  std::vector<int64_t> registers;
  std::vector<void *> addresses; ///< One for each buffer.
  std::vector<int64_t> sizes;    ///< Bytes; for weights and constants at first those of the data.
  std::vector<PortState> inputStates, outputStates;
  std::vector<uint32_t> inputOfOutput; ///< The input in whose memory an output may lie, kNone: none. Empty: no aliases.
  std::vector<bool> isOverwritten;     ///< By buffer: an input whose memory a kernel of this run has written.
  std::vector<void *> argumentAddresses;
  std::vector<int64_t> steadyBytes; ///< Launch::steadyBytes.
  std::vector<int64_t> scalarValues;
  weft_statistics statistics = {};
  std::string countersText;
};

} // namespace weft

#endif // WEFT_SESSION_SESSION_H

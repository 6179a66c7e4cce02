// The ranks of a program together.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A communicator belongs to one rank: a process, or in tests a thread. Collectives go over a transport: NCCL where each
// rank's session is on a GPU, else host memory over the links, to which any device's memory is copied. On the links
// the ranks agree on the transport, exchange NCCL's id, and hear of each other's ends.
#ifndef WEFT_COMM_COMMUNICATOR_H
#define WEFT_COMM_COMMUNICATOR_H

#include "Links.h"
#include "weft/bundle_format.h"

#include <memory>
#include <mutex>
#include <vector>

namespace weft {

class Device;

/// One collective of a run; see bundle::CollectiveKind.
struct Collective {
  bundle::CollectiveKind kind;
  bundle::Reduction reduction;
  bundle::DType dtype;
  const void *source; ///< Of `bytes` bytes.
  void *destination;
  uint64_t bytes;
  std::string_view name; ///< For messages.
};

/// How bytes get from rank to rank.
class Transport {
public:
  virtual ~Transport() = default;
  /// Starts the collective on the device, after everything started there before.
  virtual bundle::Error run(const Collective &collective, Device &device) = 0;
  /// The same beside what is started on the device from now on. They run one after the other.
  virtual bundle::Error runBeside(const Collective &collective, Device &device) = 0;
  /// What is started from now on begins when all but the last `left` of those are done.
  virtual bundle::Error await(size_t left, Device &device) = 0;
  /// Whether runs with collectives can be recorded.
  virtual bool canRecord() const = 0;
  /// A run begins and does these, or some of them: before any is started. Error: other ranks do others. Null: what it
  /// does depends on data.
  virtual bundle::Error begin(const std::vector<Collective> *collectives) = 0;
  /// Waits for all that was started on the device, or until a rank does not go on.
  virtual bundle::Error wait(Device &device) = 0;
  /// Ends what is going on; nothing of it uses memory of the host's any more.
  virtual void abort() = 0;
};

class Communicator {
public:
  /// Returns when all ranks have joined.
  static bundle::Error create(const CommunicatorOptions &options, std::shared_ptr<Communicator> &result);
  ~Communicator();

  uint32_t getRank() const { return options.rank; }
  uint32_t getRanks() const { return options.ranks; }

  /// A session on `device` begins, on every rank: they choose the transport.
  bundle::Error attach(Device &device);
  /// It ends. The transport goes with the last one, while its device is still there.
  void detach();
  bool canRecord() const { return transport && transport->canRecord(); }
  /// A run begins; see Transport::begin.
  bundle::Error begin(const std::vector<Collective> *collectives);
  bundle::Error run(const Collective &collective, Device &device);
  bundle::Error runBeside(const Collective &collective, Device &device);
  bundle::Error await(size_t left, Device &device);
  /// Waits for what a run started.
  bundle::Error wait(Device &device);
  /// This rank's run has failed: the others need not wait for it.
  void abort(std::string_view reason);

private:
  explicit Communicator(const CommunicatorOptions &options) : options(options) {}
  bundle::Error fail(bundle::Error error);

  CommunicatorOptions options;
  std::recursive_mutex mutex;
  Links links;
  std::unique_ptr<Transport> transport;
  std::string attached;     ///< The device that the transport was chosen for.
  uint64_t attachments = 0; ///< So far.
  uint32_t sessions = 0;    ///< Now.
  bundle::Error failure;    ///< The first one: every later call has it.
};

/// "all_reduce add of 16 bytes of f32".
std::string describe(uint8_t kind, uint8_t reduction, uint8_t dtype, uint64_t bytes);
/// "all_reduce \"/layers.0/mlp\"".
std::string describe(const Collective &collective);

/// Host memory over the links.
std::unique_ptr<Transport> createHostTransport(const CommunicatorOptions &options, Links &links);

} // namespace weft

#endif // WEFT_COMM_COMMUNICATOR_H

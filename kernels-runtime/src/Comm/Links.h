// Sockets between the ranks of a program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One stream socket to each other rank. Rank 0 listens at an address that all know; the others tell it where they
// listen, and it tells them of each other. On these links the ranks agree on what they do next, exchange host memory,
// and hear of a rank that has ended or given up. No wait is without an end.
#ifndef WEFT_COMM_LINKS_H
#define WEFT_COMM_LINKS_H

#include "weft/Bundle/Error.h"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct CommunicatorOptions {
  uint32_t rank = 0, ranks = 1;
  std::string address;       ///< "host:port" where rank 0 listens.
  std::string transport;     ///< "host", "nccl"; empty: NCCL between GPUs, else the host.
  std::string ncclLibrary;   ///< Empty: libnccl.so.2.
  int64_t timeoutMs = 60000; ///< The longest wait for a rank that does nothing.
};

/// What a rank is about to do; all ranks must say the same.
struct Step {
  uint8_t kind, reduction, dtype; ///< Codes of bundle_format.h; `kind` 0: nothing of a program; kPlanStep.
  uint64_t number;                ///< Counts steps.
  uint64_t bytes;                 ///< That each rank gives.
};

/// What a rank is going to do in a run, before it starts anything of it; `number` is the run's.
inline constexpr uint8_t kPlanStep = 5;

class Links {
public:
  /// What goes to one peer, and what is expected of it.
  struct Transfer {
    const void *send = nullptr;
    uint64_t sendBytes = 0;
    void *receive = nullptr;
    uint64_t receiveBytes = 0;
  };

  Links() = default;
  ~Links();
  Links(const Links &) = delete;
  Links &operator=(const Links &) = delete;

  /// Joins the other ranks. Device: some do not come in time, or something else answers.
  bundle::Error connect(const CommunicatorOptions &options);

  /// Exchanges `transfers`, one for each rank (the own one is ignored). `what` names the step in errors, which all
  /// name the rank and the peer. After an error the links are of no use: the others are told.
  bundle::Error exchange(const Step &step, const std::vector<Transfer> &transfers, const std::string &what);

  /// Ends an exchange of another thread soon, as every one from now on: the rank is about to give up.
  void cancel() { isCancelled = true; }
  /// Tells the others that this rank gives up, unless they know.
  void abort(std::string_view reason);

  /// A run begins: its number, from 1 on.
  uint64_t beginRun();

  /// Whether some rank has died or given up meanwhile, has ended before a run that this rank has begun, or says of such
  /// a run that it does something else there; for a thread that watches while no exchange goes on.
  bundle::Error check(const std::string &what);

  /// Asks all others how many runs they have begun, within a time of its own: by ranks; none where nothing came.
  std::vector<std::optional<uint64_t>> ask();

private:
  struct Peer {
    int socket = -1;
    bool isBroken = false; ///< In the middle of a message, or gone: nothing more can be said.
    bool hasLeft = false;  ///< It ended as it should, after the run `runs`: all that it had to give is on its way.
    std::optional<uint64_t> runs; ///< That it has begun, as far as it said.
  };
  struct Progress;

  bundle::Error join(int64_t deadline);
  bundle::Error gather(int64_t deadline);
  bundle::Error meet(int64_t deadline);
  bundle::Error acceptPeer(int listener, int64_t deadline, std::string_view missing, uint32_t &peer,
                           struct Greeting &greeting);
  bundle::Error advance(uint32_t peer, Progress &progress, const Step &step, const std::string &what, bool &moved);
  bundle::Error readFrame(uint32_t peer, Progress &progress, const Step &step, const std::string &what, bool &moved);
  bundle::Error fail(std::string message);
  bundle::Error readReason(uint32_t peer, const std::string &place);
  bundle::Error checkPlan(uint32_t peer, const std::string &place);
  bool sendCount(Peer &peer, uint8_t type);
  bool readNotice(uint32_t peer);
  void note(uint32_t peer, uint8_t type, uint64_t number);
  std::string describeEnd(uint32_t peer) const;
  std::string self() const;
  std::string listMissing() const;

  CommunicatorOptions options;
  std::recursive_mutex mutex; ///< One call at a time.
  std::vector<Peer> peers;
  uint64_t runs = 0; ///< That this rank has begun.
  bool isJoined = false, isAborted = false;
  std::atomic<bool> isCancelled = false;
};

} // namespace weft

#endif // WEFT_COMM_LINKS_H

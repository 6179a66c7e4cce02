// Sockets between the ranks of a program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One stream socket to each other rank. Rank 0 listens at an address that all know; the others tell it where they
// listen, and it tells them of each other. On these links the ranks agree on what they do next, exchange host memory,
// and hear of a rank that has ended or given up. No wait is without an end.
#ifndef WEFT_COMM_LINKS_H
#define WEFT_COMM_LINKS_H

#include "weft/Bundle/Error.h"

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct CommunicatorOptions {
  uint32_t rank = 0, ranks = 1;
  std::string address;       ///< "host:port" where rank 0 listens.
  std::string transport;     ///< "host", "nccl"; empty: NCCL between cards, else the host.
  std::string ncclLibrary;   ///< Empty: libnccl.so.2.
  int64_t timeoutMs = 60000; ///< The longest wait for a rank that does nothing.
};

/// What a rank is about to do; all ranks must say the same.
struct Step {
  uint8_t kind, reduction, dtype; ///< Codes of bundle_format.h; `kind` 0: nothing of a program.
  uint64_t number;                ///< Counts steps.
  uint64_t bytes;                 ///< That each rank gives.
};

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

  /// Tells the others that this rank gives up, unless they know.
  void abort(std::string_view reason);

  /// Whether some rank has ended or given up meanwhile; for a thread that watches while no exchange goes on.
  bundle::Error check(const std::string &what);

private:
  struct Peer {
    int socket = -1;
    bool isBroken = false; ///< In the middle of a message, or gone: nothing more can be said.
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
  std::string self() const;
  std::string listMissing() const;

  CommunicatorOptions options;
  std::recursive_mutex mutex; ///< One call at a time.
  std::vector<Peer> peers;
  bool isAborted = false;
};

} // namespace weft

#endif // WEFT_COMM_LINKS_H

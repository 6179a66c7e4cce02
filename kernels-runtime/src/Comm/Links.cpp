// Sockets between the ranks of a program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rank 0 hears a greeting of every other rank and answers with where the others listen; then each rank connects to
// those of lower numbers. A message is a frame, which says what the sender does, and its bytes; a frame may say instead
// that the sender gives up, and why.
//
// A rank that ends says so, and how many runs it has begun: it has done its part in those, and GPUs may still be at
// work on theirs. A connection that ends without a word is a death.
#include "Links.h"

#include "Communicator.h"
#include "Sockets.h"
#include "weft/Bundle/DType.h"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstring>
#include <poll.h>
#include <unistd.h>

using namespace weft;
using namespace weft::bundle;

namespace {
constexpr uint32_t kFrameMagic = 0x43465457; // "WTFC"
constexpr uint64_t kMostReason = 2048;       ///< Bytes of a reason to give up.
constexpr int64_t kFarewellMs = 500;         ///< For peers to read why before a connection ends.
constexpr int64_t kPatienceMs = 100;         ///< Until a wait sees that its own rank gives up.
constexpr int64_t kAnswerMs = 2000;          ///< For all peers to say how far they are.

/// Ask: how many runs the other one has begun; Tell: that; Farewell: that, of a rank that ends.
enum class FrameType : uint8_t { Data = 1, Abort = 2, Ask = 3, Tell = 4, Farewell = 5 };

struct Frame {
  uint32_t magic;
  uint8_t type, kind, reduction, dtype;
  uint64_t number, bytes, payload; ///< `payload`: bytes that follow.
};
static_assert(sizeof(Frame) == 32);
} // namespace

namespace weft {
/// The first message of a connection.
struct Greeting {
  uint32_t magic, rank, ranks;
  uint32_t port; ///< Where the sender listens.
};
} // namespace weft

/// How far the messages from and to one peer are.
struct Links::Progress {
  const Transfer *transfer;
  Frame out, in;
  uint64_t sent = 0, got = 0; ///< Bytes, those of frames included.
  std::string reason;         ///< Of a peer that gives up.

  bool hasSent() const { return sent == sizeof(Frame) + transfer->sendBytes; }
  bool hasReceived() const { return got == sizeof(Frame) + transfer->receiveBytes; }
};

Links::~Links() {
  for (Peer &peer : peers)
    if (peer.socket >= 0) {
      if (isJoined && !isAborted && !peer.isBroken)
        (void)sendCount(peer, uint8_t(FrameType::Farewell));
      ::shutdown(peer.socket, SHUT_WR);
    }
  // A connection that is closed with unread bytes drops what the peer has not read yet.
  int64_t deadline = nowMs() + kFarewellMs;
  for (Peer &peer : peers) {
    if (peer.socket < 0)
      continue;
    char ignored[4096];
    do
      while (::recv(peer.socket, ignored, sizeof ignored, 0) > 0)
        ;
    while (isAborted && receiveAll(peer.socket, ignored, 1, deadline));
    ::close(peer.socket);
  }
}

std::string Links::self() const {
  return "rank " + std::to_string(options.rank) + " of " + std::to_string(options.ranks);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Meeting
//===--------------------------------------------------------------------------------------------------------------===//

std::string Links::listMissing() const {
  std::string list;
  for (uint32_t i = 0; i < peers.size(); ++i)
    if (i != options.rank && peers[i].socket < 0)
      list += (list.empty() ? "" : ", ") + std::to_string(i);
  return list;
}

Error Links::connect(const CommunicatorOptions &given) {
  options = given;
  peers = std::vector<Peer>(options.ranks);
  if (options.ranks == 1)
    return {};
  Error error = meet(nowMs() + options.timeoutMs);
  isJoined = !error;
  return error ? std::move(error).within(self() + " at " + quote(options.address)) : Error();
}

Error Links::meet(int64_t deadline) { return options.rank == 0 ? gather(deadline) : join(deadline); }

/// A connection of a rank that is expected. Others are turned away.
Error Links::acceptPeer(int listener, int64_t deadline, std::string_view missing, uint32_t &peer, Greeting &greeting) {
  int connection = -1;
  SocketAddress from;
  if (!acceptOne(listener, deadline, connection, from))
    return makeError(ErrorCode::Device, "expected ranks %s to join within %" PRId64 " ms, none did",
                     std::string(missing).c_str(), options.timeoutMs);
  if (!receiveAll(connection, &greeting, sizeof greeting, std::min(deadline, nowMs() + 2000)) ||
      greeting.magic != kFrameMagic) {
    ::close(connection); // Some stranger.
    peer = kNone;
    return {};
  }
  peer = greeting.rank;
  if (greeting.ranks != options.ranks || peer >= options.ranks || peer == options.rank || peers[peer].socket >= 0) {
    std::string text = "expected " + std::to_string(options.ranks) + " ranks of different numbers, got rank " +
                       std::to_string(peer) + " of " + std::to_string(greeting.ranks);
    Frame frame = {kFrameMagic, uint8_t(FrameType::Abort), 0, 0, 0, 0, 0, text.size()};
    if (sendAll(connection, &frame, sizeof frame, deadline))
      (void)sendAll(connection, text.data(), text.size(), deadline);
    ::close(connection);
    abort(text);
    return Error(ErrorCode::Usage, std::move(text));
  }
  peers[peer].socket = connection;
  return {};
}

/// Rank 0.
Error Links::gather(int64_t deadline) {
  SocketAddress address;
  if (Error error = resolve(options.address, address))
    return error;
  int listener = -1;
  if (Error error = listenAt(address, listener))
    return error;
  std::vector<SocketAddress> places(options.ranks);
  Error error;
  for (uint32_t joined = 1; joined < options.ranks && !error;) {
    uint32_t peer = kNone;
    Greeting greeting = {};
    error = acceptPeer(listener, deadline, listMissing(), peer, greeting);
    if (error || peer == kNone)
      continue;
    places[peer].size = sizeof(sockaddr_storage);
    if (::getpeername(peers[peer].socket, reinterpret_cast<sockaddr *>(&places[peer].storage), &places[peer].size) != 0)
      error = Error(ErrorCode::Device, "rank " + std::to_string(peer) + " has ended while it joined");
    setPort(places[peer], uint16_t(greeting.port));
    ++joined;
  }
  ::close(listener);
  for (uint32_t i = 1; i < options.ranks && !error; ++i) {
    Frame frame = {kFrameMagic, uint8_t(FrameType::Data), 0, 0, 0, 0, 0, places.size() * sizeof(SocketAddress)};
    if (!sendAll(peers[i].socket, &frame, sizeof frame, deadline) ||
        !sendAll(peers[i].socket, places.data(), frame.payload, deadline))
      error = Error(ErrorCode::Device, "rank " + std::to_string(i) + " has ended while it joined");
  }
  if (error)
    abort(error.getMessage());
  return error;
}

/// The others.
Error Links::join(int64_t deadline) {
  SocketAddress address, own;
  if (Error error = resolve(options.address, address))
    return error;
  if (Error error = connectTo(address, deadline, peers[0].socket))
    return std::move(error).within("rank 0");
  int listener = -1;
  if (!getOwnAddress(peers[0].socket, own))
    return Error(ErrorCode::Device, "rank 0 has ended");
  setPort(own, 0);
  if (Error error = listenAt(own, listener))
    return error;
  Greeting greeting = {kFrameMagic, options.rank, options.ranks, getPort(own)};
  Frame frame = {};
  std::vector<SocketAddress> places(options.ranks);
  Error error;
  if (!sendAll(peers[0].socket, &greeting, sizeof greeting, deadline) ||
      !receiveAll(peers[0].socket, &frame, sizeof frame, deadline + kFarewellMs) || frame.magic != kFrameMagic)
    error = Error(ErrorCode::Device, "rank 0 did not answer, or is none of Weft's");
  if (!error && frame.type == uint8_t(FrameType::Abort)) {
    std::string reason(std::min(frame.payload, kMostReason), '\0');
    (void)receiveAll(peers[0].socket, reason.data(), reason.size(), deadline);
    error = Error(ErrorCode::Device, "rank 0: " + reason);
  } else if (!error && (frame.payload != places.size() * sizeof(SocketAddress) ||
                        !receiveAll(peers[0].socket, places.data(), frame.payload, deadline))) {
    error = Error(ErrorCode::Device, "rank 0 has ended while it answered");
  }
  for (uint32_t i = 1; i < options.rank && !error; ++i) {
    error = connectTo(places[i], deadline, peers[i].socket);
    if (!error && !sendAll(peers[i].socket, &greeting, sizeof greeting, deadline))
      error = Error(ErrorCode::Device, "it has ended");
    if (error)
      error = std::move(error).within("rank " + std::to_string(i));
  }
  for (uint32_t joined = options.rank + 1; joined < options.ranks && !error;) {
    uint32_t peer = kNone;
    error = acceptPeer(listener, deadline, listMissing(), peer, greeting);
    joined += !error && peer != kNone;
  }
  ::close(listener);
  if (error)
    abort(error.getMessage());
  return error;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Giving up
//===--------------------------------------------------------------------------------------------------------------===//

void Links::abort(std::string_view reason) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  if (std::exchange(isAborted, true))
    return;
  reason = reason.substr(0, kMostReason);
  Frame frame = {kFrameMagic, uint8_t(FrameType::Abort), 0, 0, 0, 0, 0, reason.size()};
  for (Peer &peer : peers) {
    if (peer.socket < 0)
      continue;
    int64_t deadline = nowMs() + kFarewellMs;
    if (!peer.isBroken && sendAll(peer.socket, &frame, sizeof frame, deadline))
      (void)sendAll(peer.socket, reason.data(), reason.size(), deadline);
    ::shutdown(peer.socket, SHUT_WR);
  }
}

Error Links::fail(std::string message) {
  abort(message);
  return Error(ErrorCode::Device, std::move(message));
}

/// Of a peer that gives up: what it says, if it is the next message.
Error Links::readReason(uint32_t peer, const std::string &place) {
  Frame frame;
  int64_t deadline = nowMs() + kFarewellMs;
  if (::recv(peers[peer].socket, &frame, sizeof frame, MSG_PEEK) != sizeof frame ||
      frame.type != uint8_t(FrameType::Abort) || !receiveAll(peers[peer].socket, &frame, sizeof frame, deadline))
    return {};
  std::string reason(std::min(frame.payload, kMostReason), '\0');
  (void)receiveAll(peers[peer].socket, reason.data(), reason.size(), deadline);
  return fail(place + " gave up: " + reason);
}

/// A message of a run's plan stays for the run; behind it a peer may have given up.
Error Links::checkPlan(uint32_t peer, const std::string &place) {
  char bytes[2 * sizeof(Frame) + sizeof(uint64_t) + kMostReason];
  ssize_t got = ::recv(peers[peer].socket, bytes, sizeof bytes, MSG_PEEK);
  Frame frame, next;
  if (got < ssize_t(sizeof frame))
    return {};
  std::memcpy(&frame, bytes, sizeof frame);
  if (frame.type != uint8_t(FrameType::Data) || frame.kind != kPlanStep)
    return {};
  if (frame.number <= runs)
    return fail(place + " begins run " + std::to_string(frame.number) +
                " with other extents than before, this rank with the same; all ranks run one program with inputs of "
                "the same shapes");
  size_t behind = sizeof frame + std::min<uint64_t>(frame.payload, sizeof bytes);
  if (size_t(got) < behind + sizeof next)
    return {};
  std::memcpy(&next, bytes + behind, sizeof next);
  if (next.type != uint8_t(FrameType::Abort))
    return {};
  size_t reason = std::min<uint64_t>(next.payload, size_t(got) - behind - sizeof next);
  return fail(place + " gave up: " + std::string(bytes + behind + sizeof next, reason));
}

uint64_t Links::beginRun() {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  return ++runs;
}

Error Links::check(const std::string &what) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  for (uint32_t i = 0; i < peers.size(); ++i) {
    Peer &peer = peers[i];
    if (peer.socket < 0)
      continue;
    while (!peer.hasLeft && readNotice(i))
      ;
    std::string place = self() + ": " + what + ": ";
    if (peer.hasLeft && runs <= *peer.runs)
      continue; // It has done its part, and need not be there until all have.
    char first;
    ssize_t got = ::recv(peer.socket, &first, sizeof first, MSG_PEEK);
    if (peer.hasLeft || got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
      return fail(place + describeEnd(i));
    if (got < 0)
      continue;
    place += "rank " + std::to_string(i);
    if (Error error = readReason(i, place))
      return error;
    if (Error error = checkPlan(i, place))
      return error;
  }
  return {};
}

/// "rank 1 has ended", of one that died; of one that left: after which run.
std::string Links::describeEnd(uint32_t peer) const {
  std::string text = "rank " + std::to_string(peer) + " has ended";
  if (!peers[peer].hasLeft)
    return text;
  return text + (*peers[peer].runs ? " after run " + std::to_string(*peers[peer].runs) : " before the first run");
}

/// Says how many runs this rank has begun.
bool Links::sendCount(Peer &peer, uint8_t type) {
  Frame frame = {kFrameMagic, type, 0, 0, 0, runs, 0, 0};
  return sendAll(peer.socket, &frame, sizeof frame, nowMs() + kFarewellMs);
}

/// What a frame of `type` says, of those that are no part of a step.
void Links::note(uint32_t peer, uint8_t type, uint64_t number) {
  if (type != uint8_t(FrameType::Ask))
    peers[peer].runs = number;
  else if (!peers[peer].isBroken)
    (void)sendCount(peers[peer], uint8_t(FrameType::Tell));
  peers[peer].hasLeft |= type == uint8_t(FrameType::Farewell);
}

static bool isNotice(uint8_t type) {
  return type == uint8_t(FrameType::Ask) || type == uint8_t(FrameType::Tell) || type == uint8_t(FrameType::Farewell);
}

/// The message that is there, if it is one of those.
bool Links::readNotice(uint32_t peer) {
  Frame frame;
  if (::recv(peers[peer].socket, &frame, sizeof frame, MSG_PEEK) != sizeof frame || frame.magic != kFrameMagic ||
      !isNotice(frame.type) || !receiveAll(peers[peer].socket, &frame, sizeof frame, nowMs() + kFarewellMs))
    return false;
  note(peer, frame.type, frame.number);
  return true;
}

std::vector<std::optional<uint64_t>> Links::ask() {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  for (Peer &peer : peers)
    if (peer.socket >= 0 && !peer.hasLeft) {
      peer.runs.reset();
      if (!peer.isBroken)
        (void)sendCount(peer, uint8_t(FrameType::Ask));
    }
  std::vector<bool> isOver(peers.size());
  int64_t deadline = nowMs() + kAnswerMs;
  for (bool isWaiting = true; isWaiting && nowMs() < deadline;) {
    isWaiting = false;
    for (uint32_t i = 0; i < peers.size(); ++i) {
      if (peers[i].socket < 0 || peers[i].runs || isOver[i])
        continue;
      char first;
      ssize_t got = ::recv(peers[i].socket, &first, sizeof first, MSG_PEEK);
      isOver[i] = got == 0 || (got > 0 && !readNotice(i));
      isWaiting |= !isOver[i] && !peers[i].runs;
    }
    (void)::poll(nullptr, 0, isWaiting ? 1 : 0);
  }
  std::vector<std::optional<uint64_t>> counts(peers.size());
  for (uint32_t i = 0; i < peers.size(); ++i)
    counts[i] = peers[i].runs;
  return counts;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Steps
//===--------------------------------------------------------------------------------------------------------------===//

std::string weft::describe(uint8_t kind, uint8_t reduction, uint8_t dtype, uint64_t bytes) {
  static constexpr const char *kinds[] = {"session",        "all_reduce", "all_gather",
                                          "reduce_scatter", "all_to_all", "begin of a run"};
  static constexpr const char *reductions[] = {"", " add", " mul", " max", " min"};
  std::string text = kind < 6 ? kinds[kind] : "?";
  if (kind == 0 || kind == kPlanStep)
    return text;
  return text + (reduction < 5 ? reductions[reduction] : "?") + " of " + std::to_string(bytes) + " bytes of " +
         getName(DType(dtype));
}

static std::string describeStep(uint8_t kind, uint8_t reduction, uint8_t dtype, uint64_t number, uint64_t bytes) {
  return "step " + std::to_string(number) + ", " + describe(kind, reduction, dtype, bytes);
}

/// The frame is here: what it says, against what this rank does.
Error Links::readFrame(uint32_t peer, Progress &progress, const Step &step, const std::string &what, bool &moved) {
  const Frame &frame = progress.in;
  std::string place = self() + ": " + what + ": rank " + std::to_string(peer);
  if (frame.magic != kFrameMagic)
    return fail(place + " sent what is no message of Weft's");
  if (frame.type == uint8_t(FrameType::Abort)) {
    progress.reason.resize(std::min(frame.payload, kMostReason));
    (void)receiveAll(peers[peer].socket, progress.reason.data(), progress.reason.size(), nowMs() + kFarewellMs);
    return fail(place + " gave up: " + progress.reason);
  }
  moved = true;
  if (isNotice(frame.type)) {
    note(peer, frame.type, frame.number);
    progress.got = 0;
    return peers[peer].hasLeft ? fail(self() + ": " + what + ": " + describeEnd(peer)) : Error();
  }
  bool agrees = frame.kind == step.kind && frame.reduction == step.reduction && frame.dtype == step.dtype &&
                frame.number == step.number && frame.bytes == step.bytes &&
                frame.payload == progress.transfer->receiveBytes;
  return agrees ? Error()
                : fail(place + ": expected what this rank does, " +
                       describeStep(step.kind, step.reduction, step.dtype, step.number, step.bytes) + ", got " +
                       describeStep(frame.kind, frame.reduction, frame.dtype, frame.number, frame.bytes) +
                       "; all ranks run one program with inputs of the same shapes");
}

/// Sends and receives what the socket takes and has now.
Error Links::advance(uint32_t peer, Progress &progress, const Step &step, const std::string &what, bool &moved) {
  int socket = peers[peer].socket;
  auto ended = [&] {
    std::string place = self() + ": " + what + ": rank " + std::to_string(peer);
    peers[peer].isBroken = true;
    Error reason = progress.hasReceived() ? readReason(peer, place) : Error();
    return reason ? std::move(reason) : fail(self() + ": " + what + ": " + describeEnd(peer));
  };
  while (!progress.hasReceived()) {
    bool isFrame = progress.got < sizeof(Frame);
    char *place = isFrame ? reinterpret_cast<char *>(&progress.in) + progress.got
                          : static_cast<char *>(progress.transfer->receive) + (progress.got - sizeof(Frame));
    uint64_t left =
        isFrame ? sizeof(Frame) - progress.got : sizeof(Frame) + progress.transfer->receiveBytes - progress.got;
    ssize_t got = ::recv(socket, place, left, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
      break;
    if (got <= 0)
      return ended();
    progress.got += uint64_t(got);
    moved = true;
    if (isFrame && progress.got == sizeof(Frame))
      if (Error error = readFrame(peer, progress, step, what, moved))
        return error;
  }
  while (!progress.hasSent()) {
    bool isFrame = progress.sent < sizeof(Frame);
    const char *place = isFrame ? reinterpret_cast<const char *>(&progress.out) + progress.sent
                                : static_cast<const char *>(progress.transfer->send) + (progress.sent - sizeof(Frame));
    uint64_t left =
        isFrame ? sizeof(Frame) - progress.sent : sizeof(Frame) + progress.transfer->sendBytes - progress.sent;
    ssize_t sent = ::send(socket, place, left, MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR))
      break;
    if (sent < 0) { // It may have said why: that is read first, in the next turn.
      char last;
      if (progress.hasReceived() || ::recv(socket, &last, 1, MSG_PEEK) <= 0)
        return ended();
      break;
    }
    progress.sent += uint64_t(sent);
    peers[peer].isBroken = !progress.hasSent();
    moved = true;
  }
  return {};
}

Error Links::exchange(const Step &step, const std::vector<Transfer> &transfers, const std::string &what) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  if (isAborted)
    return Error(ErrorCode::Device, self() + ": " + what + ": the ranks have given up before");
  std::vector<Progress> progress(peers.size());
  for (uint32_t i = 0; i < peers.size(); ++i) {
    progress[i].transfer = &transfers[i];
    progress[i].out = {kFrameMagic, uint8_t(FrameType::Data), step.kind, step.reduction, step.dtype, step.number,
                       step.bytes,  transfers[i].sendBytes};
  }
  int64_t lastMove = nowMs();
  for (;;) {
    std::vector<pollfd> waiting;
    std::string missing;
    bool moved = false;
    for (uint32_t i = 0; i < peers.size(); ++i) {
      if (i == options.rank)
        continue;
      if (Error error = advance(i, progress[i], step, what, moved))
        return error;
      short events = short((progress[i].hasReceived() ? 0 : POLLIN) | (progress[i].hasSent() ? 0 : POLLOUT));
      if (!events)
        continue;
      waiting.push_back({peers[i].socket, events, 0});
      missing += (missing.empty() ? "rank " : ", rank ") + std::to_string(i);
    }
    if (waiting.empty())
      return {};
    if (isCancelled)
      return Error(ErrorCode::Device, self() + ": " + what + ": this rank gives up");
    if (moved)
      lastMove = nowMs();
    int64_t left = lastMove + options.timeoutMs - nowMs();
    if (left <= 0)
      return fail(self() + ": " + what + ": expected " + missing + " to go on within " +
                  std::to_string(options.timeoutMs) + " ms, nothing came");
    (void)::poll(waiting.data(), waiting.size(), int(std::min<int64_t>(left, kPatienceMs)));
  }
}

// Stream sockets with deadlines.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sockets do not block; poll waits for them.
#include "Sockets.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

using namespace weft;
using namespace weft::bundle;

int64_t weft::nowMs() {
  struct timespec time;
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t(time.tv_sec) * 1000 + time.tv_nsec / 1000000;
}

/// Until `socket` is ready for `events`; false: the deadline has passed.
static bool waitFor(int socket, short events, int64_t deadline) {
  for (;;) {
    int64_t left = deadline - nowMs();
    pollfd wanted = {socket, events, 0};
    int ready = ::poll(&wanted, 1, int(std::clamp<int64_t>(left, 0, 1000)));
    if (ready > 0)
      return true;
    if ((ready < 0 && errno != EINTR) || left <= 0)
      return false;
  }
}

static void configure(int socket) {
  ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK);
  int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Error weft::resolve(const std::string &text, SocketAddress &address) {
  size_t colon = text.rfind(':');
  std::string host = text.substr(0, colon == text.npos ? 0 : colon), port = text.substr(colon + 1);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  bool isNumber = !port.empty() && port.size() <= 5 && port.find_first_not_of("0123456789") == port.npos;
  if (host.empty() || !isNumber || std::stoi(port) < 1 || std::stoi(port) > 65535)
    return Error(ErrorCode::Usage, "expected an address HOST:PORT where rank 0 listens, got " + quote(text));
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  int status = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (status != 0 || !found)
    return Error(ErrorCode::Device, "address " + quote(text) + ": " + ::gai_strerror(status));
  std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
  address.size = found->ai_addrlen;
  ::freeaddrinfo(found);
  return {};
}

Error weft::listenAt(SocketAddress &address, int &listener) {
  listener = ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int on = 1;
  if (listener >= 0)
    ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  bool listens = listener >= 0 &&
                 ::bind(listener, reinterpret_cast<const sockaddr *>(&address.storage), address.size) == 0 &&
                 ::listen(listener, 128) == 0 && getOwnAddress(listener, address);
  if (listens) {
    configure(listener);
    return {};
  }
  std::string cause = std::strerror(errno);
  if (listener >= 0)
    ::close(listener);
  listener = -1;
  return Error(ErrorCode::Device, "cannot listen: " + cause);
}

Error weft::connectTo(const SocketAddress &address, int64_t deadline, int &connection) {
  for (int64_t pause = 5;; pause = std::min<int64_t>(pause * 2, 200)) {
    connection = ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection < 0)
      return Error(ErrorCode::Resource, std::string("no socket: ") + std::strerror(errno));
    configure(connection);
    int status = ::connect(connection, reinterpret_cast<const sockaddr *>(&address.storage), address.size);
    if (status != 0 && errno == EINPROGRESS && waitFor(connection, POLLOUT, deadline)) {
      int failure = 0;
      socklen_t size = sizeof failure;
      ::getsockopt(connection, SOL_SOCKET, SO_ERROR, &failure, &size);
      status = failure ? -1 : 0;
    }
    if (status == 0)
      return {};
    ::close(connection);
    connection = -1;
    if (nowMs() + pause >= deadline)
      return Error(ErrorCode::Device, "nobody listens there");
    timespec rest = {0, long(pause) * 1000000};
    ::nanosleep(&rest, nullptr);
  }
}

bool weft::acceptOne(int listener, int64_t deadline, int &connection, SocketAddress &from) {
  while (waitFor(listener, POLLIN, deadline)) {
    from.size = sizeof from.storage;
    connection = ::accept4(listener, reinterpret_cast<sockaddr *>(&from.storage), &from.size, SOCK_CLOEXEC);
    if (connection >= 0) {
      configure(connection);
      return true;
    }
    if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
      return false;
  }
  return false;
}

bool weft::sendAll(int connection, const void *data, size_t size, int64_t deadline) {
  const auto *bytes = static_cast<const char *>(data);
  while (size > 0) {
    ssize_t sent = ::send(connection, bytes, size, MSG_NOSIGNAL);
    if (sent > 0) {
      bytes += sent;
      size -= size_t(sent);
    } else if ((errno != EAGAIN && errno != EINTR) || !waitFor(connection, POLLOUT, deadline)) {
      return false;
    }
  }
  return true;
}

bool weft::receiveAll(int connection, void *data, size_t size, int64_t deadline) {
  auto *bytes = static_cast<char *>(data);
  while (size > 0) {
    ssize_t got = ::recv(connection, bytes, size, 0);
    if (got > 0) {
      bytes += got;
      size -= size_t(got);
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR) || !waitFor(connection, POLLIN, deadline)) {
      return false;
    }
  }
  return true;
}

bool weft::getOwnAddress(int connection, SocketAddress &address) {
  address.size = sizeof address.storage;
  return ::getsockname(connection, reinterpret_cast<sockaddr *>(&address.storage), &address.size) == 0;
}

uint16_t weft::getPort(const SocketAddress &address) {
  // IPv4 and IPv6 have it at the same offset.
  return ntohs(reinterpret_cast<const sockaddr_in *>(&address.storage)->sin_port);
}

void weft::setPort(SocketAddress &address, uint16_t port) {
  reinterpret_cast<sockaddr_in *>(&address.storage)->sin_port = htons(port);
}

// Stream sockets with deadlines.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small calls over the libc's sockets: none waits beyond its deadline.
#ifndef WEFT_COMM_SOCKETS_H
#define WEFT_COMM_SOCKETS_H

#include "weft/Bundle/Error.h"

#include <cstdint>
#include <string>
#include <sys/socket.h>

namespace weft {

struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t size = 0;
};

/// Milliseconds of a clock that never goes back.
int64_t nowMs();

/// "127.0.0.1:29500", "[::1]:29500", "node7:29500". Usage: it is none; Device: the name is not known.
bundle::Error resolve(const std::string &text, SocketAddress &address);
/// Listens there (port 0: at a free one, which `address` gets).
bundle::Error listenAt(SocketAddress &address, int &listener);
/// Connects; tries again until the deadline while nobody listens there yet.
bundle::Error connectTo(const SocketAddress &address, int64_t deadline, int &connection);
/// Waits for a connection; false: none came until the deadline.
bool acceptOne(int listener, int64_t deadline, int &connection, SocketAddress &from);
/// All bytes, or false: the deadline has passed, or the connection has ended.
bool sendAll(int connection, const void *data, size_t size, int64_t deadline);
bool receiveAll(int connection, void *data, size_t size, int64_t deadline);
/// Of the own end.
bool getOwnAddress(int connection, SocketAddress &address);
uint16_t getPort(const SocketAddress &address);
void setPort(SocketAddress &address, uint16_t port);

} // namespace weft

#endif // WEFT_COMM_SOCKETS_H

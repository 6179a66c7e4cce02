// posix_spawn, a pipe that is read until its end, and a clock.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Support/Process.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallVector.h"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weft {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t mostOutput = size_t(16) << 20;

llvm::Error systemError(const char *what, int code) {
  return llvm::createStringError("%s: %s", what, std::strerror(code));
}

/// The child's number. It writes to `output`.
llvm::Expected<pid_t> spawn(llvm::ArrayRef<std::string> arguments, int output) {
  llvm::SmallVector<char *> argv;
  for (const std::string &argument : arguments)
    argv.push_back(const_cast<char *>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  llvm::scope_exit destroy([&] { posix_spawn_file_actions_destroy(&actions); });
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  if (int code = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ))
    return systemError("cannot be started", code);
  return child;
}

/// Appends what the pipe holds now. False at its end.
bool drain(int pipe, std::string &text) {
  char buffer[4096];
  while (true) {
    ssize_t count = ::read(pipe, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return count < 0 && errno == EAGAIN;
    text.append(buffer, std::min<size_t>(count, mostOutput - text.size()));
  }
}

/// What is read ends when the child does, or earlier if it closes its output, or later if its own children keep it: the
/// child is asked after at the end of the pipe, and ten times a second.
llvm::Expected<int> waitFor(pid_t child, int pipe, std::string &text, Clock::time_point deadline) {
  bool open = true;
  while (true) {
    int status = 0;
    pid_t found = ::waitpid(child, &status, WNOHANG);
    if (found == child) {
      if (open)
        drain(pipe, text);
      return status;
    }
    if (found < 0 && errno != EINTR)
      return systemError("cannot be waited for", errno);
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) {
      ::kill(child, SIGKILL);
      while (::waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
      return llvm::createStringError("takes too long");
    }
    pollfd read = {pipe, POLLIN, 0};
    if (::poll(&read, open ? 1 : 0, int(std::min<long>(left, open ? 100 : 1))) > 0)
      open = drain(pipe, text);
  }
}

} // namespace

llvm::Expected<ProcessResult> runProcess(llvm::ArrayRef<std::string> arguments, std::chrono::milliseconds limit) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return systemError("cannot make a pipe", errno);
  llvm::scope_exit closeRead([&] { ::close(ends[0]); });
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  llvm::Expected<pid_t> child = spawn(arguments, ends[1]);
  ::close(ends[1]);
  if (!child)
    return child.takeError();
  ProcessResult result;
  llvm::Expected<int> status = waitFor(*child, ends[0], result.output, Clock::now() + limit);
  if (!status)
    return status.takeError();
  if (WIFSIGNALED(*status))
    return llvm::createStringError("ended by the signal %s", ::strsignal(WTERMSIG(*status)));
  result.exitCode = WEXITSTATUS(*status);
  return result;
}

} // namespace weft

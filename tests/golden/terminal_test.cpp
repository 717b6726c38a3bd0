// SPDX-License-Identifier: Apache-2.0
/// \file
/// The program on a pseudo terminal: colour, the progress bar, Ctrl-C.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "cox/base/processes.h"

#include "cli/frame/interrupt.hpp"
#include "cli/output/progress.hpp"

namespace cox::cli {
namespace {

/// Programs that hang fail here, not in the whole suite's time limit.
constexpr int kPatienceMs = 30'000;

/// A child whose three standard streams are a terminal.
class OnTerminal {
 public:
  explicit OnTerminal(const std::function<int()>& body) {
    child_ = ::forkpty(&fd_, nullptr, nullptr, nullptr);
    if (child_ == 0) ::_exit(body());
    if (child_ < 0) fd_ = -1;  // no terminal to be had, and so no child
  }
  OnTerminal(const OnTerminal&) = delete;
  OnTerminal& operator=(const OnTerminal&) = delete;
  ~OnTerminal() {
    if (fd_ >= 0) ::close(fd_);
    if (child_ > 0 && !reaped_) {
      cox_signal_process(child_, SIGKILL);
      cox_wait_process(child_, nullptr, 0);
    }
  }
  [[nodiscard]] bool has_child() const { return child_ > 0; }

  /// All output until `what` was seen, or the end.
  std::string read_until(const std::string& what) {
    std::array<char, 4096> block{};
    while (what.empty() || seen_.find(what) == std::string::npos) {
      pollfd ready{.fd = fd_, .events = POLLIN, .revents = 0};
      if (::poll(&ready, 1, kPatienceMs) <= 0) {
        ADD_FAILURE() << "no more output after: " << seen_;
        break;
      }
      const ssize_t n = ::read(fd_, block.data(), block.size());
      if (n <= 0) break;  // EIO: the other side is closed
      seen_.append(block.data(), static_cast<std::size_t>(n));
    }
    return seen_;
  }
  void type(const std::string& keys) const {
    EXPECT_EQ(::write(fd_, keys.data(), keys.size()), std::ssize(keys));
  }
  int exit_code() {
    read_until("");
    int status = 0;
    EXPECT_EQ(cox_wait_process(child_, &status, 0), child_);
    reaped_ = true;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  int fd_ = -1;
  pid_t child_ = -1;
  bool reaped_ = false;
  std::string seen_;
};

/// Runs `cox` through a shell on a terminal, with the variables given and none
/// that decide on colour otherwise.
std::function<int()> shell(const std::string& command,
                           std::vector<std::pair<std::string, std::string>> variables) {
  return [command, variables = std::move(variables)] {
    for (const char* name : {"NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"}) ::unsetenv(name);
    for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
    const std::string path = std::string(COX_BIN_DIR) + ":" + std::getenv("PATH");
    ::setenv("PATH", path.c_str(), 1);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    return 127;
  };
}

/// Skipped where the machine has no terminals to give (a container without /dev/pts).
class Terminal : public ::testing::Test {
 protected:
  void SetUp() override {
    const int fd = ::posix_openpt(O_RDWR | O_NOCTTY);
    const bool works = fd >= 0 && ::grantpt(fd) == 0 && ::unlockpt(fd) == 0 && ::ptsname(fd) != nullptr &&
                       ::access(::ptsname(fd), F_OK) == 0;
    if (fd >= 0) ::close(fd);
    if (!works) GTEST_SKIP() << "no pseudo terminal is to be had here";
    std::signal(SIGINT, SIG_DFL);  // who is started in the background by a script inherits that it is ignored
  }
};

bool is_coloured(const std::string& command, std::vector<std::pair<std::string, std::string>> variables) {
  OnTerminal terminal(shell(command, std::move(variables)));
  const std::string text = terminal.read_until("");
  EXPECT_FALSE(text.empty());
  return text.find("\x1b[") != std::string::npos;
}

TEST_F(Terminal, ColourOnATerminalUnlessToldOtherwise) {
  EXPECT_TRUE(is_coloured("cox doctor", {{"TERM", "xterm"}}));
  EXPECT_FALSE(is_coloured("cox doctor | cat", {{"TERM", "xterm"}}));
  EXPECT_FALSE(is_coloured("cox doctor", {{"TERM", "xterm"}, {"NO_COLOR", "1"}}));
  EXPECT_FALSE(is_coloured("cox doctor", {{"TERM", "dumb"}}));
  EXPECT_FALSE(is_coloured("cox doctor --color never", {{"TERM", "xterm"}}));
  EXPECT_TRUE(is_coloured("cox doctor --color always | cat", {{"TERM", "dumb"}, {"NO_COLOR", "1"}}));
}

TEST_F(Terminal, ErrorsAreColouredWhereTheyAreRead) {
  EXPECT_TRUE(is_coloured("cox frobnicate >/dev/null", {{"TERM", "xterm"}}));
  EXPECT_FALSE(is_coloured("cox frobnicate 2>&1 | cat", {{"TERM", "xterm"}}));
}

TEST_F(Terminal, HelpHasNoColourCodes) {
  EXPECT_FALSE(is_coloured("cox help", {{"TERM", "xterm"}}));
}

TEST_F(Terminal, TheBarGoesWhenTheWorkIsDone) {
  OnTerminal terminal([] {
    auto now = std::chrono::steady_clock::time_point{};
    {
      Progress progress(std::cerr, ::isatty(STDERR_FILENO) == 1 ? ProgressStyle::Bar : ProgressStyle::Lines,
                        "reading", [&now] { return now; });
      now += std::chrono::seconds(1);
      progress.update(1, 4);
      progress.update(3, 4);
    }
    std::cerr << "done" << std::flush;
    return 0;
  });
  EXPECT_EQ(terminal.read_until(""),
            "\rreading [#######.......................]  25 %\rreading [######################........]  75 %"
            "\r\x1b[Kdone");
}

TEST_F(Terminal, CtrlCEndsWith130AndRemovesTheUnfinishedFile) {
  std::string name = "/tmp/cox-unfinished-XXXXXX";
  const int fd = ::mkstemp(name.data());
  ASSERT_GE(fd, 0);
  ::close(fd);
  OnTerminal terminal([&name] {
    handle_interrupts();
    set_unfinished_file(name);
    std::cout << "ready" << std::flush;
    for (;;) ::pause();
    return 0;
  });
  terminal.read_until("ready");
  terminal.type("\x03");
  EXPECT_EQ(terminal.exit_code(), 130);
  EXPECT_NE(::access(name.c_str(), F_OK), 0);
  EXPECT_NE(terminal.read_until("").find("cox: interrupted"), std::string::npos);
}

TEST_F(Terminal, WorkThatMustBeFinishedIsFinishedFirst) {
  OnTerminal terminal([] {
    handle_interrupts();
    sigset_t interrupts;
    sigset_t before;
    sigemptyset(&interrupts);
    sigaddset(&interrupts, SIGINT);
    ::sigprocmask(SIG_BLOCK, &interrupts, &before);  // so that it cannot come before somebody waits for it
    {
      const FinishFirst unbroken;
      std::cout << "ready" << std::flush;
      ::sigsuspend(&before);  // returns once the handler has run
      std::cout << "finished" << std::flush;
    }
    return 0;
  });
  terminal.read_until("ready");
  terminal.type("\x03");
  EXPECT_EQ(terminal.exit_code(), 130);
  EXPECT_NE(terminal.read_until("").find("finished"), std::string::npos);
}

TEST_F(Terminal, TheSecondCtrlCStopsAtOnce) {
  OnTerminal terminal([] {
    handle_interrupts();
    const FinishFirst unbroken;
    std::cout << "ready" << std::flush;
    for (;;) ::pause();
    return 0;
  });
  terminal.read_until("ready");
  terminal.type("\x03");
  terminal.read_until("again");
  terminal.type("\x03");
  EXPECT_EQ(terminal.exit_code(), 130);
}

TEST(NoTerminal, LeavesNobodyToKill) {
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const struct rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  {
    const OnTerminal terminal([] { return 0; });
    EXPECT_FALSE(terminal.has_child());
  }
  EXPECT_EQ(errno, EMFILE) << "a process was signalled or waited for";
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

/// Whether the process has a handler for SIGINT, as the kernel sees it.
bool catches_interrupts(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("SigCgt:", 0) == 0)
      return (std::stoull(line.substr(7), nullptr, 16) & (1ULL << (SIGINT - 1))) != 0;
  return false;
}

/// The real program, held up in the middle of its output by a pipe that nobody empties.
TEST_F(Terminal, TheProgramItselfEndsWith130) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  ASSERT_EQ(::fcntl(pipe[1], F_SETFL, O_NONBLOCK), 0);
  const std::string filler(4096, 'x');
  while (::write(pipe[1], filler.data(), filler.size()) > 0) {
  }
  while (::write(pipe[1], "x", 1) > 0) {
  }
  ASSERT_EQ(::fcntl(pipe[1], F_SETFL, 0), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::dup2(pipe[1], STDOUT_FILENO);
    ::execl(COX_BIN_DIR "/cox", "cox", "help", nullptr);
    ::_exit(127);
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
  while (!catches_interrupts(child) && std::chrono::steady_clock::now() < deadline) ::sched_yield();
  cox_signal_process(child, SIGINT);
  int status = 0;
  ASSERT_EQ(cox_wait_process(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 130);
  ::close(pipe[0]);
  ::close(pipe[1]);
}

}  // namespace
}  // namespace cox::cli

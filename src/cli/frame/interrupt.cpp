// SPDX-License-Identifier: Apache-2.0
#include "cli/frame/interrupt.hpp"

#include <unistd.h>

#include <array>
#include <climits>
#include <csignal>
#include <cstring>

#include "cli/frame/command.hpp"

namespace cox::cli {
namespace {

// All that the handler touches; it may only call what POSIX lists as safe there.
volatile sig_atomic_t finish_first = 0;
volatile sig_atomic_t pending = 0;
volatile sig_atomic_t file_known = 0;
std::array<char, PATH_MAX> unfinished_file{};

void say(const char* text) {
  if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) return;  // nobody listens: nothing to do about it
}

[[noreturn]] void leave() {
  if (file_known != 0) ::unlink(unfinished_file.data());
  ::_exit(static_cast<int>(ExitCode::Interrupted));
}

void on_interrupt(int /*signal*/) {
  if (finish_first != 0 && pending == 0) {
    pending = 1;
    say("\ncox: finishing what is begun; press Ctrl-C again to stop now\n");
    return;
  }
  say("\ncox: interrupted\n");
  leave();
}

}  // namespace

void handle_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigemptyset(&action.sa_mask);
  struct sigaction before {};
  // A job started with interrupts ignored (nohup, a shell's background) keeps ignoring them.
  if (::sigaction(SIGINT, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
    ::sigaction(SIGINT, &action, nullptr);
}

bool interrupted() {
  return pending != 0;
}

FinishFirst::FinishFirst() {
  finish_first = finish_first + 1;
}

FinishFirst::~FinishFirst() {
  finish_first = finish_first - 1;
  if (finish_first == 0 && pending != 0) leave();
}

void set_unfinished_file(const std::string& path) {
  file_known = 0;
  if (path.size() >= unfinished_file.size()) return;
  std::memcpy(unfinished_file.data(), path.c_str(), path.size() + 1);
  file_known = 1;
}

void clear_unfinished_file() {
  file_known = 0;
}

}  // namespace cox::cli

// SPDX-License-Identifier: Apache-2.0
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "cli/dispatch.hpp"
#include "cli/frame/interrupt.hpp"

extern "C" char** environ;

namespace {

using cox::cli::ExitCode;

/// Of the terminal behind standard output; 0 where there is none or it does not say.
std::size_t terminal_columns() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

ExitCode run(int argc, char** argv) {
  cox::cli::handle_interrupts();
  cox::cli::Console console{.out = std::cout,
                            .err = std::cerr,
                            .out_is_terminal = ::isatty(STDOUT_FILENO) == 1,
                            .err_is_terminal = ::isatty(STDERR_FILENO) == 1,
                            .out_columns = terminal_columns()};
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string entry = *at;
    if (const auto equals = entry.find('='); equals != std::string::npos)
      console.environment.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return cox::cli::dispatch(std::vector<std::string>(argv + 1, argv + argc), console);
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  // The last wall: nothing that a library throws may end in std::terminate.
  try {
    return static_cast<int>(argc > 0 ? run(argc, argv) : ExitCode::Usage);
  } catch (const std::bad_alloc&) {
    std::fputs("cox: out of memory [cli-007]\n  hint: try a machine with more memory, or fewer threads\n",
               stderr);
    return static_cast<int>(ExitCode::Environment);
  } catch (const std::exception& e) {
    std::fprintf(stderr,
                 "cox: bug: %s [cli-008]\n  hint: please report it with the command line and the Run\n",
                 e.what());
  } catch (...) {
    std::fputs("cox: bug: something unknown was thrown [cli-008]\n  hint: please report it\n", stderr);
  }
  return static_cast<int>(ExitCode::Bug);
}

// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ctrl-C: ends the program with 130, leaves nothing half-written.
#pragma once

#include <string>

namespace cox::cli {

/// Installs the handler. The first Ctrl-C ends the program, unless work is under way that must be finished.
void handle_interrupts();

/// Whether Ctrl-C was pressed while a FinishFirst lived.
[[nodiscard]] bool interrupted();

/// While one lives, the first Ctrl-C waits for it to end and the second does not.
class FinishFirst {
 public:
  FinishFirst();
  ~FinishFirst();
  FinishFirst(const FinishFirst&) = delete;
  FinishFirst& operator=(const FinishFirst&) = delete;
};

/// The file that an interrupt removes: a result that is being written under a temporary name. One at a time.
void set_unfinished_file(const std::string& path);
void clear_unfinished_file();

}  // namespace cox::cli

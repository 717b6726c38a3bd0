// SPDX-License-Identifier: Apache-2.0
#include "guest/torch/version.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <climits>
#include <cstddef>
#include <cstring>

namespace cox::guest::torch {
namespace {

/// The number that a text begins with, which is moved behind it; -1 where it begins with none.
int take_number(const char*& text) noexcept {
  int value = -1;
  for (; *text >= '0' && *text <= '9' && value < 10000; ++text)
    value = (value < 0 ? 0 : value) * 10 + (*text - '0');
  return value;
}

/// What a small file begins with, as text. False where it cannot be read, or is none.
template <std::size_t N>
bool read_head(const char* path, char (&text)[N]) noexcept {
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return false;
  const ssize_t got = pread(file, text, N - 1, 0);  // of pipes and folders it gets nothing
  close(file);
  text[got > 0 ? got : 0] = 0;
  if (char* last = strrchr(text, '\n'); got == static_cast<ssize_t>(N) - 1 && last != nullptr)
    *last = 0;  // a line that is cut says nothing
  return got > 0;
}

/// Of the line `__version__ = '2.6.0+cpu'`, what follows the quote; null where there is none.
const char* version_in(const char* text) noexcept {
  static constexpr char kName[] = "__version__";
  const char* at = strstr(text, kName);
  while (at != nullptr && at != text && at[-1] != '\n') at = strstr(at + 1, kName);
  if (at == nullptr) return nullptr;
  at += sizeof kName - 1;
  while (*at != 0 && *at != '=' && *at != '\n') ++at;  // `: str` may stand before it
  if (*at++ != '=') return nullptr;
  while (*at == ' ') ++at;
  return *at == '\'' || *at == '"' ? at + 1 : nullptr;
}

bool knows_wheel(const char* file, std::size_t folder) noexcept {
  static constexpr char kBeside[] = "../version.py";
  char path[PATH_MAX];
  if (folder + sizeof kBeside > sizeof path) return false;
  memcpy(path, file, folder);
  memcpy(path + folder, kBeside, sizeof kBeside);
  char text[1024];
  if (!read_head(path, text)) return false;
  const char* version = version_in(text);
  return version != nullptr && knows_version(version);
}

}  // namespace

bool knows_version(const char* text) noexcept {
  const int major = take_number(text);
  if (*text++ != '.') return false;
  const int minor = take_number(text);
  if (*text != 0 && *text != '.') return false;
  return (major == 1 && minor == 13) || (major == 2 && minor >= 0 && minor <= 14);
}

bool knows_ranges(const char* file) noexcept {
  static constexpr char kStem[] = "libtorch_cpu.so.";
  const char* slash = strrchr(file, '/');
  const char* name = slash == nullptr ? file : slash + 1;
  if (strncmp(name, kStem, sizeof kStem - 1) == 0) return knows_version(name + sizeof kStem - 1);
  const bool bare = strncmp(name, kStem, sizeof kStem - 2) == 0 && name[sizeof kStem - 2] == 0;
  return bare && slash != nullptr && knows_wheel(file, static_cast<std::size_t>(name - file));
}

}  // namespace cox::guest::torch

// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the administrator of a machine allows: /etc/cox/policy.toml. Read by `cox observe` and, so that
/// variables set by hand change nothing, by the guest of each rank. Needs libc only.
/// Form and meaning: docs/reference/policy.md. Held by: src/guest/seam/policy_test.cpp, tests/e2e/policy_test.sh
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

/// Fixed when Coxswain is built (cmake -DCOX_POLICY_FILE=...): no variable and no option names another.
#if !defined(COX_POLICY_FILE)
#define COX_POLICY_FILE "/etc/cox/policy.toml"
#endif

namespace cox::guest {

inline constexpr const char* kPolicyFile = COX_POLICY_FILE;

struct AdminPolicy {
  static constexpr std::size_t kMostFolders = 16;
  static constexpr std::size_t kLongestFolder = 512;

  /// Why the file cannot be obeyed; null where it is obeyed or absent. Then nothing is observed at all.
  const char* trouble = nullptr;
  int line = 0;                          ///< of `trouble`, from 1; 0 = the file as a whole
  bool is_there = false;                 ///< there is such a file
  bool pacing = true;                    ///< `pacing`: whether --pace and what acts with it may be used
  std::uint64_t max_size_bytes = 0;      ///< most that a process writes; 0 = no bound
  std::uint64_t max_job_size_bytes = 0;  ///< most that all processes of a job write together; 0 = no bound
  std::size_t folder_count = 0;          ///< 0 = anywhere
  char folders[kMostFolders][kLongestFolder] = {};  ///< absolute; Runs only in or below one of them
};

/// Whether a folder, absolute and without links in it, is one where a Run may lie.
inline bool allows_folder(const AdminPolicy& policy, const char* folder) {
  if (policy.folder_count == 0) return true;
  for (std::size_t i = 0; i < policy.folder_count; ++i) {
    const std::size_t length = strlen(policy.folders[i]);
    if (strncmp(folder, policy.folders[i], length) != 0) continue;
    if (length == 1 || folder[length] == 0 || folder[length] == '/') return true;
  }
  return false;
}

namespace policy_text {

inline const char* skip_blanks(const char* at) {
  while (*at == ' ' || *at == '\t') ++at;
  return at;
}

inline bool ends_here(const char* at) {
  at = skip_blanks(at);
  return *at == 0 || *at == '#' || *at == '\r';
}

/// The value behind `key =`; null where the line has another key.
inline const char* value_of(const char* line, const char* key) {
  const std::size_t length = strlen(key);
  if (strncmp(line, key, length) != 0) return nullptr;
  const char* at = skip_blanks(line + length);
  return *at == '=' ? skip_blanks(at + 1) : nullptr;
}

inline const char* read_bool(const char* at, bool& into) {
  into = strncmp(at, "true", 4) == 0;
  if (!into && strncmp(at, "false", 5) != 0) return "expected true or false";
  return ends_here(at + (into ? 4 : 5)) ? nullptr : "expected true or false";
}

inline const char* read_bytes(const char* at, std::uint64_t& into) {
  constexpr const char* kExpected = "expected a number of bytes greater than 0";
  into = 0;
  for (; (*at >= '0' && *at <= '9') || *at == '_'; ++at) {
    if (*at == '_') continue;
    if (into > (UINT64_MAX - 9) / 10) return kExpected;
    into = into * 10 + static_cast<std::uint64_t>(*at - '0');
  }
  return into > 0 && ends_here(at) ? nullptr : kExpected;
}

inline const char* read_folders(const char* at, AdminPolicy& policy) {
  constexpr const char* kExpected = "expected a list of absolute folders on one line: [\"/scratch\"]";
  if (*at++ != '[') return kExpected;
  policy.folder_count = 0;
  for (at = skip_blanks(at); *at != ']'; at = skip_blanks(at)) {
    if (policy.folder_count == AdminPolicy::kMostFolders) return "more than 16 folders";
    const char* end = *at == '"' && at[1] == '/' ? strchr(at + 1, '"') : nullptr;
    if (end == nullptr) return kExpected;
    std::size_t length = static_cast<std::size_t>(end - at) - 1;
    if (length >= AdminPolicy::kLongestFolder || memchr(at, '\\', length + 1) != nullptr) return kExpected;
    while (length > 1 && at[length] == '/') --length;  // a slash at the end says nothing
    char* folder = policy.folders[policy.folder_count++];
    memcpy(folder, at + 1, length);
    folder[length] = 0;
    at = skip_blanks(end + 1);
    if (*at == ',')
      ++at;
    else if (*at != ']')
      return kExpected;
  }
  if (policy.folder_count == 0) return kExpected;
  return ends_here(at + 1) ? nullptr : kExpected;
}

inline const char* read_line(const char* line, AdminPolicy& policy) {
  line = skip_blanks(line);
  if (ends_here(line)) return nullptr;
  if (const char* value = value_of(line, "pacing")) return read_bool(value, policy.pacing);
  if (const char* value = value_of(line, "max_size_bytes")) return read_bytes(value, policy.max_size_bytes);
  if (const char* value = value_of(line, "max_job_size_bytes"))
    return read_bytes(value, policy.max_job_size_bytes);
  if (const char* value = value_of(line, "folders")) return read_folders(value, policy);
  return "unknown key, expected pacing, max_size_bytes, max_job_size_bytes or folders";
}

}  // namespace policy_text

/// Fills a policy from the text of a file. Changes `text`.
inline void parse_policy(char* text, AdminPolicy& policy) {
  int number = 0;
  while (text != nullptr && policy.trouble == nullptr) {
    char* newline = strchr(text, '\n');
    if (newline != nullptr) *newline = 0;
    ++number;
    policy.trouble = policy_text::read_line(text, policy);
    if (policy.trouble != nullptr) policy.line = number;
    text = newline == nullptr ? nullptr : newline + 1;
  }
}

/// Reads the policy. A file that is not root's, or that others may write, is no administrator's word; neither
/// is half of one.
inline void read_policy(const char* path, AdminPolicy& policy) {
  static constexpr std::size_t kMostBytes = std::size_t{8} * 1024;
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) return;
  policy.is_there = true;
  char text[kMostBytes];
  struct stat st {};
  ssize_t used = -1;
  if (fd >= 0 && syscall(SYS_fstat, fd, &st) == 0 && S_ISREG(st.st_mode))  // fstat itself needs glibc 2.33
    used = ::read(fd, text, sizeof text);
  if (fd >= 0) ::close(fd);
  if (used < 0)
    policy.trouble = "cannot be read";
  else if (st.st_uid != 0 || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    policy.trouble = "expected root's own file, writable for nobody else";
  else if (static_cast<std::size_t>(used) == sizeof text || memchr(text, 0, static_cast<std::size_t>(used)))
    policy.trouble = "expected a text of less than 8 kB";
  if (policy.trouble != nullptr) return;
  text[used] = 0;
  parse_policy(text, policy);
}

}  // namespace cox::guest

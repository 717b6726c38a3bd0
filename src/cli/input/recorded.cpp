// SPDX-License-Identifier: Apache-2.0
#include "cli/input/recorded.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <utility>
#include <vector>

#include "cox/trace/raw_format.hpp"
#include "cox/trace/run_files.hpp"

namespace cox::cli {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMostCompared = 4096;  // pairs are compared: that many tell the story

bool read_head(const fs::path& path, trace::RawHeader& head) {
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(&head), sizeof head);
  return file.gcount() == sizeof head && std::memcmp(head.magic, trace::kRawMagic, sizeof head.magic) == 0 &&
         head.version == trace::kRawVersion && head.endian == trace::kEndianMark;
}

/// Whether a file system would not take the rest.
bool is_of_storage(std::uint32_t reason) {
  constexpr std::array<std::uint32_t, 5> kStorage = {ENOSPC, EDQUOT, EFBIG, EIO, ESTALE};
  return std::find(kStorage.begin(), kStorage.end(), reason) != kStorage.end();
}

Duration overhead_of(const trace::RawHeader& head) {
  if (!std::isfinite(head.ticks_per_second) || head.ticks_per_second <= 0) return {};
  return duration_from_seconds(static_cast<double>(head.overhead_ticks) / head.ticks_per_second);
}

/// From the first to the last clock reading of a process, Unix time in nanoseconds.
struct Lifetime {
  std::int64_t begin;
  std::int64_t end;
};

Lifetime lifetime_of(const trace::RawHeader& head) {
  const std::uint64_t last = std::min<std::uint64_t>(head.pair_count, trace::kMaxClockPairs);
  if (last == 0) return {0, 0};
  return {head.pairs[0].realtime_ns, head.pairs[last - 1].realtime_ns};
}

/// How many of them were alive at one moment, at most.
std::int64_t most_at_once(std::vector<Lifetime> lives) {
  std::sort(lives.begin(), lives.end(),
            [](const Lifetime& a, const Lifetime& b) { return a.begin < b.begin; });
  std::int64_t most = 0;
  for (const Lifetime& now : lives) {
    const auto alive = std::count_if(lives.begin(), lives.end(), [&](const Lifetime& other) {
      return other.begin <= now.begin && now.begin <= other.end;
    });
    most = std::max<std::int64_t>(most, alive);
  }
  return most;
}

}  // namespace

Recorded read_heads(const fs::path& dir, const std::string& mark) {
  Recorded sum;
  std::vector<Lifetime> alone;
  for (const fs::path& file : trace::run_entries(dir)) {
    std::error_code ec;
    trace::RawHeader head{};
    if (file.extension() != ".coxraw" || !file.stem().string().ends_with(mark) ||
        !fs::is_regular_file(file, ec) || !read_head(file, head))
      continue;
    ++sum.files;
    if (head.rank >= 0) sum.ranks.insert(head.rank);
    sum.world_size = std::max(sum.world_size, head.world_size);
    sum.dropped_records += head.dropped_records;
    sum.recycled_records += head.recycled_records;
    sum.overhead_per_event = std::max(sum.overhead_per_event, overhead_of(head));
    if (is_of_storage(head.disable_reason)) {
      ++sum.storage_failed;
      sum.storage_errno = static_cast<int>(head.disable_reason);
    } else if (head.state == trace::WriterState::Disabled) {
      ++(head.disable_reason == trace::kDisabledDetached ? sum.detached : sum.disabled);
    }
    if (head.rank == 0 && head.world_size == 1 && alone.size() < kMostCompared)
      alone.push_back(lifetime_of(head));
  }
  sum.alone = static_cast<std::int64_t>(alone.size());
  sum.singletons = most_at_once(std::move(alone));
  return sum;
}

}  // namespace cox::cli

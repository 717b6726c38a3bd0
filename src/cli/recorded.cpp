// SPDX-License-Identifier: Apache-2.0
#include "cli/recorded.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>

#include "cox/trace/raw_format.hpp"

namespace cox::cli {
namespace {

namespace fs = std::filesystem;

bool read_head(const fs::path& path, trace::RawHeader& head) {
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(&head), sizeof head);
  return file.gcount() == sizeof head && std::memcmp(head.magic, trace::kRawMagic, sizeof head.magic) == 0 &&
         head.version == trace::kRawVersion && head.endian == trace::kEndianMark;
}

Duration overhead_of(const trace::RawHeader& head) {
  if (!std::isfinite(head.ticks_per_second) || head.ticks_per_second <= 0) return {};
  return duration_from_seconds(static_cast<double>(head.overhead_ticks) / head.ticks_per_second);
}

}  // namespace

Recorded read_heads(const fs::path& dir) {
  Recorded sum;
  std::error_code ec;
  for (fs::directory_iterator it(dir, ec), end; !ec && it != end; it.increment(ec)) {
    trace::RawHeader head{};
    if (it->path().extension() != ".coxraw" || !it->is_regular_file(ec) || !read_head(it->path(), head))
      continue;
    if (head.rank >= 0) sum.ranks.insert(head.rank);
    sum.world_size = std::max(sum.world_size, head.world_size);
    sum.dropped_records += head.dropped_records;
    sum.recycled_records += head.recycled_records;
    sum.overhead_per_event = std::max(sum.overhead_per_event, overhead_of(head));
    if (head.state == trace::WriterState::Disabled) ++sum.disabled;
  }
  return sum;
}

}  // namespace cox::cli

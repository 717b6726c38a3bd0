// SPDX-License-Identifier: Apache-2.0
#include "fuzz/entries.hpp"

#include <utility>
#include <vector>

#include "cox/base/assert.hpp"

#include "fuzz/said.hpp"
#include "trace/raw/meta_entries.hpp"
#include "trace/raw/process_file.hpp"
#include "trace/raw/raw_file.hpp"
#include "trace/run/assemble.hpp"
#include "trace/store/block_codec.hpp"
#include "trace/store/compact_file.hpp"
#include "trace/store/run_info_json.hpp"

namespace cox::fuzz {
namespace {

using namespace cox::trace;

/// What every reader of a Run may rely on.
void check(const Run& run) {
  for (const RankTrack& track : run.ranks) {
    const EventColumns& e = track.events;
    for (std::size_t i = 0; i < e.size(); ++i) {
      COX_ASSERT(e.begin[i] >= Duration::zero(), "times count from the origin");
      COX_ASSERT(i == 0 || e.begin[i - 1] <= e.begin[i], "events are ordered");
      COX_ASSERT(e.end[i] >= e.begin[i], "calls return after they began");
      COX_ASSERT(e.comm[i] == kNoComm || run.find(e.comm[i]) != nullptr, "communicators are described");
    }
  }
}

Run run_of(const ProcessRecords& records) {
  ProcessBuilder builder("fuzz", records.header, records.meta, records.records.size());
  builder.add(records.records);
  builder.add_losses(records.losses);
  std::vector<ProcessFile> processes;
  processes.push_back(std::move(builder).finish());
  return assemble(std::move(processes), 1);
}

}  // namespace

void raw(std::string_view bytes) {
  const auto parsed = parse_raw_file(bytes);
  if (!parsed) return;
  const Run run = run_of(*parsed);
  check(run);
  check_said(run, nullptr);
  const auto again = decode_compact(encode_compact(*parsed));
  COX_ASSERT(again.has_value(), "what was compacted can be read");
  COX_ASSERT(again->records == parsed->records && again->meta == parsed->meta, "compaction loses nothing");
}

void compact(std::string_view bytes) {
  if (const auto decoded = decode_compact(bytes)) check(run_of(*decoded));
  RecordColumns block;
  if (decode_block(bytes, block)) {
    RecordColumns again;
    COX_ASSERT(decode_block(encode_block(block, 0, block.size()), again) && again == block,
               "a block that was read can be written");
  }
  const MetaContent meta = parse_meta(bytes);
  COX_ASSERT(clean_text(bytes) == clean_text(clean_text(bytes)), "a safe text is left as it is");
}

void run_info(std::string_view bytes) {
  const auto info = parse_run_info(bytes);
  if (!info) return;
  const auto again = parse_run_info(format_run_info(*info));
  COX_ASSERT(again && format_run_info(*again) == format_run_info(*info), "what was read can be written");
}

}  // namespace cox::fuzz

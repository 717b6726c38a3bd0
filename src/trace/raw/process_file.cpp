// SPDX-License-Identifier: Apache-2.0
#include "trace/raw/process_file.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "cox/base/number_text.hpp"

#include "trace/raw/sample_block.hpp"

namespace cox::trace {
namespace {

constexpr std::size_t kMostReserved = std::size_t{1} << 22;  // more than that grows as it comes
constexpr std::size_t kMostThreads = 4096;

template <std::size_t N>
std::string text_of(const char (&field)[N]) {
  return clean_text(std::string_view(field, N));
}

bool is_known(std::uint8_t kind) {
  return kind >= static_cast<std::uint8_t>(EventKind::Collective) &&
         kind <= static_cast<std::uint8_t>(EventKind::Awaited);
}

}  // namespace

ProcessBuilder::ProcessBuilder(std::string file, const RawHeader& header, std::string_view meta,
                               std::size_t expected)
    : header_(header) {
  ProcessFile& p = process_;
  p.file = std::move(file);
  p.pid = header.pid;
  p.start_time = header.start_time;
  p.pid_namespace = header.pid_namespace;
  p.time_namespace = header.time_namespace;
  p.node_number = header.node_number > 0 ? header.node_number - 1 : -1;
  p.local_size = std::max(header.local_size, 0);
  p.rank = header.rank;
  p.world_size = header.world_size;
  p.local_rank = header.local_rank;
  p.attempt = header.attempt;
  p.state = header.state;
  if (p.state != WriterState::Closed && p.state != WriterState::Disabled) p.state = WriterState::Open;
  p.host = text_of(header.host);
  p.boot_id = text_of(header.boot_id);
  p.job = text_of(header.job);
  p.launcher = text_of(header.launcher);
  p.library = text_of(header.library);
  p.program = text_of(header.program);
  p.timing = text_of(header.timing);
  p.clock_kind = header.clock_kind;
  p.dropped_records = header.dropped_records;
  p.recycled_records = header.recycled_records;
  std::copy_n(header.unobserved_calls, kUnobservedKinds, p.unobserved_calls.begin());
  MetaContent content = parse_meta(meta);
  p.communicators = std::move(content.communicators);
  p.locality = std::move(content.locality);
  for (std::string& loss : content.losses) losses_.add(std::move(loss));
  for (std::string& note : content.guest_notes) p.notes.push_back(std::string(kGuestSays) + note);
  p.events.reserve(std::min(expected, kMostReserved));
}

std::uint32_t ProcessBuilder::thread_number(std::uint32_t tid) {
  if (tid == last_tid_ && !tids_.empty()) return last_number_;
  auto at = std::find(tids_.begin(), tids_.end(), tid);
  // A hostile file could name a new thread per event and make this search quadratic.
  if (at == tids_.end() && tids_.size() == kMostThreads) return static_cast<std::uint32_t>(kMostThreads);
  if (at == tids_.end()) at = tids_.insert(tids_.end(), tid);
  last_tid_ = tid;
  last_number_ = static_cast<std::uint32_t>(at - tids_.begin());
  return last_number_;
}

void ProcessBuilder::add(const RecordColumns& records) {
  const std::size_t n = records.size();
  if (n == 0) return;
  if (!scale_) scale_ = TickScale::from(header_, records.begin.front());
  const TickScale& scale = *scale_;
  EventColumns& e = process_.events;
  Duration last = e.size() > 0 ? e.begin.back() : Duration::min();
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t begin_ticks = records.begin[i];
    const std::uint64_t end_ticks = records.end[i];
    if (!is_known(records.kind[i])) {
      ++unknown_kind_;
      continue;
    }
    if (end_ticks != 0 && end_ticks < begin_ticks) {
      ++backwards_;
      continue;
    }
    const auto kind = static_cast<EventKind>(records.kind[i]);
    if (begin_ticks < header_.overwritten_until && end_ticks != 0) {
      ++before_overwritten_;
      continue;
    }
    const std::optional<Duration> begin = scale.at(begin_ticks);
    std::optional<Duration> end = kStillRunning;
    if (end_ticks != 0)
      end = scale.at(end_ticks);
    else if (kind == EventKind::Step)
      end = begin;  // an instant cannot be under way
    if (!begin || !end) {
      ++out_of_time_;
      continue;
    }
    sorted_ = sorted_ && *begin >= last;
    last = *begin;
    const std::uint32_t comm = records.comm[i];
    e.push_back(
        {.kind = kind,
         .op = records.op[i],
         .flags = records.flags[i],
         .begin = *begin,
         .end = *end,
         .bytes = Bytes{static_cast<std::int64_t>(std::min<std::uint64_t>(records.bytes[i], INT64_MAX))},
         .comm = comm == 0 || comm > INT32_MAX ? kNoComm : CommId{static_cast<std::int32_t>(comm)},
         .seq = records.seq[i],
         .aux = records.aux[i],
         .thread = thread_number(records.thread[i])});
  }
}

void ProcessBuilder::add_samples(const std::vector<RawSample>& samples) {
  if (samples.empty()) return;
  if (!scale_) scale_ = TickScale::from(header_, samples.front().ticks);
  std::int64_t lost = 0;
  process_.samples.reserve(samples.size());
  for (const RawSample& raw : samples) {
    if (const std::optional<Duration> at = scale_->at(raw.ticks))
      process_.samples.push_back(sample_of(raw, *at));
    else
      ++lost;
  }
  if (lost > 0)
    losses_.add(counted(lost, "sample lies", "samples lie") +
                " more than 10 s before or 100 days after the process's start");
}

void ProcessBuilder::add_losses(std::vector<std::string> losses) {
  for (std::string& loss : losses) losses_.add(std::move(loss));
}

void ProcessBuilder::sort_events() {
  EventColumns& e = process_.events;
  std::vector<std::uint32_t> order(e.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return e.begin[a] < e.begin[b]; });
  e.reorder(order);
}

ProcessFile ProcessBuilder::finish() && {
  if (!scale_) scale_ = TickScale::from(header_, 0);
  if (!sorted_) sort_events();
  ProcessFile& p = process_;
  p.aligned = scale_->aligned();
  p.residual = scale_->residual();
  p.reference_ns = scale_->reference_monotonic_ns();
  p.reference_fraction = scale_->reference_fraction();
  p.realtime_offset_ns = scale_->realtime_offset_ns();
  p.overhead = scale_->span(header_.overhead_ticks);
  p.recycled_records += before_overwritten_;
  if (!scale_->loss().empty() && p.events.size() > 0) losses_.add(scale_->loss());
  if (unknown_kind_ > 0)
    losses_.add(counted(unknown_kind_, "record is", "records are") +
                " of a kind that this cox does not know");
  if (backwards_ > 0)
    losses_.add(counted(backwards_, "record ends before it begins", "records end before they begin"));
  if (out_of_time_ > 0)
    losses_.add(counted(out_of_time_, "record lies", "records lie") +
                " more than 10 s before or 100 days after the process's start");
  for (std::string& loss : losses_.take()) p.notes.push_back(std::move(loss));
  return std::move(p);
}

}  // namespace cox::trace

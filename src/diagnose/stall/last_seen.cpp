// SPDX-License-Identifier: Apache-2.0
#include "diagnose/stall/last_seen.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <map>

#include "diagnose/match/span_math.hpp"

namespace cox::diagnose {
namespace {

using trace::EventColumns;
using trace::EventKind;
using namespace std::chrono_literals;

/// A rank whose samples end so long before the others' was stopped or gone: ten samples that are not there.
constexpr Duration kSilence = 1s;
/// How far the start of a process and its first record may seem to be the wrong way round: the kernel counts
/// in ticks of 10 ms.
constexpr std::int64_t kStartSlackNs = 50'000'000;

bool is_gone(char state) {
  return state == 'Z' || state == 'X' || state == 'x';
}

const char* phase_name(std::uint8_t op) {
  switch (static_cast<trace::PhaseKind>(op)) {
    case trace::PhaseKind::Forward:
      return "forward";
    case trace::PhaseKind::Backward:
      return "backward";
    case trace::PhaseKind::Optimizer:
      return "optimizer";
    case trace::PhaseKind::Data:
      return "data";
    case trace::PhaseKind::Evaluation:
      return "evaluation";
    case trace::PhaseKind::Other:
      break;
  }
  return "other";
}

}  // namespace

LastLook::LastLook(const Matched& matched, const ProcessTable* processes,
                   std::optional<std::int64_t> asked_monotonic_ns)
    : matched_(matched), processes_(processes) {
  look_at_records();
  if (processes_ != nullptr && asked_monotonic_ns) look_at_machine(*asked_monotonic_ns);
}

void LastLook::look_at_records() {
  last_at_.reserve(matched_.ranks());
  Duration latest = Duration::zero();
  for (std::size_t r = 0; r < matched_.ranks(); ++r) {
    const trace::RankTrack& track = matched_.track(r);
    Duration last = matched_.scan(r).latest;
    if (!track.samples.empty()) {
      last = std::max(last, track.samples.back().at);
    }
    last_at_.push_back(last);
    latest = std::max(latest, last);
  }
  present_.at = latest;
  compare_samples();
}

/// Clocks that nothing but realtime puts beside the others' may be off by more than a silence lasts: samples
/// of such nodes are held against their own only.
void LastLook::compare_samples() {
  const auto key = [this](const trace::RankTrack& track) {
    const auto n = static_cast<std::size_t>(track.node.value());
    if (track.node.value() < 0 || n >= matched_.nodes().size()) return -1;
    const trace::ClockSource source = matched_.nodes()[n].clock.source;
    const bool apart = source == trace::ClockSource::Realtime || source == trace::ClockSource::Unknown;
    return apart ? track.node.value() : -1;
  };
  std::map<int, Duration> latest;
  for (const trace::RankTrack& track : matched_.tracks()) {
    if (track.samples.empty()) continue;
    const auto [at, fresh] = latest.try_emplace(key(track), track.samples.back().at);
    if (!fresh) at->second = std::max(at->second, track.samples.back().at);
  }
  for (const trace::RankTrack& track : matched_.tracks())
    last_sample_.push_back(track.samples.empty() ? Duration::min() : latest[key(track)]);
}

bool LastLook::is_here(const trace::RankTrack& track) const {
  const auto n = static_cast<std::size_t>(track.node.value());
  if (track.node.value() < 0 || n >= matched_.nodes().size()) return false;
  const trace::Node& node = matched_.nodes()[n];
  if (node.boot_id.empty() || node.boot_id != boot_id_) return false;
  return node.time_namespace == 0 || node.time_namespace == time_namespace_;
}

/// The process that wrote the rank's record, if it is there. A number is one process's at any time: what
/// runs under it now and began before the first record is the one that wrote that.
std::optional<ProcessFacts> LastLook::facts(std::size_t r) const {
  const trace::RankTrack& track = matched_.track(r);
  const auto found = processes_->find({.pid = track.pid, .pid_namespace = track.pid_namespace});
  if (!found) return std::nullopt;
  if (track.start_time != 0) return found->start_ticks == track.start_time ? found : std::nullopt;
  const auto origin = matched_.nodes()[static_cast<std::size_t>(track.node.value())].monotonic_origin_ns;
  if (!origin || track.events.size() == 0) return std::nullopt;
  const std::int64_t first_ns = track.events.begin.front().count() / 1000;
  return found->started_ns - kStartSlackNs <= *origin + first_ns ? found : std::nullopt;
}

void LastLook::look_at_machine(std::int64_t asked_monotonic_ns) {
  boot_id_ = processes_->boot_id();
  time_namespace_ = processes_->time_namespace();
  live_nodes_.assign(matched_.nodes().size(), false);
  for (std::size_t r = 0; r < matched_.ranks(); ++r) {
    const trace::RankTrack& track = matched_.track(r);
    if (track.state == trace::WriterState::Closed || !is_here(track)) continue;
    const auto n = static_cast<std::size_t>(track.node.value());
    const auto found = facts(r);
    if (!found || is_gone(found->state)) continue;
    live_nodes_[n] = true;
    const auto origin = matched_.nodes()[n].monotonic_origin_ns;
    std::int64_t since_origin = 0;
    constexpr std::int64_t kLongest = INT64_MAX / 1000;
    if (!origin || present_.live || __builtin_sub_overflow(asked_monotonic_ns, *origin, &since_origin))
      continue;
    if (since_origin < 0 || since_origin > kLongest) continue;
    present_ = {.at = Duration{since_origin * 1000}, .live = true};
  }
}

ProcessState LastLook::state(std::size_t r, StateSource& source) const {
  const trace::RankTrack& track = matched_.track(r);
  source = StateSource::Record;
  if (track.state == trace::WriterState::Closed) return ProcessState::Ended;
  const auto n = static_cast<std::size_t>(track.node.value());
  if (n < live_nodes_.size() && live_nodes_[n] && is_here(track)) {
    source = StateSource::Machine;
    const auto found = facts(r);
    // Not seen and yet recording: it is in a PID namespace that is not known.
    const bool records =
        !track.samples.empty() && minus_clamped(present_.at, track.samples.back().at) < kSilence;
    if (!found && (records || !processes_->sees_all_of(track.pid_namespace))) {
      source = StateSource::None;
      return ProcessState::Unknown;
    }
    if (!found || is_gone(found->state)) return ProcessState::Gone;
    if (found->state == 'T' || found->state == 't') return ProcessState::Stopped;
    return found->state == 'R' ? ProcessState::Running : ProcessState::Sleeping;
  }
  if (!track.samples.empty()) {
    source = StateSource::Samples;
    const trace::Sample& last = track.samples.back();
    if (minus_clamped(last_sample_[r], last.at) >= kSilence) return ProcessState::Silent;
    if (last.state == 'R') return ProcessState::Running;
    if (last.state == 'S' || last.state == 'D') return ProcessState::Sleeping;
    if (last.state == 'T' || last.state == 't') return ProcessState::Stopped;
  }
  source = StateSource::None;
  return ProcessState::Unknown;
}

CallName LastLook::name(const OpenOperation& op) const {
  const trace::Communicator& comm = matched_.communicator(op.comm);
  return {.operation = op.kind,
          .point_to_point = op.point_to_point,
          .comm = comm.id,
          .comm_name = comm.name,
          .seq = op.seq,
          .bytes = op.bytes};
}

LastSeen LastLook::at(std::size_t r, const OpenCalls& open) const {
  const trace::RankTrack& track = matched_.track(r);
  const EventColumns& e = track.events;
  LastSeen seen;
  seen.rank = track.rank;
  seen.pid = track.pid;
  const auto n = static_cast<std::size_t>(track.node.value());
  if (track.node.value() >= 0 && n < matched_.nodes().size()) seen.host = matched_.nodes()[n].host;
  seen.process = state(r, seen.source);
  for (std::size_t i = e.size(); i-- > 0 && !seen.last_call;) {
    if (e.kind[i] != EventKind::Collective || e.end[i] == trace::kStillRunning) continue;
    CallName call{.operation = e.collective(i), .comm = e.comm[i], .seq = e.seq[i]};
    if (const auto comm = matched_.comms().find(e.comm[i]); comm >= 0)
      call.comm_name = matched_.communicator(comm).name;
    call.bytes = std::max(e.bytes[i], Bytes{});
    seen.last_call = std::move(call);
    seen.last_call_end = e.end[i];
  }
  for (std::size_t i = e.size(); i-- > 0;) {
    if (e.kind[i] != EventKind::Phase) continue;
    if (e.end[i] == trace::kStillRunning) seen.phase = phase_name(e.op[i]);
    break;
  }
  for (std::size_t i = e.size(); i-- > 0 && !seen.step;)
    if (e.kind[i] == EventKind::Step) seen.step = StepId{e.step_number(i)};
  if (!open.ranks[r].operations.empty())
    seen.inside = name(open.operations[static_cast<std::size_t>(open.ranks[r].operations.front())]);
  const Duration last = matched_.scan(r).latest;
  if (last != Duration::min()) seen.idle = positive_part(minus_clamped(present_.at, last));
  return seen;
}

std::optional<Duration> LastLook::longest_usual(std::size_t r) const {
  const EventColumns& e = matched_.track(r).events;
  std::optional<Duration> longest;
  std::optional<Duration> previous_end;
  for (std::size_t i = 0; i < e.size(); ++i) {
    if (e.kind[i] != EventKind::Collective && e.kind[i] != EventKind::Wait) continue;
    if (e.end[i] == trace::kStillRunning) continue;
    if (previous_end) {
      const Duration pause = minus_clamped(e.begin[i], *previous_end);
      longest = std::max({longest.value_or(Duration::zero()), pause, minus_clamped(e.end[i], e.begin[i])});
    }
    previous_end = std::max(previous_end.value_or(Duration::min()), e.end[i]);
  }
  return longest;
}

std::string utc_of(const Matched& matched, Duration at) {
  std::int64_t ns = 0;
  if (matched.origin_realtime_ns() <= 0 ||
      __builtin_add_overflow(matched.origin_realtime_ns(), at.count() / 1000, &ns) || ns < 0)
    return {};
  const std::int64_t ms = ns / 1'000'000;
  const auto seconds = static_cast<std::time_t>(ms / 1000);
  std::tm broken{};
  if (gmtime_r(&seconds, &broken) == nullptr) return {};
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", broken, ms % 1000);
}

}  // namespace cox::diagnose

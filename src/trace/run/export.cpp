// SPDX-License-Identifier: Apache-2.0
#include "cox/trace/export.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <ostream>
#include <set>
#include <string>

#include "cox/base/json.hpp"
#include "cox/model/collective.hpp"

namespace cox::trace {
namespace {

constexpr std::size_t kFlushBytes = std::size_t{1} << 20;

/// Text as a JSON string, quotes included.
std::string quoted(const std::string& text) {
  return json_inside(text);
}

/// Picoseconds as microseconds without loss: three digits for nanoseconds, three for what is below.
std::string microseconds(Duration d) {
  const bool negative = d < Duration::zero();
  const std::uint64_t ps =
      negative ? 0 - static_cast<std::uint64_t>(d.count()) : static_cast<std::uint64_t>(d.count());
  return fmt::format("{}{}.{:06}", negative ? "-" : "", ps / 1'000'000, ps % 1'000'000);
}

const char* phase_name(std::uint8_t op) {
  switch (static_cast<PhaseKind>(op)) {
    case PhaseKind::Forward:
      return "forward";
    case PhaseKind::Backward:
      return "backward";
    case PhaseKind::Optimizer:
      return "optimizer";
    case PhaseKind::Data:
      return "data";
    case PhaseKind::Evaluation:
      return "evaluation";
    case PhaseKind::Other:
      break;
  }
  return "phase";
}

const char* wait_name(std::uint8_t op) {
  switch (static_cast<WaitKind>(op)) {
    case WaitKind::GradientSync:
      return "wait: gradient sync";
    case WaitKind::Request:
      return "wait: request";
    case WaitKind::Peer:
      return "wait: peer";
    case WaitKind::Other:
      break;
  }
  return "wait";
}

/// The one document that is no `Json`: a Run has millions of events, so each is written as it is read.
class Exporter {
 public:
  Exporter(const Run& run, std::ostream& out) : run_(run), out_(out) {}

  Status write() {
    text_ = "{\"displayTimeUnit\":\"ms\",\"otherData\":";
    text_ += fmt::format("{{\"run\":{},\"provenance\":\"{}\",\"tool\":{}}}", quoted(run_.info.name),
                         name_of(run_.info.provenance), quoted(run_.info.tool));
    text_ += ",\"traceEvents\":[";
    for (const RankTrack& track : run_.ranks) {
      name_tracks(track);
      for (std::size_t i = 0; i < track.events.size(); ++i) add_event(track, i);
    }
    text_ += "\n]}\n";
    flush();
    out_.flush();
    if (out_) return {};
    return fail(Error{.code = Errc::Io,
                      .id = "base-006",
                      .message = "cannot be written",
                      .hint = "check the folder, its rights and free space",
                      .where = std::nullopt});
  }

 private:
  void flush() {
    out_.write(text_.data(), static_cast<std::streamsize>(text_.size()));
    text_.clear();
  }

  void add(const std::string& object) {
    text_ += first_ ? "\n" : ",\n";
    first_ = false;
    text_ += object;
    if (text_.size() >= kFlushBytes) flush();
  }

  void name_tracks(const RankTrack& t) {
    const int pid = t.rank.value();
    std::string host;
    for (const Node& n : run_.nodes)
      if (n.id == t.node) host = n.host;
    const std::string name =
        host.empty() ? fmt::format("rank {}", pid) : fmt::format("rank {} on {}", pid, host);
    add(fmt::format(R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":{}}}}})", pid,
                    quoted(name)));
    add(fmt::format(R"({{"ph":"M","pid":{},"name":"process_sort_index","args":{{"sort_index":{}}}}})", pid,
                    pid));
    const std::set<std::uint32_t> threads(t.events.thread.begin(), t.events.thread.end());
    for (const std::uint32_t thread : threads)
      add(fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":"thread {}"}}}})",
                      pid, thread, thread));
  }

  void add_event(const RankTrack& t, std::size_t i) {
    const EventColumns& e = t.events;
    const std::string place =
        fmt::format(R"("pid":{},"tid":{},"ts":{})", t.rank.value(), e.thread[i], microseconds(e.begin[i]));
    if (e.kind[i] == EventKind::Step) {
      add(fmt::format(R"({{"ph":"i","s":"p","cat":"step","name":"step {}",{}}})", e.step_number(i), place));
      return;
    }
    // A call that had not returned is a begin without an end; Perfetto draws it to the end of the trace.
    const bool running = e.end[i] == kStillRunning;
    const std::string shape = running
                                  ? std::string(R"("ph":"B")")
                                  : fmt::format(R"("ph":"X","dur":{})", microseconds(e.end[i] - e.begin[i]));
    add(fmt::format("{{{},{},{}}}", shape, place, what(e, i, running)));
  }

  std::string what(const EventColumns& e, std::size_t i, bool running) const {
    const char* open = running ? R"(,"still_running":true)" : "";
    switch (e.kind[i]) {
      case EventKind::Collective: {
        return fmt::format(
            R"("cat":"collective","name":"{}","args":{{"bytes":{},"communicator":{},"sequence":{},"non_blocking":{}{}}})",
            model::name_of(e.collective(i)), e.bytes[i].count(), communicator(e.comm[i]), e.seq[i],
            (e.flags[i] & kNonBlocking) != 0, open);
      }
      case EventKind::Wait:
        return fmt::format(
            R"("cat":"wait","name":"{}","args":{{"operation":{},"communicator":{},"sequence":{}{}{}}})",
            wait_name(e.op[i]), e.op[i], communicator(e.comm[i]), e.seq[i], peer_of(e, i), open);
      case EventKind::PointToPoint:
        return fmt::format(R"("cat":"messages","name":"{}","args":{{"bytes":{},"messages":{},"peer":{}{}}})",
                           e.op[i] == static_cast<std::uint8_t>(PeerKind::Send) ? "sends" : "receives",
                           e.bytes[i].count(), e.seq[i],
                           e.aux[i] == kAnyPeer ? -1 : static_cast<std::int64_t>(e.aux[i]), open);
      case EventKind::Submit:
        return fmt::format(
            R"("cat":"submit","name":"submit {}","args":{{"communicator":{},"sequence":{}{}}})",
            model::name_of(e.collective(i)), communicator(e.comm[i]), e.seq[i], open);
      case EventKind::Phase:
        return fmt::format(R"("cat":"phase","name":"{}","args":{{"phase":{}{}{}}})", phase_name(e.op[i]),
                           e.op[i], (e.flags[i] & kNoSync) != 0 ? R"(,"no_sync":true)" : "", open);
      case EventKind::Pace:
        return fmt::format(
            R"("cat":"pace","name":"pace","args":{{"reason":{},"state":{},"mode":{},"delay_ns":{},"communicator":{},"iteration":{}{}}})",
            e.op[i], PaceFlags::state(e.flags[i]), PaceFlags::mode(e.flags[i]), e.bytes[i].count(),
            communicator(e.comm[i]), e.seq[i], open);
      case EventKind::Awaited:
        return fmt::format(R"("cat":"awaited","name":"awaited","args":{{"communicator":{},"peer":{}{}}})",
                           communicator(e.comm[i]), e.aux[i], open);
      case EventKind::Step:
      case EventKind::None:
        break;
    }
    return R"("cat":"other","name":"event")";
  }

  /// Of a wait for one, where it is known.
  static std::string peer_of(const EventColumns& e, std::size_t i) {
    const bool named = e.op[i] == static_cast<std::uint8_t>(WaitKind::Peer) && e.aux[i] != kAnyPeer;
    return named ? fmt::format(R"(,"peer":{})", e.aux[i]) : std::string{};
  }
  std::string communicator(CommId id) const {
    const Communicator* c = run_.find(id);
    return c == nullptr ? "null" : quoted(c->name);
  }

  const Run& run_;
  std::ostream& out_;
  std::string text_;
  bool first_ = true;
};

}  // namespace

Status export_perfetto(const Run& run, std::ostream& out) {
  return Exporter(run, out).write();
}

}  // namespace cox::trace

// SPDX-License-Identifier: Apache-2.0
#include "report/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <variant>
#include <vector>

#include "cox/base/number_text.hpp"
#include "cox/base/spelling.hpp"
#include "cox/base/units_text.hpp"

namespace cox::report {

std::string_view provenance_word(trace::Provenance p) {
  switch (p) {
    case trace::Provenance::Observed:
      return "measured";
    case trace::Provenance::Imported:
      return "measured (imported)";
    case trace::Provenance::Simulated:
      return "simulated";
  }
  return "measured";
}

std::string headline(const diagnose::Diagnosis& d) {
  if (!d.trouble.headline.empty()) return d.trouble.headline;
  if (d.answer.kind == diagnose::AnswerKind::JobFailed) return "The job failed";
  if (d.series == diagnose::SeriesState::Quiet) return "The steps are quiet";
  if (d.series == diagnose::SeriesState::Uneven) return "The steps are not all alike";
  if (d.series == diagnose::SeriesState::TooShort) return "Too few steps to say anything";
  if (d.findings.empty())
    return d.answer.kind == diagnose::AnswerKind::CannotTell ? "Cannot tell who sets the pace"
                                                             : "Nobody sets the pace";
  const diagnose::Finding& f = d.findings.front();
  if (f.kind == diagnose::FindingKind::RotatingStraggler) return "The pace-setter rotates";
  if (f.kind == diagnose::FindingKind::SlowLink) return "The fabric sets the pace";
  if (f.cause == diagnose::Cause::Communication) return "Communication sets the pace";
  if (f.kind == diagnose::FindingKind::PeriodicPause && f.rank)
    return fmt::format("Rank {} pauses", f.rank->value());
  const auto* of_messages = std::get_if<diagnose::MessageEvidence>(&f.evidence);
  if (of_messages != nullptr && of_messages->is_server && f.rank)
    return fmt::format("Rank {} sets the pace", f.rank->value());
  if (f.gain_at_most && !f.ranks.empty())
    return fmt::format("{} {} {} longest", f.ranks.size() == 1 ? "Rank" : "Ranks", rank_list(f.ranks, 4),
                       f.ranks.size() == 1 ? "works" : "work");
  if (f.rank) return fmt::format("Rank {} sets the pace", f.rank->value());
  if (f.ranks.size() == 1) return fmt::format("Rank {} sets the pace", f.ranks.front().value());
  if (f.ranks.empty()) return "A group sets the pace";
  return fmt::format("Ranks {} set the pace", rank_list(f.ranks, 4));
}

std::string lead(const diagnose::Diagnosis& d) {
  std::string text = d.lead;
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] & ~0x20);
  return text;
}

std::string cause_words(diagnose::Cause c) {
  std::string cause = diagnose::name_of(c);
  std::replace(cause.begin(), cause.end(), '_', ' ');
  return cause;
}

std::string_view kind_words(diagnose::FindingKind k) {
  switch (k) {
    case diagnose::FindingKind::SlowRank:
      return "slow rank";
    case diagnose::FindingKind::TransientStraggler:
      return "transient straggler";
    case diagnose::FindingKind::RotatingStraggler:
      return "rotating straggler";
    case diagnose::FindingKind::SlowGroup:
      return "slow group";
    case diagnose::FindingKind::SlowLink:
      return "slow part of the fabric";
    case diagnose::FindingKind::PeriodicPause:
      return "rank that pauses";
  }
  return "finding";
}

std::string price_words(const diagnose::Finding& f) {
  if (f.gain_at_most) return fmt::format("gain not told, at most {}", percent(*f.gain_at_most));
  if (!diagnose::is_gain_told(f)) return "gain not told: who is absent may have been later";
  const bool of_table = std::holds_alternative<diagnose::OperationEvidence>(f.evidence);
  return fmt::format("{} of {}; gain (estimated) {}", percent(f.share_ratio),
                     of_table ? "the slowdown" : "lost time", diagnose::gain_words(f));
}

std::string subject(const diagnose::Finding& f) {
  std::string text;
  if (f.rank) {
    text = fmt::format("rank {}", f.rank->value());
  } else if (!f.components.empty()) {
    text = diagnose::component_words(f);
  } else if (f.kind == diagnose::FindingKind::RotatingStraggler) {
    text = f.ranks.empty() ? "ranks in turn" : "in turn: ranks " + rank_list(f.ranks);
  } else if (f.ranks.size() == 1) {
    text = fmt::format("rank {}", f.ranks.front().value());
  } else if (!f.ranks.empty()) {
    text = "ranks " + rank_list(f.ranks);
  } else {
    text = "not told";
  }
  if (f.first_step && f.last_step) {
    text += f.first_step == f.last_step
                ? fmt::format(", step {}", f.first_step->value())
                : fmt::format(", steps {} to {}", f.first_step->value(), f.last_step->value());
  }
  if (!f.positions.empty()) {
    const diagnose::StepPosition& p = f.positions.front();
    text += fmt::format(", before {} {} of {}", hyphenated(p.operation), p.number, p.of);
    if (f.positions.size() > 1) text += fmt::format(" and {} more", f.positions.size() - 1);
  }
  return text;
}

std::string rank_list(std::span<const Rank> ranks, std::size_t limit) {
  std::vector<Rank> sorted(ranks.begin(), ranks.end());
  std::sort(sorted.begin(), sorted.end());
  std::string text;
  std::size_t parts = 0;
  std::size_t i = 0;
  while (i < sorted.size()) {
    if (parts == limit) {
      text += fmt::format(" and {} more", sorted.size() - i);
      break;
    }
    std::size_t j = i;
    while (j + 1 < sorted.size() && sorted[j + 1].value() - sorted[j].value() <= 1) ++j;
    if (parts > 0) text += ", ";
    text += j == i ? fmt::format("{}", sorted[i].value())
                   : fmt::format("{}-{}", sorted[i].value(), sorted[j].value());
    ++parts;
    i = j + 1;
  }
  return text;
}

std::vector<const diagnose::RankAccount*> by_charge(const diagnose::Diagnosis& d) {
  std::vector<const diagnose::RankAccount*> out;
  out.reserve(d.ranks.size());
  for (const diagnose::RankAccount& a : d.ranks) out.push_back(&a);
  std::stable_sort(out.begin(), out.end(),
                   [](const auto* a, const auto* b) { return a->charged > b->charged; });
  return out;
}

std::string_view step_source_words(diagnose::StepSource s) {
  switch (s) {
    case diagnose::StepSource::Marks:
      return "marked by the program";
    case diagnose::StepSource::Period:
      return "found from the repeating pattern of collectives";
    case diagnose::StepSource::EachSync:
      return "one per synchronisation: no larger pattern was found";
    case diagnose::StepSource::None:
      return "not found";
  }
  return "not found";
}

std::string coverage_line(const diagnose::Coverage& c) {
  const std::string operations =
      fmt::format("{} of {} operation{} seen on every member", grouped(c.collectives_matched),
                  grouped(c.collectives_seen), c.collectives_seen == 1 ? "" : "s");
  // Calls that belong to no operation that was matched are missed by the operations alone.
  const bool calls_tell = c.ratio < 1 && c.collectives_matched == c.collectives_seen;
  std::string text = fmt::format(
      "coverage {}: {}, {} of {} rank{}", percent(c.ratio),
      calls_tell ? fmt::format("{} of {} calls seen on every member",
                               grouped(std::min(c.calls_seen, c.calls_expected)), grouped(c.calls_expected))
                 : operations,
      grouped(c.ranks_seen), grouped(c.ranks_expected), c.ranks_expected == 1 ? "" : "s");
  if (!c.missing_ranks.empty()) text += ", missing " + rank_list(c.missing_ranks, 4);
  if (c.stopped_ranks > 0)
    text += fmt::format(", until recording ended early on {} rank{}", grouped(c.stopped_ranks),
                        c.stopped_ranks == 1 ? "" : "s");
  const auto add = [&](std::uint64_t n, std::string_view what) {
    if (n > 0) text += fmt::format(", {} {}", grouped(static_cast<std::int64_t>(n)), what);
  };
  add(static_cast<std::uint64_t>(c.mismatched), "operations on which members disagree");
  add(c.dropped_records, "records dropped");
  add(c.recycled_records, "records overwritten");
  add(static_cast<std::uint64_t>(c.unfinished_calls), "calls never returned");
  add(c.calls_only_counted(), "calls of kinds that are only counted");
  return text;
}

std::string locality_words(const diagnose::NodeLocality& n) {
  const auto count = [](int value, const char* one, const char* many) {
    return fmt::format("{} {}", value, value == 1 ? one : many);
  };
  std::string text;
  if (n.source == "hwloc")
    text = fmt::format("{}, {}, {}, {}; ", count(n.packages, "package", "packages"),
                       count(n.numa_nodes, "NUMA node", "NUMA nodes"), count(n.cores, "core", "cores"),
                       count(n.cpus, "CPU", "CPUs"));
  text += fmt::format("{}, {} bound", count(n.ranks, "rank", "ranks"), n.bound);
  if (n.sharing_cores > 0) text += fmt::format(", {} share cores with another bound one", n.sharing_cores);
  if (n.across_numa_nodes > 0) text += fmt::format(", {} across NUMA nodes", n.across_numa_nodes);
  if (!n.gpus.away.empty()) text += fmt::format(", {} away from all GPUs", n.gpus.away.size());
  if (!n.ports.away.empty()) text += fmt::format(", {} away from all network ports", n.ports.away.size());
  return text;
}

std::string host_clock_words(const diagnose::Coverage& c) {
  std::string text;
  if (c.hosts_by_collectives > 0)
    text = fmt::format(
        "{} put beside the first one's by their collectives, residual {}",
        c.hosts_by_collectives == 1 ? "1 host's clock" : grouped(c.hosts_by_collectives) + " hosts' clocks",
        to_string(c.host_residual));
  if (c.hosts_by_realtime > 0)
    text += fmt::format("{}{} by realtime alone", text.empty() ? "" : ", ",
                        c.hosts_by_realtime == 1 ? "1 host's" : grouped(c.hosts_by_realtime) + " hosts'");
  return text;
}

std::string clock_line(const diagnose::Diagnosis& d) {
  const diagnose::Coverage& c = d.coverage;
  std::string text = c.clock_domains == 1 ? "clocks: one for all ranks"
                                          : fmt::format("clocks: {}", grouped(c.clock_domains));
  if (c.clock_residual > Duration::zero())
    text += fmt::format(", which agree to {} once fitted (residual)", to_string(c.clock_residual));
  text += fmt::format("; waits told from {}", d.wait_method == diagnose::WaitMethod::Duration
                                                  ? "durations of the same call"
                                                  : "entry times");
  if (const std::string hosts = host_clock_words(d.coverage); !hosts.empty()) text += "; " + hosts;
  if (!c.clocks_comparable && c.wait_validity_ratio > 0) {
    text += fmt::format(" (ends spread {} as wide as begins; under 0.1 is good)",
                        fmt::format("{:.2f}", c.wait_validity_ratio));
  }
  return text;
}

}  // namespace cox::report

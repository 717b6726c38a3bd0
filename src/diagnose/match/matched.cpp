// SPDX-License-Identifier: Apache-2.0
#include "diagnose/match/matched.hpp"

#include <algorithm>
#include <numeric>

#include "cox/base/parallel.hpp"
#include "cox/base/release_memory.hpp"

#include "diagnose/match/exchanges.hpp"

namespace cox::diagnose {

Matched::Matched(const trace::Run& run, const MatchOptions& options)
    : run_(&run), comms_(run), scans_(run.ranks.size()) {
  std::int64_t stage = 0;
  const auto tell = [&] {
    if (options.progress) options.progress(++stage, kDiagnoseStages);
  };
  parallel_for(scans_.size(), options.threads,
               [&](std::size_t r) { scans_[r] = scan_rank(run.ranks[r], comms_); });
  number_waits(run, comms_, scans_);
  message_waits_ = MessageWaits(run, comms_);
  find_exchanges(run, message_waits_, scans_);
  tell();
  matching_ = match(run, comms_, scans_);
  tell();
  clocks_ = look_at_clocks(run, matching_);
  if (clocks_.comparable) message_waits_.tell_last();
  steps_ = find_steps(run, comms_, scans_, matching_);
  for (RankScan& scan : scans_) release_memory(scan.marks);  // what they say is in the steps
  skew_ = measure_skew(matching_, steps_, clocks_.comparable, options.threads);
  tell();
}

bool Matched::has_synchronisations() const {
  return std::any_of(scans_.begin(), scans_.end(), [](const RankScan& s) {
    return s.collectives > 0 || !s.waits.empty() || !s.exchanges.empty();
  });
}

StepTable Matched::by_step(InStep what, std::span<const std::int32_t> ranks, int threads) const {
  return sum_by_step(matching_, skew_, steps_.count, clocks_.comparable, what, ranks, threads);
}

StepTable Matched::by_step(InStep what, int threads) const {
  std::vector<std::int32_t> all(ranks());
  std::iota(all.begin(), all.end(), 0);
  return by_step(what, all, threads);
}

std::int32_t Matched::index_of(Rank rank) const {
  return cox::diagnose::index_of(*run_, rank);
}

std::int32_t Matched::rank_at(std::int32_t comm, std::uint32_t place) const {
  return cox::diagnose::rank_at(*run_, comm, place);
}

std::shared_ptr<const Matched> match_run(const trace::Run& run, const MatchOptions& options) {
  return std::make_shared<const Matched>(run, options);
}

}  // namespace cox::diagnose

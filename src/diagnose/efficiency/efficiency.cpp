// SPDX-License-Identifier: Apache-2.0
#include "diagnose/efficiency/efficiency.hpp"

#include <algorithm>
#include <cmath>

#include "diagnose/efficiency/ideal_network.hpp"
#include "diagnose/efficiency/measure.hpp"
#include "diagnose/efficiency/useful.hpp"

namespace cox::diagnose {
namespace {

double total_useful_s(const Efficiencies& e) {
  return in_seconds(e.useful_average) * static_cast<double>(e.ranks);
}

/// `size` against `reference`; `growth` is what the problem grew by.
SizeEfficiencies compare(const Efficiencies& reference, Efficiencies size, double growth) {
  SizeEfficiencies s;
  s.at = std::move(size);
  s.computation_scaling = total_useful_s(reference) / total_useful_s(s.at) * growth;
  s.global = s.at.parallel * s.computation_scaling;
  s.speed_up = ratio(reference.runtime, s.at.runtime) * growth;
  if (!reference.counters || !s.at.counters) return s;
  const UsefulCounters& from = *reference.counters;
  const UsefulCounters& to = *s.at.counters;
  s.instruction_scaling =
      static_cast<double>(from.instructions) / static_cast<double>(to.instructions) * growth;
  s.ipc_scaling = to.ipc / from.ipc;
  s.frequency_scaling = static_cast<double>(to.frequency_hz) / static_cast<double>(from.frequency_hz);
  return s;
}

}  // namespace

const char* name_of(UsefulSource s) {
  switch (s) {
    case UsefulSource::States:
      return "states";
    case UsefulSource::OutsideMpi:
      return "outside MPI";
    case UsefulSource::OwnWork:
      return "own work";
    case UsefulSource::ComputeKernels:
      return "compute kernels";
  }
  return "own work";
}

std::optional<Efficiencies> measure_efficiencies(const Matched& matched) {
  const auto useful = find_useful_time(matched);
  if (!useful) return std::nullopt;
  const Duration longest = *std::max_element(useful->useful.begin(), useful->useful.end());
  if (longest <= Duration::zero()) return std::nullopt;
  double mean = 0;  // in seconds: the sum over many ranks is beyond the range of a Duration
  for (const Duration u : useful->useful) mean += in_seconds(u) / static_cast<double>(useful->useful.size());

  Efficiencies e;
  e.source = useful->source;
  e.ranks = static_cast<std::int64_t>(matched.ranks());
  e.runtime = minus_clamped(useful->until, useful->from);
  e.useful_average = duration_from_seconds(mean);
  e.useful_maximum = longest;
  e.counters = useful->counters;
  e.load_balance = mean / in_seconds(longest);
  e.communication = ratio(longest, e.runtime);
  e.parallel = e.load_balance * e.communication;
  const auto ideal = replay_ideal_network(matched, *useful, e.no_ideal);
  if (!ideal) return e;
  if (ideal->runtime <= Duration::zero() || ideal->useful_maximum <= Duration::zero()) {
    e.no_ideal = "no time passes outside communication";
    return e;
  }
  e.ideal_runtime = ideal->runtime;
  e.ideal_useful_maximum = ideal->useful_maximum;
  e.serialisation = ratio(ideal->useful_maximum, ideal->runtime);
  e.transfer = e.communication / *e.serialisation;
  return e;
}

std::optional<ScalingEfficiencies> compare_sizes(std::vector<Efficiencies> sizes, ProblemSize problem) {
  const auto unusable = [](const Efficiencies& e) {
    return e.ranks <= 0 || e.runtime <= Duration::zero() || e.useful_average <= Duration::zero();
  };
  sizes.erase(std::remove_if(sizes.begin(), sizes.end(), unusable), sizes.end());
  if (sizes.size() < 2) return std::nullopt;
  std::stable_sort(sizes.begin(), sizes.end(),
                   [](const Efficiencies& a, const Efficiencies& b) { return a.ranks < b.ranks; });
  const Efficiencies reference = sizes.front();
  ScalingEfficiencies s;
  s.problem = problem;
  for (Efficiencies& size : sizes) {
    const double growth = problem == ProblemSize::Grows
                              ? static_cast<double>(size.ranks) / static_cast<double>(reference.ranks)
                              : 1.0;
    s.sizes.push_back(compare(reference, std::move(size), growth));
  }
  return s;
}

}  // namespace cox::diagnose

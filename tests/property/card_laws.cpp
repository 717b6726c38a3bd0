// SPDX-License-Identifier: Apache-2.0
// No collective is over before the busiest network card, or on one node the busiest port of a device, has carried what goes
// through it, whatever the engine and however many devices share a card; or the outcome says what it leaves out.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cox/model/schedule.hpp"
#include "cox/model/toml.hpp"
#include "cox/simulate/outcome.hpp"

#include "model/every_collective.hpp"

namespace cox::simulate {
namespace {

/// Most bytes, one way, through any card of any node: device i of d has card i n / d of n.
std::int64_t busiest_card(const model::Schedule& s, const model::Cluster& cluster) {
  const int devices = cluster.devices_per_node;
  const auto card = [&](int rank) {
    return static_cast<std::size_t>(rank / devices * cluster.nics_per_node +
                                    rank % devices * cluster.nics_per_node / devices);
  };
  const auto cards =
      static_cast<std::size_t>(cluster.nodes) * static_cast<std::size_t>(cluster.nics_per_node);
  std::vector<std::int64_t> out(cards);
  std::vector<std::int64_t> in(cards);
  std::vector<model::Transfer> list;
  for (int lane = 0; lane < s.lanes(); ++lane)
    for (std::int64_t k = 0; k < s.rounds(lane); ++k) {
      s.transfers(k, list, lane);
      for (const model::Transfer& t : list) {
        if (t.from / devices == t.to / devices) continue;
        out[card(t.from)] += t.bytes.count();
        in[card(t.to)] += t.bytes.count();
      }
    }
  return std::max(std::ranges::max(out), std::ranges::max(in));
}

RC_GTEST_PROP(CardLaws, NoEngineBeatsTheBusiestCard, ()) {
  const int devices = *rc::gen::inRange(2, 5);
  const int nodes = *rc::gen::inRange(2, 5);
  const int cards = *rc::gen::inRange(1, devices + 1);
  auto read = model::parse_scenario(
      "[cluster]\nnodes = " + std::to_string(nodes) + "\ndevices_per_node = " + std::to_string(devices) +
          "\nscale_up.bandwidth = \"100GB/s\"\nnic.bandwidth = \"1GB/s\"\n[job.collective]\nbytes = \"1MB\"\n",
      "generated.toml", "", {});
  RC_ASSERT(read.has_value());
  model::Scenario& s = read->scenario;
  s.cluster.nics_per_node = cards;
  s.engine = *rc::gen::element(model::EngineKind::Auto, model::EngineKind::MaxPlus, model::EngineKind::Flow);
  std::vector<model::CollectiveSpec> all = model::every_collective(nodes * devices, Bytes{1'000'000});
  std::erase_if(all, [&](const model::CollectiveSpec& spec) {
    const auto made = model::Schedule::make(spec);
    return !made || made->participants() > nodes * devices || made->rounds() == 0;
  });
  const model::CollectiveSpec spec = *rc::gen::elementOf(all);
  s.job.as<model::CollectiveJob>().collective = spec;
  const auto outcome = simulate(s, {});
  RC_PRE(outcome.has_value());  // else refused
  const double least = static_cast<double>(busiest_card(*model::Schedule::make(spec), s.cluster)) / 1e9;
  const bool told = std::ranges::any_of(outcome->not_modelled, [](const std::string& line) {
    return line.find("card") != std::string::npos || line.find("network interface") != std::string::npos;
  });
  if (outcome->total.count() < least * (1 - 1e-9) && (!told || outcome->engine == model::EngineKind::Flow))
    RC_FAIL(model::text_of(spec) + " on " + std::to_string(nodes) + " nodes of " + std::to_string(devices) +
            " devices and " + std::to_string(cards) + " cards by " +
            std::string(model::name_of(outcome->engine)) + ": " + std::to_string(outcome->total.count()) +
            " s, its busiest card alone " + std::to_string(least) + " s");
}

/// Most bytes, one way, through the port of any rank. Servers share the ports of ranks, or have their own: not asked.
std::int64_t busiest_port(const model::Schedule& s) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(s.participants()));
  std::vector<std::int64_t> in = out;
  model::for_each_round(s, [&](int, std::int64_t, const std::vector<model::Transfer>& list) {
    for (const model::Transfer& t : list) {
      if (t.from == t.to) continue;
      if (!s.is_switch(t.from)) out[static_cast<std::size_t>(t.from)] += t.bytes.count();
      if (!s.is_switch(t.to)) in[static_cast<std::size_t>(t.to)] += t.bytes.count();
    }
  });
  return std::max(std::ranges::max(out), std::ranges::max(in));
}

RC_GTEST_PROP(CardLaws, OnOneNodeNoEngineBeatsTheBusiestPort, ()) {
  const int devices = *rc::gen::inRange(2, 10);
  const auto way = *rc::gen::element<std::string>("scale_up", "pcie");
  auto read =
      model::parse_scenario("[cluster]\nnodes = 1\ndevices_per_node = " + std::to_string(devices) + "\n" +
                                way + ".bandwidth = \"1GB/s\"\n[job.collective]\nbytes = \"1MB\"\n",
                            "generated.toml", "", {});
  RC_ASSERT(read.has_value());
  model::Scenario& s = read->scenario;
  s.engine = *rc::gen::element(model::EngineKind::Auto, model::EngineKind::MaxPlus, model::EngineKind::Flow);
  s.protocol = *rc::gen::element(model::Protocol::Rendezvous, model::Protocol::Eager);
  std::vector<model::CollectiveSpec> all = model::every_collective(devices, Bytes{1'000'000});
  std::erase_if(all, [](const model::CollectiveSpec& spec) {
    return spec.algorithm == model::Algorithm::ParameterServer || !model::Schedule::make(spec);
  });
  const model::CollectiveSpec spec = *rc::gen::elementOf(all);
  s.job.as<model::CollectiveJob>().collective = spec;
  const auto outcome = simulate(s, {});
  RC_PRE(outcome.has_value());  // else refused
  const double least = static_cast<double>(busiest_port(*model::Schedule::make(spec))) / 1e9;
  const bool told = !outcome->not_modelled.empty() && outcome->engine != model::EngineKind::Flow;
  // Eager chunks that differ by a byte.
  if (outcome->total.count() < least * (1 - 1e-5) && !told)
    RC_FAIL(model::text_of(spec) + " by " + std::string(model::name_of(outcome->engine)) + ": " +
            std::to_string(outcome->total.count()) + " s, its busiest port alone " + std::to_string(least) +
            " s");
}

}  // namespace
}  // namespace cox::simulate

// SPDX-License-Identifier: Apache-2.0
// The flow engine beside SimGrid's fluid model (CM02, all correction factors 1, no cross traffic) on the same
// links, routes, ranks and schedules: within 2 %. Each case runs in a process of its own, as SimGrid has one
// engine per process. Usage: simgrid_oracle ACCURACY.MD [--write]: compares the table in that page with what
// comes out, or writes it.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <simgrid/s4u.hpp>
// In 3.32 it needs what the one above declares.
#include <simgrid/version.h>

#include "cox/base/file.hpp"
#include "cox/base/processes.h"

#include "oracle_cases.hpp"
#include "simulate/flow/rounds.hpp"
#include "simulate/flow/ways.hpp"

namespace {

using namespace cox;
namespace sg = simgrid::s4u;

constexpr double kWithin = 0.02;
constexpr bool kWroteThePage = SIMGRID_VERSION / 100 == 332;

// How a platform is described, before and since SimGrid 4.
using Route = std::vector<sg::LinkInRoute>;
#if SIMGRID_VERSION >= 40000
constexpr const char* kPrecisions[] = {"precision/work-amount:1e-9", "precision/timing:1e-13"};
sg::NetZone* add_zone(const sg::Engine& engine) {
  return engine.get_netzone_root()->add_netzone_full("zone");
}
sg::Host* add_host(sg::NetZone* zone, const std::string& name) {
  return zone->add_host(name, 1e9);
}
sg::Link* add_link(sg::NetZone* zone, const std::string& name, double bytes_per_s) {
  return zone->add_link(name, bytes_per_s);
}
void add_route(sg::NetZone* zone, const sg::Host* from, const sg::Host* to, const Route& route) {
  zone->add_route(from, to, route, false);
}
template <class Act>
void add_actor(sg::Engine& engine, const std::string& name, sg::Host* host, Act act) {
  engine.add_actor(name, host, act);
}
#else
constexpr const char* kPrecisions[] = {"maxmin/precision:1e-9", "surf/precision:1e-13"};
sg::NetZone* add_zone(const sg::Engine&) {
  return sg::create_full_zone("zone");
}
sg::Host* add_host(sg::NetZone* zone, const std::string& name) {
  return zone->create_host(name, 1e9);
}
sg::Link* add_link(sg::NetZone* zone, const std::string& name, double bytes_per_s) {
  return zone->create_link(name, bytes_per_s);
}
void add_route(sg::NetZone* zone, const sg::Host* from, const sg::Host* to, const Route& route) {
  zone->add_route(from->get_netpoint(), to->get_netpoint(), nullptr, nullptr, route, false);
}
template <class Act>
void add_actor(sg::Engine&, const std::string& name, sg::Host* host, Act act) {
  sg::Actor::create(name, host, act);
}
#endif

// What one rank of a part does in one lane, `name` tells them apart: a round's receives before the next round; sends
// go on beside, and are waited for where the schedule says so, and in the end.
void act(simulate::LaneRounds& rounds, const std::string& name, int place, double arrival, std::int64_t last,
         std::vector<sg::CommPtr>& all_sends) {
  sg::this_actor::sleep_until(arrival);
  static char payload = 0;
  for (std::int64_t k = 0; k < last; ++k) {
    const simulate::RoundTable& table = rounds.table(k);
    const auto box = [&](const model::Transfer& m) {
      return sg::Mailbox::by_name(fmt::format("{}.{}.{}.{}", name, k, m.from, m.to));
    };
    std::vector<sg::CommPtr> wanted;
    for (std::uint32_t i = table.sends_begin(place); i < table.sends_end(place); ++i) {
      const model::Transfer& m = table.messages[i];
      all_sends.push_back(box(m)->put_async(&payload, static_cast<std::uint64_t>(m.bytes.count())));
      if (table.waits_for_sends(place)) wanted.push_back(all_sends.back());
    }
    std::vector<char*> received(table.receives_of(place).size());
    std::size_t n = 0;
    for (const std::uint32_t i : table.receives_of(place))
      wanted.push_back(box(table.messages[i])->get_async<char>(&received[n++]));
    for (const sg::CommPtr& comm : wanted) comm->wait();
  }
}

// One part on the platform: its hosts, routes between them over the links of all, and what its ranks do.
void add_part(sg::Engine& engine, sg::NetZone* zone, const std::vector<sg::Link*>& links,
              const oracle::Case& c, const simulate::Network& network, std::size_t part,
              const model::Schedule& schedule, std::vector<std::unique_ptr<simulate::LaneRounds>>& lanes,
              std::vector<double>& ends) {
  const oracle::Part& wanted = c.parts[part];
  const auto places = static_cast<std::size_t>(schedule.participants());
  std::vector<sg::Host*> hosts;
  for (std::size_t p = 0; p < places; ++p)
    hosts.push_back(add_host(zone, fmt::format("part{}.place{}", part, p)));
  std::map<std::pair<int, int>, bool> known;
  std::vector<simulate::LinkIndex> way;
  for (int lane = 0; lane < schedule.lanes(); ++lane) {
    lanes.push_back(std::make_unique<simulate::LaneRounds>(schedule, lane));
    simulate::LaneRounds& rounds = *lanes.back();
    for (std::int64_t k = 0; k < rounds.rounds(); ++k)
      for (const model::Transfer& m : rounds.table(k).messages) {
        if (!known.emplace(std::pair{m.from, m.to}, true).second) continue;
        const auto from = static_cast<std::size_t>(m.from);
        const auto to = static_cast<std::size_t>(m.to);
        simulate::fixed_route(network, c.fabric, 1, wanted.rank_of[from], wanted.rank_of[to], way);
        Route route;
        for (const simulate::LinkIndex l : way) route.emplace_back(links[l]);
        add_route(zone, hosts[from], hosts[to], route);
      }
    for (std::size_t p = 0; p < places; ++p) {
      const double arrival = p < wanted.arrivals.size() ? wanted.arrivals[p].count() : 0;
      const std::int64_t last = c.rounds < 0 ? rounds.rounds() : std::min(c.rounds, rounds.rounds());
      add_actor(engine, fmt::format("actor{}.{}.{}", part, lane, p), hosts[p],
                [&rounds, &ends, &wanted, part, lane, p, arrival, last] {
                  const int place = static_cast<int>(p);
                  std::vector<sg::CommPtr> sends;
                  act(rounds, fmt::format("{}.{}", part, lane), place, arrival, last, sends);
                  for (std::size_t i = 0; i < wanted.again.size(); ++i)
                    act(rounds, fmt::format("{}.{}.again{}", part, lane, i), place,
                        wanted.again[i].at(p).count(), last, sends);
                  for (const sg::CommPtr& comm : sends) comm->wait();
                  ends[part] = std::max(ends[part], sg::Engine::get_clock());
                });
    }
  }
}

// When each part is over.
std::vector<double> by_simgrid(const oracle::Case& c, const simulate::Network& network,
                               const std::vector<model::Schedule>& schedules) {
  int argc = 1;
  std::string name = "simgrid_oracle";
  char* argv[] = {name.data(), nullptr};
  sg::Engine engine(&argc, argv);
  for (const char* setting :
       {"network/model:CM02", "network/weight-S:0", "network/TCP-gamma:0", "network/latency-factor:1",
        "network/bandwidth-factor:1", "network/crosstraffic:0", "contexts/stack-size:128",
        "contexts/guard-size:0", kPrecisions[0], kPrecisions[1]})
    sg::Engine::set_config(setting);
  sg::NetZone* zone = add_zone(engine);
  std::vector<sg::Link*> links;
  for (std::size_t l = 0; l < network.links().size(); ++l) {
    const simulate::NetworkLink& link = network.links()[l];
    links.push_back(add_link(zone, fmt::format("link{}", l), link.bandwidth.in_bytes_per_s()));
    links.back()->set_latency(link.latency.count())->seal();
  }
  std::vector<std::unique_ptr<simulate::LaneRounds>> lanes;
  std::vector<double> ends(c.parts.size());
  for (std::size_t part = 0; part < c.parts.size(); ++part)
    add_part(engine, zone, links, c, network, part, schedules[part], lanes, ends);
  zone->seal();
  engine.run();
  return ends;
}

// In a child, whose only output is the numbers.
std::vector<double> in_child(const oracle::Case& c, const simulate::Network& network,
                             const std::vector<model::Schedule>& schedules) {
  std::vector<double> seconds(c.parts.size(), NAN);
  const std::size_t size = seconds.size() * sizeof(double);
  int ends[2];
  if (pipe(ends) != 0) return seconds;
  const pid_t child = fork();
  if (child == 0) {
    const std::vector<double> all = by_simgrid(c, network, schedules);
    const bool written = write(ends[1], all.data(), size) == static_cast<ssize_t>(size);
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  const bool read_all = child > 0 && read(ends[0], seconds.data(), size) == static_cast<ssize_t>(size);
  close(ends[0]);
  int status = 0;
  if (child > 0) cox_wait_process(child, &status, 0);
  if (!read_all || status != 0) seconds.assign(seconds.size(), NAN);
  return seconds;
}

// Differences below 5e-6 are SimGrid's rounding of times to 1 ns.
std::string percent(double ratio) {
  const double difference = std::abs(ratio - 1) < 5e-6 ? 0 : 100 * (ratio - 1);
  return fmt::format("{:.3f}", difference);
}

struct Answers {
  std::string table;
  int cases = 0;
  int within = 0;  ///< by equal shares, not SimGrid's
  int wrong = 0;
  int sharing = 0;
};

// The furthest of all parts.
double worst_ratio(const std::vector<Seconds>& ours, const std::vector<double>& theirs) {
  double worst = 1;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const double ratio = ours[i].count() / theirs[i];
    if (!(std::abs(ratio - 1) <= std::abs(worst - 1))) worst = ratio;  // NaN stays
  }
  return worst;
}

std::string in_us(const std::vector<double>& seconds) {
  std::string all;
  for (const double s : seconds) all += fmt::format("{}{:.2f}", all.empty() ? "" : ", ", s * 1e6);
  return all;
}

void ask_both(const oracle::Case& c, Answers& answers) {
  ++answers.cases;
  const auto network = simulate::Network::make(c.cluster, c.fabric);
  std::vector<model::Schedule> schedules;
  std::string why = network ? "" : network.error().to_string();
  for (const oracle::Part& part : c.parts) {
    auto made = model::Schedule::make(part.spec);
    if (made)
      schedules.push_back(*std::move(made));
    else
      why = made.error().to_string();
  }
  if (!why.empty()) {
    std::fprintf(stderr, "%s: %s\n", c.name.c_str(), why.c_str());
    ++answers.wrong;
    return;
  }
  std::fflush(nullptr);
  std::vector<double> theirs = in_child(c, *network, schedules);
  if (c.step) theirs = {*std::max_element(theirs.begin(), theirs.end())};
  simulate::FlowOutcome outcome;
  const auto ours = oracle::by_flows(c, *network, schedules, simulate::Sharing::Equal, outcome);
  const auto weighted = oracle::by_flows(c, *network, schedules, simulate::Sharing::ByRoundTrip, outcome);
  const double equal_ratio = worst_ratio(ours, theirs);
  const double weighted_ratio = worst_ratio(weighted, theirs);
  const bool good = std::abs(weighted_ratio - 1) <= kWithin;  // false for NaN
  answers.wrong += good ? 0 : 1;
  answers.within += std::abs(equal_ratio - 1) <= kWithin ? 1 : 0;
  answers.sharing += c.shares ? 1 : 0;
  std::vector<double> seconds;
  seconds.reserve(ours.size());
  for (const Seconds s : ours) seconds.push_back(s.count());
  answers.table +=
      fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", c.name, c.shares ? "yes" : "no", outcome.messages,
                  in_us(seconds), in_us(theirs), percent(equal_ratio), percent(weighted_ratio));
  if (!good) std::fprintf(stderr, "%s: %.9g of SimGrid's time\n", c.name.c_str(), weighted_ratio);
}

constexpr std::string_view kHead =
    "| case | shares links | messages | ours (us) | SimGrid (us) | difference (%) | with its weights (%) "
    "|\n|---|---|---|---|---|---|---|\n";

Answers ask_both(const std::vector<oracle::Case>& cases) {
  Answers answers;
  answers.table = kHead;
  for (const oracle::Case& c : cases) ask_both(c, answers);
  return answers;
}

// Puts a table between its marks; whether there are any.
bool put(std::string& page, std::string_view name, const std::string& table) {
  const std::string begin = fmt::format("<!-- {}: written by tests/oracle -->\n", name);
  const std::string end = fmt::format("<!-- /{} -->\n", name);
  const std::size_t first = page.find(begin);
  const std::size_t last = page.find(end);
  if (first == std::string::npos || last == std::string::npos) return false;
  page.replace(first + begin.size(), last - first - begin.size(), table);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: simgrid_oracle ACCURACY.MD [--write]\n", stderr);
    return 2;
  }
  const Answers single = ask_both(oracle::all_cases());
  const Answers several = ask_both(oracle::concurrent_cases());
  std::fputs((single.table + several.table).c_str(), stdout);
  const auto page = read_file(argv[1], 1 << 20);
  if (!page) {
    std::fprintf(stderr, "%s\n", page.error().to_string().c_str());
    return 1;
  }
  std::string wanted = *page;
  if (!put(wanted, "simgrid", single.table) || !put(wanted, "simgrid-concurrent", several.table)) {
    std::fputs("no marks in the page\n", stderr);
    return 1;
  }
  if (argc > 2 && std::string_view(argv[2]) == "--write") {
    const auto written = write_file_atomically(argv[1], wanted, IfExists::Replace);
    if (!written) {
      std::fprintf(stderr, "%s\n", written.error().to_string().c_str());
      return 1;
    }
  } else if (kWroteThePage && wanted != *page) {
    std::fputs("docs/accuracy.md says something else: look at the difference, then --write\n", stderr);
    return 1;
  }
  const bool enough = single.sharing >= 6 && single.within >= 12 && several.cases >= 10;
  return enough && single.wrong == 0 && several.wrong == 0 ? 0 : 1;
}

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
#include <string>
#include <vector>

#include <simgrid/s4u.hpp>
// In 3.32 it needs what the one above declares.
#include <simgrid/version.h>

#include "cox/base/file.hpp"
#include "cox/base/processes.h"

#include "oracle_cases.hpp"
#include "simulate/flow/rounds.hpp"

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

// What one rank does in one lane: a round's receives before the next round; sends go on beside, and are
// waited for where the schedule says so, and in the end.
void act(simulate::LaneRounds& rounds, int lane, int place, double arrival, std::int64_t last) {
  sg::this_actor::sleep_until(arrival);
  static char payload = 0;
  std::vector<sg::CommPtr> all_sends;
  for (std::int64_t k = 0; k < last; ++k) {
    const simulate::RoundTable& table = rounds.table(k);
    const auto box = [&](const model::Transfer& m) {
      return sg::Mailbox::by_name(fmt::format("{}.{}.{}.{}", lane, k, m.from, m.to));
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
  for (const sg::CommPtr& comm : all_sends) comm->wait();
}

double by_simgrid(const oracle::Case& c, const simulate::Network& network, const model::Schedule& schedule) {
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
  const auto places = static_cast<std::size_t>(schedule.participants());
  std::vector<sg::Host*> hosts;
  for (std::size_t p = 0; p < places; ++p) hosts.push_back(add_host(zone, fmt::format("place{}", p)));
  std::vector<sg::Link*> links;
  for (std::size_t l = 0; l < network.links().size(); ++l) {
    const simulate::NetworkLink& link = network.links()[l];
    links.push_back(add_link(zone, fmt::format("link{}", l), link.bandwidth.in_bytes_per_s()));
    links.back()->set_latency(link.latency.count())->seal();
  }
  std::vector<std::unique_ptr<simulate::LaneRounds>> lanes;
  std::map<std::pair<int, int>, bool> known;
  std::vector<simulate::LinkIndex> way;
  for (int lane = 0; lane < schedule.lanes(); ++lane) {
    lanes.push_back(std::make_unique<simulate::LaneRounds>(schedule, lane));
    for (std::int64_t k = 0; k < lanes.back()->rounds(); ++k)
      for (const model::Transfer& m : lanes.back()->table(k).messages) {
        if (!known.emplace(std::pair{m.from, m.to}, true).second) continue;
        const auto from = static_cast<std::size_t>(m.from);
        const auto to = static_cast<std::size_t>(m.to);
        simulate::fixed_route(network, c.fabric, 1, c.rank_of[from], c.rank_of[to], way);
        Route route;
        for (const simulate::LinkIndex l : way) route.emplace_back(links[l]);
        add_route(zone, hosts[from], hosts[to], route);
      }
  }
  zone->seal();
  for (int lane = 0; lane < schedule.lanes(); ++lane)
    for (std::size_t p = 0; p < places; ++p) {
      const double arrival = p < c.arrivals.size() ? c.arrivals[p].count() : 0;
      simulate::LaneRounds& rounds = *lanes[static_cast<std::size_t>(lane)];
      const std::int64_t last = c.rounds < 0 ? rounds.rounds() : std::min(c.rounds, rounds.rounds());
      add_actor(engine, fmt::format("actor{}.{}", lane, p), hosts[p],
                [&rounds, lane, p, arrival, last] { act(rounds, lane, static_cast<int>(p), arrival, last); });
    }
  engine.run();
  return sg::Engine::get_clock();
}

// In a child, whose only output is the number.
double in_child(const oracle::Case& c, const simulate::Network& network, const model::Schedule& schedule) {
  int ends[2];
  if (pipe(ends) != 0) return NAN;
  const pid_t child = fork();
  if (child == 0) {
    const double seconds = by_simgrid(c, network, schedule);
    const bool written = write(ends[1], &seconds, sizeof seconds) == sizeof seconds;
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  double seconds = NAN;
  const bool read_all = child > 0 && read(ends[0], &seconds, sizeof seconds) == sizeof seconds;
  close(ends[0]);
  int status = 0;
  if (child > 0) cox_wait_process(child, &status, 0);
  return read_all && status == 0 ? seconds : NAN;
}

// Differences below 5e-6 are SimGrid's rounding of times to 1 ns.
std::string percent(double ratio) {
  const double difference = std::abs(ratio - 1) < 5e-6 ? 0 : 100 * (ratio - 1);
  return fmt::format("{:.3f}", difference);
}

struct Answers {
  std::string table;
  int within = 0;  ///< by equal shares, not SimGrid's
  int wrong = 0;
  int sharing = 0;
};

Answers ask_both() {
  Answers answers;
  answers.table =
      "| case | shares links | messages | ours (us) | SimGrid (us) | difference (%) | with its weights (%) "
      "|\n|---|---|---|---|---|---|---|\n";
  for (const oracle::Case& c : oracle::all_cases()) {
    const auto network = simulate::Network::make(c.cluster, c.fabric);
    const auto schedule = model::Schedule::make(c.spec);
    if (!network || !schedule) {
      const std::string why = network ? schedule.error().to_string() : network.error().to_string();
      std::fprintf(stderr, "%s: %s\n", c.name.c_str(), why.c_str());
      ++answers.wrong;
      continue;
    }
    simulate::FlowOutcome outcome;
    std::fflush(nullptr);
    const double theirs = in_child(c, *network, *schedule);
    const double ours = oracle::by_flows(c, *network, *schedule, simulate::Sharing::Equal, outcome).count();
    const double weighted =
        oracle::by_flows(c, *network, *schedule, simulate::Sharing::ByRoundTrip, outcome).count();
    const bool good = std::abs(weighted / theirs - 1) <= kWithin;  // false for NaN
    answers.wrong += good ? 0 : 1;
    answers.within += std::abs(ours / theirs - 1) <= kWithin ? 1 : 0;
    answers.sharing += c.shares ? 1 : 0;
    answers.table += fmt::format("| {} | {} | {} | {:.2f} | {:.2f} | {} | {} |\n", c.name,
                                 c.shares ? "yes" : "no", outcome.messages, ours * 1e6, theirs * 1e6,
                                 percent(ours / theirs), percent(weighted / theirs));
    if (!good) std::fprintf(stderr, "%s: %.9g s, SimGrid %.9g s\n", c.name.c_str(), weighted, theirs);
  }
  return answers;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fputs("usage: simgrid_oracle ACCURACY.MD [--write]\n", stderr), 2;
  const Answers answers = ask_both();
  std::fputs(answers.table.c_str(), stdout);
  auto page = read_file(argv[1], 1 << 20);
  if (!page) return std::fprintf(stderr, "%s\n", page.error().to_string().c_str()), 1;
  static constexpr std::string_view kBegin = "<!-- simgrid: written by tests/oracle -->\n";
  static constexpr std::string_view kEnd = "<!-- /simgrid -->\n";
  const std::size_t begin = page->find(kBegin);
  const std::size_t end = page->find(kEnd);
  if (begin == std::string::npos || end == std::string::npos)
    return std::fputs("no marks in the page\n", stderr), 1;
  const std::size_t first = begin + kBegin.size();
  if (argc > 2 && std::string_view(argv[2]) == "--write") {
    page->replace(first, end - first, answers.table);
    const auto written = write_file_atomically(argv[1], *page, IfExists::Replace);
    if (!written) return std::fprintf(stderr, "%s\n", written.error().to_string().c_str()), 1;
  } else if (kWroteThePage && page->substr(first, end - first) != answers.table) {
    return std::fputs("docs/accuracy.md says something else: look at the difference, then --write\n", stderr),
           1;
  }
  return answers.wrong == 0 && answers.sharing >= 6 && answers.within >= 12 ? 0 : 1;
}

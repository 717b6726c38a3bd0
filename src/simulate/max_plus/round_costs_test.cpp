// SPDX-License-Identifier: Apache-2.0
#include "simulate/max_plus/round_costs.hpp"

#include <gtest/gtest.h>

#include "model/every_collective.hpp"

namespace cox::simulate {
namespace {

using model::MessageCost;
using model::Protocol;
using model::RegularRound;

MessageCost alpha_beta(double latency, double per_byte) {
  return {.latency = Seconds{latency}, .per_byte = TimePerByte::seconds_per_byte(per_byte)};
}

/// Costs by node, and by receiver.
std::vector<LinkCosts> links_of(int ranks) {
  LinkCosts same{.inside = {}, .across = alpha_beta(1, 0.25)};
  LinkCosts nodes{.inside = alpha_beta(1, 0.25), .across = alpha_beta(3, 0.5), .ranks_per_node = 3};
  LinkCosts into = nodes;
  for (int r = 0; r < ranks; ++r) into.into.push_back(alpha_beta(1 + 0.5 * r, 0.25 + 0.125 * (r % 5)));
  return {same, nodes, into};
}

/// Of the message that place `at` of its group receives, as a sweep takes it.
double cost_in(const RoundView& view, const RegularRound& round, int rank) {
  const std::int64_t behind = round.place_of(rank) - view.large_first;
  const bool large = view.two_sizes && (behind + round.size) % round.size < view.large_count;
  return (large ? view.large : view.small).at(static_cast<std::size_t>(rank));
}

void expect_priced(const model::Schedule& s, const LinkCosts& links, Protocol protocol) {
  RoundCosts costs(links, protocol, s.ranks());
  for (int lane = 0; lane < s.lanes(); ++lane)
    for (std::int64_t k = 0; k < s.rounds(lane); ++k) {
      const auto round = s.regular(k, lane);
      if (!round) return;
      const RoundView view = costs.view(*round);
      for (int r = 0; r < s.ranks(); ++r) {
        const int from = round->from(r);
        const MessageCost& c = links.of(from, r);
        const Bytes bytes = round->bytes_from(from);
        const Seconds want = protocol == Protocol::EagerGap ? c.occupied(bytes) : c(bytes);
        ASSERT_EQ(cost_in(view, *round, r), want.count())
            << model::text_of(s.spec()) << " round " << k << " into rank " << r;
      }
    }
}

// Every round of every collective, with sizes that divide and that do not: each message costs what the link says for
// its bytes, to the last bit.
TEST(RoundCosts, EachMessageCostsWhatItsLinkSays) {
  for (const int ranks : {5, 12, 24})
    for (const std::int64_t bytes : {0, 7, 24 * 24, 24 * 25, 1000, 1007})
      for (const model::CollectiveSpec& spec : model::every_collective(ranks, Bytes{bytes})) {
        const auto s = model::Schedule::make(spec);
        ASSERT_TRUE(s.has_value()) << model::text_of(spec);
        for (const LinkCosts& links : links_of(ranks))
          for (const Protocol p : {Protocol::Rendezvous, Protocol::EagerGap}) expect_priced(*s, links, p);
        if (HasFatalFailure()) return;
      }
}

/// Costs that a run of all rounds works out.
std::int64_t priced(const model::CollectiveSpec& spec) {
  const auto s = model::Schedule::make(spec);
  LinkCosts links{.inside = alpha_beta(1, 0.25), .across = alpha_beta(3, 0.5), .ranks_per_node = 8};
  RoundCosts costs(links, Protocol::Rendezvous, s->ranks());
  for (std::int64_t k = 0; k < s->rounds(); ++k) (void)costs.view(*s->regular(k));
  return costs.priced();
}

// 50 MB over 224 nodes of eight do not divide, and 50 000 003 bytes not even among the eight: the ring between nodes
// has two sizes, and the two rings inside one or two. Each is priced once for each receiver, not in each of 446 rounds.
TEST(RoundCosts, AHierarchyIsPricedPerSizeNotPerRound) {
  model::CollectiveSpec spec{.algorithm = model::Algorithm::Hierarchical2, .ranks = 224 * 8, .group = 8};
  spec.bytes = Bytes{50'000'000};
  EXPECT_EQ(priced(spec), (1 + 2 + 1) * spec.ranks);
  spec.bytes = Bytes{50'000'003};
  EXPECT_EQ(priced(spec), (2 + 2 + 2) * spec.ranks);
  model::CollectiveSpec three{
      .algorithm = model::Algorithm::Hierarchical3, .ranks = 224 * 8, .group = 8, .group2 = 14};
  three.bytes = Bytes{50'000'003};
  EXPECT_EQ(priced(three), 5 * 2 * three.ranks);
}

}  // namespace
}  // namespace cox::simulate

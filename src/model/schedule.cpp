// SPDX-License-Identifier: Apache-2.0
#include "cox/model/schedule.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "cox/base/assert.hpp"

#include "model/phases.hpp"

namespace cox::model {
namespace {

// More than any machine; numbers stay far inside int, and the longest list of a round below 3 GiB.
constexpr int kMostRanks = 1 << 24;
constexpr int kMostChunks = 1 << 24;
constexpr int kMostChannels = 64;  // as NCCL's MAXCHANNELS
constexpr std::int64_t kMostMessages = std::int64_t{1} << 26;

std::int64_t modulo(std::int64_t a, std::int64_t n) {
  const std::int64_t m = a % n;
  return m < 0 ? m + n : m;
}

Error bad_spec(std::string message, std::string hint) {
  return {.code = Errc::InvalidInput,
          .id = "model-001",
          .message = std::move(message),
          .hint = std::move(hint),
          .where = std::nullopt};
}

Status check_range(std::string_view what, std::int64_t got, std::int64_t least, std::int64_t most) {
  if (got >= least && got <= most) return {};
  return fail(bad_spec("a collective has " + std::to_string(got) + " " + std::string(what) + ", expected " +
                           std::to_string(least) + " to " + std::to_string(most),
                       "Correct the number."));
}

bool can_do(Collective kind, Algorithm a) {
  const auto all = entries();
  return std::any_of(all.begin(), all.end(),
                     [&](const Entry& e) { return e.kind == kind && e.algorithm == a; });
}

Status check_groups(const CollectiveSpec& s) {
  const bool three = s.algorithm == Algorithm::Hierarchical3;
  const bool striped = s.algorithm == Algorithm::Ring && s.channels > 1;
  if (!three && !striped && s.algorithm != Algorithm::Hierarchical2 && s.algorithm != Algorithm::TwoLevel)
    return {};
  const std::int64_t group = std::int64_t{s.group} * (three ? s.group2 : 1);
  if (s.ranks % group == 0) return {};
  return fail(bad_spec(
      "groups of " + std::to_string(group) + " ranks do not divide " + std::to_string(s.ranks) + " ranks",
      "Choose a group size that divides the number of ranks, or a flat algorithm."));
}

Status check_servers(const CollectiveSpec& s) {
  const std::int64_t messages = std::int64_t{s.ranks} * s.servers;
  if (s.algorithm != Algorithm::ParameterServer || messages <= kMostMessages) return {};
  return fail(bad_spec(std::to_string(s.ranks) + " workers of " + std::to_string(s.servers) +
                           " servers send " + std::to_string(messages) + " messages in a round, at most " +
                           std::to_string(kMostMessages) + " are simulated",
                       "Use fewer servers."));
}

// Chunks [first, first + span) of `chunks` that a part is cut into.
RegularRound::Part inside(RegularRound::Part p, std::int64_t chunks, std::int64_t first,
                          std::int64_t span = 1) {
  const Bytes begin = chunks_before(p.bytes, chunks, first);
  return {p.offset + begin, chunks_before(p.bytes, chunks, first + span) - begin};
}

}  // namespace

int PlaceOrder::rank_at(int place) const {
  const int number = place / node;
  const int inside = number % 2 == 0 ? place % node : node - 1 - place % node;
  return number * node + (inside + turn) % node;
}

int PlaceOrder::place_of(int rank) const {
  const int number = rank / node;
  const int inside = (rank % node + node - turn) % node;
  return number * node + (number % 2 == 0 ? inside : node - 1 - inside);
}

int RegularRound::to(int rank) const {
  const int place = place_of(rank);
  const int peer = pattern == Pattern::Xor ? place ^ by
                   : place >= size - by    ? place - (size - by)
                                           : place + by;
  return rank + (peer - place) * stride;
}

int RegularRound::from(int rank) const {
  const int place = place_of(rank);
  const int peer = pattern == Pattern::Xor ? place ^ by : place >= by ? place - by : place + (size - by);
  return rank + (peer - place) * stride;
}

RegularRound::Part RegularRound::part_from(int rank) const {
  Part part{Bytes{0}, total};
  for (const Cut& c : outer)
    if (c.chunks > 1) part = inside(part, c.chunks, modulo(rank / c.stride % c.size + c.phase, c.chunks));
  if (chunks > 1) {
    const std::int64_t at = modulo(std::int64_t{place_of(rank) ^ flip} * sign + phase, chunks);
    part = inside(part, chunks, at - at % span, span);
  }
  part.bytes = part.bytes * copies;
  return part;
}

bool RegularRound::uniform() const {
  std::int64_t pieces = chunks;
  Bytes left = total;
  for (const Cut& c : outer) {
    // A fixed piece (size 1) is the same for all.
    if (c.size == 1)
      left = inside({Bytes{0}, left}, c.chunks, modulo(c.phase, c.chunks)).bytes;
    else
      pieces *= c.chunks;
  }
  return left.count() % pieces == 0;
}

struct Schedule::Plan {
  struct Lane {
    Phases phases;
    std::int64_t rounds = 0;
    PlaceOrder order;
  };
  std::vector<Lane> lanes;
  [[nodiscard]] const Lane& lane(int i) const { return lanes.at(static_cast<std::size_t>(i)); }
};

Result<Schedule> Schedule::make(const CollectiveSpec& spec) {
  if (!can_do(spec.kind, spec.algorithm))
    return fail(bad_spec(
        "`" + std::string(name_of(spec.algorithm)) + "` does not do " + std::string(name_of(spec.kind)),
        "docs/reference/collectives.md lists what does."));
  const auto checks = {check_range("ranks", spec.ranks, 1, kMostRanks),
                       check_range("bytes", spec.bytes.count(), 0, std::int64_t{1} << 60),
                       check_range("ranks in a group", spec.group, 1, kMostRanks),
                       check_range("groups in a group", spec.group2, 1, kMostRanks),
                       check_range("servers", spec.servers, 1, kMostRanks),
                       check_range("chunks", spec.chunks, 1, kMostChunks),
                       check_range("channels", spec.channels, 1, kMostChannels),
                       check_range("as its root", spec.root, 0, std::max(spec.ranks, 1) - 1)};
  for (const Status& s : checks)
    if (!s) return fail(s.error());
  if (const Status s = check_groups(spec); !s) return fail(s.error());
  if (const Status s = check_servers(spec); !s) return fail(s.error());
  auto plan = std::make_shared<Plan>();
  for (int i = 0; i < lanes_of(spec); ++i) {
    Plan::Lane lane{.phases = phases_of(spec, i), .order = order_of(spec, i)};
    for (int p = 0; p < lane.phases.count; ++p)
      lane.rounds += lane.phases.of.at(static_cast<std::size_t>(p)).rounds;
    plan->lanes.push_back(lane);
  }
  return Schedule{spec, std::move(plan)};
}

int Schedule::participants() const {
  if (spec_.algorithm == Algorithm::ParameterServer) return spec_.ranks + spec_.servers;
  return spec_.ranks + switches_of(spec_);
}

bool Schedule::is_switch(int participant) const {
  return spec_.algorithm == Algorithm::InNetwork && participant >= spec_.ranks;
}

int Schedule::lanes() const {
  return static_cast<int>(plan_->lanes.size());
}

std::int64_t Schedule::rounds(int lane) const {
  return plan_->lane(lane).rounds;
}

PlaceOrder Schedule::order(int lane) const {
  return plan_->lane(lane).order;
}

namespace {

// The phase that round k belongs to; k becomes the round's number in it.
const Phase& phase_at(const Phases& phases, std::int64_t& k) {
  COX_ASSERT(k >= 0, "rounds are numbered from 0");
  int i = 0;
  for (; i < phases.count && k >= phases.of.at(static_cast<std::size_t>(i)).rounds; ++i)
    k -= phases.of.at(static_cast<std::size_t>(i)).rounds;
  COX_ASSERT(i < phases.count, "a round behind the last one was asked for");
  return phases.of.at(static_cast<std::size_t>(i));
}

}  // namespace

std::optional<RegularRound> Schedule::regular(std::int64_t k, int lane) const {
  const Phase& phase = phase_at(plan_->lane(lane).phases, k);
  return regular_round(spec_, phase, k);
}

void Schedule::transfers(std::int64_t k, std::vector<Transfer>& out, int lane) const {
  out.clear();
  const Phase& phase = phase_at(plan_->lane(lane).phases, k);
  const auto round = regular_round(spec_, phase, k);
  if (!round) {
    list_round(spec_, phase, k, out);
    return;
  }
  out.reserve(static_cast<std::size_t>(spec_.ranks));
  const PlaceOrder& order = plan_->lane(lane).order;
  for (int r = 0; r < spec_.ranks; ++r) {
    const int place = order.place_of(r);
    const auto part = round->part_from(place);
    out.push_back({r, order.rank_at(round->to(place)), part.bytes, part.offset, round->combine});
  }
}

std::vector<Bytes> bytes_sent(const Schedule& schedule) {
  std::vector<Bytes> sent(static_cast<std::size_t>(schedule.participants()));
  std::vector<Transfer> list;
  for (int lane = 0; lane < schedule.lanes(); ++lane)
    for (std::int64_t k = 0; k < schedule.rounds(lane); ++k) {
      schedule.transfers(k, list, lane);
      for (const Transfer& t : list) sent[static_cast<std::size_t>(t.from)] += t.bytes;
    }
  return sent;
}

}  // namespace cox::model

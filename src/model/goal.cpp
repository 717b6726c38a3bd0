// SPDX-License-Identifier: Apache-2.0
#include "model/goal.hpp"

#include <ostream>

namespace cox::model {
namespace {

// One message as its rank sees it.
struct Step {
  std::int64_t round = 0;
  bool sends = false;
  int peer = 0;
  Bytes bytes{};
};

// Writes one rank's lane round by round; labels go on over lanes.
class RankWriter {
 public:
  RankWriter(std::ostream& out, std::int64_t& label) : out_(out), label_(label) {}

  void begin_lane(int lane) {
    lane_ = lane;
    gate_.clear();
  }
  // Steps of one round: sends and receives are two chains, each in the order of the list.
  void round(const Step* first, const Step* last) {
    std::vector<std::int64_t> sends;
    std::vector<std::int64_t> receives;
    for (const Step* s = first; s != last; ++s) {
      auto& chain = s->sends ? sends : receives;
      const std::int64_t label = ++label_;
      out_ << 'l' << label << (s->sends ? ": send " : ": recv ") << s->bytes.count() << 'b'
           << (s->sends ? " to " : " from ") << s->peer << " tag " << lane_ << '\n';
      for (const std::int64_t before : gate_) out_ << 'l' << label << " requires l" << before << '\n';
      if (!chain.empty()) out_ << 'l' << label << " requires l" << chain.back() << '\n';
      chain.push_back(label);
    }
    gate_.clear();
    const bool receive_is_enough = receives.size() == 1 && sends.size() <= 1;
    // The last of a chain stands for all of it.
    if (!receives.empty()) gate_.push_back(receives.back());
    if (!sends.empty() && !receive_is_enough) gate_.push_back(sends.back());
  }

 private:
  std::ostream& out_;
  std::int64_t& label_;
  int lane_ = 0;
  std::vector<std::int64_t> gate_;
};

void write_regular(const Schedule& s, int rank, int lane, RankWriter& writer) {
  writer.begin_lane(lane);
  const PlaceOrder order = s.order(lane);
  const int place = order.place_of(rank);
  for (std::int64_t k = 0; k < s.rounds(lane); ++k) {
    const auto r = *s.regular(k, lane);
    const std::array<Step, 2> steps = {
        Step{k, true, order.rank_at(r.to(place)), r.bytes_from(place)},
        Step{k, false, order.rank_at(r.from(place)), r.bytes_from(r.from(place))}};
    writer.round(steps.data(), steps.data() + steps.size());
  }
}

void write_steps(const std::vector<Step>& steps, int lane, RankWriter& writer) {
  writer.begin_lane(lane);
  for (std::size_t i = 0; i < steps.size();) {
    std::size_t end = i;
    while (end < steps.size() && steps[end].round == steps[i].round) ++end;
    writer.round(steps.data() + i, steps.data() + end);
    i = end;
  }
}

// Steps of each participant, for one lane.
std::vector<std::vector<Step>> steps_of(const Schedule& s, int lane) {
  std::vector<std::vector<Step>> steps(static_cast<std::size_t>(s.participants()));
  std::vector<Transfer> list;
  for (std::int64_t k = 0; k < s.rounds(lane); ++k) {
    s.transfers(k, list, lane);
    for (const Transfer& t : list) {
      steps[static_cast<std::size_t>(t.from)].push_back({k, true, t.to, t.bytes});
      steps[static_cast<std::size_t>(t.to)].push_back({k, false, t.from, t.bytes});
    }
  }
  return steps;
}

}  // namespace

void write_goal(const Schedule& s, std::ostream& out) {
  const bool regular = s.rounds() > 0 && s.regular(0);
  std::vector<std::vector<std::vector<Step>>> lists;
  for (int lane = 0; !regular && lane < s.lanes(); ++lane) lists.push_back(steps_of(s, lane));
  out << "num_ranks " << s.participants() << '\n';
  for (int p = 0; p < s.participants(); ++p) {
    out << "rank " << p << " {\n";
    std::int64_t label = 0;
    RankWriter writer(out, label);
    for (int lane = 0; lane < s.lanes(); ++lane) {
      if (regular)
        write_regular(s, p, lane, writer);
      else
        write_steps(lists[static_cast<std::size_t>(lane)][static_cast<std::size_t>(p)], lane, writer);
    }
    out << "}\n";
  }
}

}  // namespace cox::model

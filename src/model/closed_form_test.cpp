// SPDX-License-Identifier: Apache-2.0
#include "cox/model/closed_form.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "model/every_collective.hpp"

namespace cox::model {
namespace {

using C = Collective;
using A = Algorithm;
using namespace literals;

// The definition of time in schedule.hpp, word by word, over `transfers`.
class Interpreter {
 public:
  Interpreter(const Schedule& schedule, const MessageCost& cost) : schedule_(schedule), cost_(cost) {}

  double time() {
    double last = 0;
    for (int lane = 0; lane < schedule_.lanes(); ++lane) {
      ready_.assign(static_cast<std::size_t>(schedule_.participants()), 0);
      for (std::int64_t k = 0; k < schedule_.rounds(lane); ++k) {
        schedule_.transfers(k, list_, lane);
        round();
      }
      for (int r = 0; r < schedule_.ranks(); ++r) last = std::max(last, ready_[static_cast<std::size_t>(r)]);
    }
    return last;
  }

 private:
  struct Port {
    int sends = 0;
    int receives = 0;
    double out = 0;
    double in = 0;
    double received = 0;
    double complete = 0;
  };
  void round() {
    ports_.assign(ready_.size(), Port{});
    const double latency = cost_.latency.count();
    for (const Transfer& t : list_) {
      const auto from = static_cast<std::size_t>(t.from);
      const auto to = static_cast<std::size_t>(t.to);
      Port& out = ports_[from];
      Port& in = ports_[to];
      const double occupied = cost_.occupied(t.bytes).count();
      double start = std::max(ready_[from], ready_[to]);
      if (!schedule_.is_switch(t.from)) start = std::max(start, out.out);
      double complete = start + latency;
      if (!schedule_.is_switch(t.to)) complete = std::max(complete, in.in);
      complete += occupied;
      out.out = start + occupied;
      in.in = complete;
      in.received = std::max(in.received, complete);
      out.complete = std::max(out.complete, complete);
      in.complete = std::max(in.complete, complete);
      ++out.sends;
      ++in.receives;
    }
    for (std::size_t p = 0; p < ready_.size(); ++p) {
      const Port& port = ports_[p];
      if (port.sends + port.receives == 0) continue;
      ready_[p] = port.receives == 1 && port.sends <= 1 ? port.received : port.complete;
    }
  }

  const Schedule& schedule_;
  const MessageCost& cost_;
  std::vector<double> ready_;
  std::vector<Port> ports_;
  std::vector<Transfer> list_;
};

const MessageCost kAlphaBeta{.latency = 1us, .per_byte = Bandwidth::gbyte_per_s(50).time_per_byte()};
const MessageCost kLogGops{
    .form = CostForm::LogGops, .latency = 1us, .per_byte = Bandwidth::gbyte_per_s(0.7).time_per_byte()};

TEST(ClosedForm, IsTheLongestPathThroughTheRounds) {
  std::map<std::string, int> missing;
  for (int ranks = 1; ranks <= 70; ++ranks)
    for (const std::int64_t bytes : {0, 1, 7, 4096, 1'000'003})
      for (const auto& spec : every_collective(ranks, Bytes{bytes}))
        for (const auto& cost : {kAlphaBeta, kLogGops}) {
          const auto got = closed_form(spec, cost);
          if (!got) {
            ++missing[std::string(name_of(spec.kind)) + " " + std::string(name_of(spec.algorithm))];
            continue;
          }
          const auto schedule = Schedule::make(spec);
          ASSERT_TRUE(schedule);
          const double want = Interpreter(*schedule, cost).time();
          EXPECT_NEAR(got->count(), want, 1e-9 * want) << text_of(spec) << " " << name_of(cost.form);
        }
  for (const auto& [name, n] : missing) RecordProperty(name, n);
}

}  // namespace
}  // namespace cox::model

// SPDX-License-Identifier: Apache-2.0
// Which printed numbers depend on inputs that the source does not state: found by changing each, not by what the study says.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cox/study/computation.hpp"

#include "evaluate/quick_study_for_tests.hpp"

namespace cox::evaluate {
namespace {

using namespace study;

const ComputationTable& table() {
  static const ComputationTable own = [] {
    ComputationTable t;
    t.add(engine_computations());
    return t;
  }();
  return own;
}

std::vector<Study> studies_of_this_room() {
  auto read = read_studies(COX_STUDIES);
  EXPECT_TRUE(read) << read.error().to_string();
  if (!read) return {};
  std::erase_if(*read, [](const Study& s) { return table().find(s.compute) == nullptr; });
  return *read;
}

using Values = std::map<std::string, Computed>;

std::optional<Values> values_of(const Study& s) {
  const NamedComputation* found = table().find(s.compute);
  const auto computed = found->compute(Inputs(s), {.threads = 2});
  if (!computed) return {};
  Values out;
  for (const Computed& c : computed->values) out.emplace(c.name, c);
  return out;
}

Study quick(Study s) {
  for (const auto* less : {&sampling(), &smaller()})
    for (StudyInput& in : s.inputs)
      if (const auto at = less->find(in.name); at != less->end() && !in.is_list)
        in.values.front().value = Quantity::count(at->second);
  return s;
}

/// The same study with another value of one input. Of a list the texts change
/// too: a value that carries one in its name is another one then.
Study with_input(const Study& s, std::size_t which, double factor) {
  constexpr double kInsteadOfZero = 1e-4;
  Study out = s;
  for (WrittenQuantity& w : out.inputs[which].values) {
    double value = w.value.in_base_unit() == 0 ? kInsteadOfZero : w.value.in_base_unit() * factor;
    if (w.value.dimension() == Dimension::Count) value = std::max(1.0, std::round(value));
    if (out.inputs[which].is_list) w.text = times(w, factor);
    w.value = Quantity(w.value.dimension(), value);
  }
  return out;
}

bool moved(const Computed& a, const Computed& b) {
  const double half = (a.half_width_95 ? a.half_width_95->in_base_unit() : 0) +
                      (b.half_width_95 ? b.half_width_95->in_base_unit() : 0);
  const double x = a.value.in_base_unit();
  const double y = b.value.in_base_unit();
  return std::abs(x - y) > half + 1e-9 * std::max(std::abs(x), std::abs(y));
}

/// Of a quantity: the missing inputs that move it, and those with which nothing has its name any more (of a sweep).
struct Movers {
  std::set<std::string> move;
  std::set<std::string> rename;
  bool is_drawn = false;
};

/// For each quantity of `wanted`.
std::map<std::string, Movers> movers(const Study& s, const std::set<std::string>& wanted) {
  std::map<std::string, Movers> out;
  const auto before = values_of(s);
  EXPECT_TRUE(before) << s.name;
  if (!before) return out;
  for (std::size_t i = 0; i < s.inputs.size(); ++i) {
    const StudyInput& in = s.inputs[i];
    if (in.origin != InputOrigin::Missing || sampling().contains(in.name)) continue;
    auto after = values_of(with_input(s, i, 2));
    if (!after) after = values_of(with_input(s, i, 0.5));  // 200 % is no share, 512 workers make no nodes
    EXPECT_TRUE(after) << s.name << ": no other value of '" << in.name << "' can be computed";
    if (!after) continue;
    for (const std::string& q : wanted) {
      const auto now = after->find(q);
      out[q].is_drawn = before->at(q).half_width_95.has_value();
      if (now == after->end()) {
        out[q].rename.insert(in.name);
      } else if (moved(before->at(q), now->second)) {
        out[q].move.insert(in.name);
      }
    }
  }
  return out;
}

std::string listed(const std::set<std::string>& names) {
  std::string out;
  for (const std::string& n : names) out += " '" + n + "'";
  return out;
}

void expect_said(const Study& s) {
  std::set<std::string> wanted;
  for (const Printed& p : s.printed) {
    if (!p.quantity.empty()) wanted.insert(p.quantity);
    if (!p.at_least.empty()) wanted.insert(p.at_least);
  }
  auto found = movers(s, wanted);
  for (const Printed& p : s.printed) {
    EXPECT_TRUE(p.at_least.empty() || found[p.at_least].move.empty())
        << s.name << ": the bound " << p.at_least << " depends on" << listed(found[p.at_least].move);
    if (p.quantity.empty() || p.declared == Declared::Fitted || p.declared == Declared::TypedIn) continue;
    const Movers& m = found[p.quantity];
    const std::set<std::string> said(p.missing.begin(), p.missing.end());
    EXPECT_TRUE(std::includes(said.begin(), said.end(), m.move.begin(), m.move.end()))
        << s.name << ": " << p.name << " (" << p.quantity << ") depends on" << listed(m.move) << ", and says"
        << listed(said);
    // A count and a mean over draws may stay where they are, but not with all of them.
    std::set<std::string> known = m.move;
    known.insert(m.rename.begin(), m.rename.end());
    const bool may_stay = (p.value.value.dimension() == Dimension::Count || m.is_drawn) && !known.empty();
    EXPECT_TRUE(may_stay || std::includes(known.begin(), known.end(), said.begin(), said.end()))
        << s.name << ": " << p.name << " (" << p.quantity << ") says" << listed(said) << ", and depends on"
        << listed(known);
  }
}

std::vector<std::string> names_of_studies() {
  std::vector<std::string> names;
  for (const Study& s : studies_of_this_room()) names.push_back(s.name);
  return names;
}

class MissingInputs : public testing::TestWithParam<std::string> {};

TEST_P(MissingInputs, APrintedNumberSaysOnWhichItDepends) {
  for (const Study& s : studies_of_this_room())
    if (s.name == GetParam()) expect_said(quick(s));
}

INSTANTIATE_TEST_SUITE_P(Of, MissingInputs, testing::ValuesIn(names_of_studies()), [](const auto& study) {
  std::string name = study.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace cox::evaluate

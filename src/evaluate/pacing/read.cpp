// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <utility>

#include "cox/base/hash.hpp"
#include "cox/base/spelling.hpp"
#include "cox/base/toml_library.hpp"
#include "cox/base/units_text.hpp"
#include "cox/pace/settings.hpp"

#include "evaluate/pacing/plan.hpp"

namespace cox::evaluate {
namespace {

constexpr std::size_t kMostText = 1'000'000;
constexpr std::size_t kMostArms = 32;
constexpr std::size_t kMostConditions = 64;
constexpr std::size_t kMostLetters = 4000;
constexpr int kMostRanks = 128;

tl::unexpected<Error> refuse(const std::string& file, std::int64_t line, std::string message,
                             std::string hint) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "study-002",
                    .message = std::move(message),
                    .hint = std::move(hint),
                    .where = Where{.file = file, .line = line}});
}

std::int64_t line_of(const toml::node& node) {
  return static_cast<std::int64_t>(node.source().begin.line);
}

/// A table whose keys are taken one by one; what is left in the end is not known.
/// Remembers its first problem.
class Keys {
 public:
  Keys(const toml::table& table, const std::string& file, std::string_view what)
      : table_(table), file_(file), what_(what) {}

  void whole(std::string_view key, auto& out, std::int64_t low, std::int64_t high) {
    if (const toml::node* node = take(key)) {
      const auto v = node->value_exact<std::int64_t>();
      if (!v || *v < low || *v > high)
        return wrong(*node, key, fmt::format("a whole number from {} to {}", low, high));
      out = static_cast<std::remove_reference_t<decltype(out)>>(*v);
    }
  }
  void real(std::string_view key, double& out, double low, double high) {
    if (const toml::node* node = take(key)) {
      const auto v = node->value<double>();
      if (!v || !(*v >= low && *v <= high))
        return wrong(*node, key, fmt::format("a number from {} to {}", low, high));
      out = *v;
    }
  }
  void flag(std::string_view key, bool& out) {
    if (const toml::node* node = take(key)) {
      const auto v = node->value_exact<bool>();
      if (!v) return wrong(*node, key, "true or false");
      out = *v;
    }
  }
  void text(std::string_view key, std::string& out) {
    if (const toml::node* node = take(key)) {
      const auto v = node->value_exact<std::string>();
      const auto is_plain = [](char c) {
        return static_cast<unsigned char>(c) >= ' ' && c != 0x7f && c != '|';
      };
      if (!v || v->empty() || v->size() > kMostLetters || !std::all_of(v->begin(), v->end(), is_plain))
        return wrong(*node, key, "one line of plain text");
      out = *v;
    }
  }
  void seconds(std::string_view key, Seconds& out, Seconds low, Seconds high) {
    if (const toml::node* node = take(key)) {
      const auto v = node->value_exact<std::string>();
      const auto read = v ? parse_seconds(*v) : Result<Seconds>(tl::unexpect, Error{});
      if (!read || *read < low || *read > high)
        return wrong(*node, key,
                     fmt::format("a time from {} to {}", cox::to_string(low), cox::to_string(high)));
      out = *read;
    }
  }
  void size(std::string_view key, Bytes& out) {
    if (const toml::node* node = take(key)) {
      constexpr std::int64_t kMost = std::int64_t{1} << 30;
      const auto v = node->value_exact<std::string>();
      const auto read = v ? parse_bytes(*v) : Result<Bytes>(tl::unexpect, Error{});
      if (!read || read->count() < 0 || read->count() > kMost)
        return wrong(*node, key, "a size of at most 1 GiB");
      out = *read;
    }
  }
  void rate(std::string_view key, Bandwidth& out) {
    if (const toml::node* node = take(key)) {
      const auto v = node->value_exact<std::string>();
      const auto read = v ? parse_bandwidth(*v) : Result<Bandwidth>(tl::unexpect, Error{});
      if (!read || read->in_bytes_per_s() < 1000) return wrong(*node, key, "a rate such as \"400Mbps\"");
      out = *read;
    }
  }
  /// One of some words, as its place among them.
  void word(std::string_view key, auto& out, std::span<const std::string_view> words) {
    if (const toml::node* node = take(key)) {
      const auto v = node->value_exact<std::string>();
      const auto at = std::find(words.begin(), words.end(), v.value_or(""));
      if (at == words.end()) return wrong(*node, key, fmt::format("one of {}", fmt::join(words, ", ")));
      out = static_cast<std::remove_reference_t<decltype(out)>>(at - words.begin());
    }
  }
  const toml::node* take(std::string_view key) {
    taken_.insert(key);
    return table_.get(key);
  }
  void wrong(const toml::node& node, std::string_view key, std::string_view wanted) {
    complain(line_of(node), fmt::format("'{}' of {} has a bad value", key, what_),
             fmt::format("write {}", wanted));
  }
  void complain(std::int64_t line, std::string message, std::string hint) {
    if (!problem_) problem_ = std::move(refuse(file_, line, std::move(message), std::move(hint))).value();
  }
  [[nodiscard]] std::int64_t line() const { return line_of(table_); }
  [[nodiscard]] Status done() {
    for (const auto& [key, node] : table_)
      if (!taken_.contains(key.str()))
        complain(static_cast<std::int64_t>(key.source().begin.line),
                 fmt::format("unknown key '{}' in {}", shown(key.str(), 40), what_),
                 fmt::format("known here: {}", fmt::join(taken_, ", ")));
    if (problem_) return fail(*problem_);
    return {};
  }

 private:
  const toml::table& table_;
  const std::string& file_;
  std::string what_;
  std::set<std::string_view> taken_;
  std::optional<Error> problem_;
};

constexpr std::array<std::string_view, 3> kWaits = {"spin", "yield", "block"};
constexpr std::array<std::string_view, 3> kLaws = {"none", "lognormal", "exponential"};
constexpr std::array<std::string_view, 3> kImbalances = {"none", "persistent", "rotating"};
constexpr Seconds kNothing{0};
constexpr Seconds kDay{86'400};
constexpr Seconds kShortestStep{1e-4};
constexpr Seconds kLongestStep{10};

Result<PacingProtocol> protocol_of(const toml::table& table, const std::string& file) {
  PacingProtocol p;
  Keys k(table, file, "[protocol]");
  k.whole("seed", p.seed, 0, std::int64_t{1} << 53);
  k.whole("window", p.window, 1, 10'000);
  k.whole("block_windows", p.block_windows, 3, 1000);
  k.whole("dropped_windows", p.dropped_windows, 1, 1000);
  k.whole("lead_in_windows", p.lead_in_windows, 0, 1000);
  k.whole("starts", p.starts, 1, 100);
  k.seconds("segment", p.segment, Seconds{1}, kDay);
  k.seconds("chunk", p.chunk, Seconds{0.1}, kDay);
  k.seconds("chunk_off", p.chunk_off, Seconds{0.1}, kDay);
  k.seconds("limit", p.limit, Seconds{1}, kDay);
  k.real("confidence", p.confidence, 0.5, 0.999);
  k.real("alpha", p.alpha, 0.0001, 0.5);
  k.real("start_correlation", p.start_correlation, 0, 0.9);
  k.real("steal", p.steal, 0, 1);
  k.real("floor", p.floor, 0, 1);
  k.real("harm", p.harm, 0, 1);
  COX_CHECK(k.done());
  if (p.dropped_windows >= p.block_windows)
    return refuse(file, k.line(), "every window of a block is dropped", "drop fewer than block_windows");
  return p;
}

Result<PacingArm> arm_of(const toml::table& table, const std::string& file) {
  PacingArm arm;
  Keys k(table, file, "[[arm]]");
  k.text("name", arm.name);
  k.text("settings", arm.settings);
  if (table.contains("wait")) {
    arm.wait = pace::WaitMode::Block;
    k.word("wait", *arm.wait, kWaits);
  }
  k.take("wait");
  k.whole("nice", arm.nice, -20, 19);
  k.flag("quick", arm.quick);
  COX_CHECK(k.done());
  if (arm.name.empty()) return refuse(file, k.line(), "an arm has no name", "write name = \"...\"");
  pace::Settings ignored;
  if (const auto at = arm.settings.empty() ? -1 : pace::set_all(ignored, arm.settings.c_str()); at >= 0)
    return refuse(file, k.line(),
                  fmt::format("settings of arm '{}': '{}' is refused", arm.name,
                              arm.settings.substr(static_cast<std::size_t>(at))),
                  "docs/reference/pacing.md lists the parameters");
  return arm;
}

void read_job(Keys& k, model::Iteration& job) {
  k.whole("ranks", job.ranks, 2, kMostRanks);
  k.whole("hosts", job.hosts, 1, 8);
  k.whole("cores", job.cores, 1, 1024);
  k.seconds("prepare", job.prepare, kNothing, Seconds{10});
  k.size("fetch", job.fetch);
  k.rate("link", job.link);
  k.seconds("compute", job.compute, kNothing, Seconds{10});
  k.flag("compute_on_cores", job.compute_on_cores);
  k.word("jitter", job.jitter, kLaws);
  k.real("spread", job.spread, 0, 1);
  k.word("imbalance", job.imbalance, kImbalances);
  k.whole("slow_ranks", job.slow_ranks, 0, kMostRanks);
  k.real("slow_factor", job.slow_factor, 1, 100);
  k.whole("episode", job.episode, 1, 1'000'000);
  k.size("reduce", job.reduce);
  k.word("wait", job.wait, kWaits);
  k.seconds("time_slice", job.time_slice, kNothing, Seconds{1});
}

void read_arms(Keys& k, PacingCondition& c, const std::vector<PacingArm>& arms) {
  const toml::node* node = k.take("arms");
  const toml::array* list = node == nullptr ? nullptr : node->as_array();
  if (list == nullptr || list->empty() || list->size() > kMostArms)
    return k.complain(k.line(), fmt::format("condition '{}' names no arms", c.name),
                      "write arms = [\"auto\", ...]");
  for (const toml::node& each : *list) {
    const std::string name = each.value_exact<std::string>().value_or("");
    const auto at =
        std::find_if(arms.begin(), arms.end(), [&](const PacingArm& a) { return a.name == name; });
    const auto index = static_cast<std::size_t>(at - arms.begin());
    if (at == arms.end() || index == 0 || std::find(c.arms.begin(), c.arms.end(), index) != c.arms.end())
      return k.complain(line_of(each), fmt::format("'{}' is no arm, or is named twice", shown(name, 40)),
                        "name each [[arm]] once; off is always there");
    c.arms.push_back(index);
  }
}

Result<PacingCondition> condition_of(const toml::table& table, const std::string& file,
                                     const std::vector<PacingArm>& arms) {
  PacingCondition c;
  Keys k(table, file, "[[condition]]");
  k.text("name", c.name);
  k.text("mechanism", c.mechanism);
  k.text("about", c.about);
  k.flag("quick", c.quick);
  k.real("bar", c.bar, 0, 10);
  k.real("cv_bar", c.cv_bar, 0, 10);
  k.seconds("period", c.period, kShortestStep, kLongestStep);
  k.seconds("best", c.best, kShortestStep, kLongestStep);
  k.seconds("segment", c.segment, Seconds{1}, kDay);
  k.real("background", c.background, 0, 1);
  k.whole("background_episode", c.background_episode, 1, 1'000'000);
  read_job(k, c.job);
  read_arms(k, c, arms);
  COX_CHECK(k.done());
  if (c.name.empty() || c.period <= kNothing || c.best <= kNothing || c.best > c.period)
    return refuse(file, k.line(),
                  fmt::format("condition '{}' has no name, no period, or best above period", c.name),
                  "write name = \"...\", period = \"40ms\" and best = \"32ms\"");
  const bool uses_link = c.job.fetch.count() > 0 || c.job.reduce.count() > 0;
  if (uses_link != (c.job.link.in_bytes_per_s() > 0) || (c.background > 0 && c.job.reduce.count() == 0) ||
      c.job.slow_ranks >= c.job.ranks ||
      (c.job.imbalance == model::Imbalance::None) != (c.job.slow_ranks == 0))
    return refuse(file, k.line(), fmt::format("parts of condition '{}' cannot go together", c.name),
                  "a link needs fetch or reduce, background needs reduce, imbalance needs slow_ranks");
  return c;
}

template <class T>
Status check_name(const std::vector<T>& all, const T& one, const std::string& file, const toml::node& node) {
  if (std::none_of(all.begin(), all.end(), [&](const T& o) { return o.name == one.name; })) return {};
  return refuse(file, line_of(node), fmt::format("the name '{}' is taken", one.name),
                "give each a name of its own");
}

/// The condition at another number of ranks: the same share of them is slow, and what they prepare on shared
/// cores lengthens the step in proportion.
PacingCondition resized(const PacingCondition& of, int ranks, std::size_t only_arm) {
  PacingCondition c = of;
  c.name = fmt::format("{}-{}", of.name, ranks);
  c.about = fmt::format("the same with {} ranks", ranks);
  c.bar = c.cv_bar = 0;
  c.quick = false;
  c.arms = {only_arm};
  c.job.ranks = ranks;
  if (of.job.slow_ranks > 0) c.job.slow_ranks = std::max(1, of.job.slow_ranks * ranks / of.job.ranks);
  const Seconds more = of.job.prepare * static_cast<double>(ranks - of.job.ranks) / std::max(1, of.job.cores);
  const Seconds compute = of.job.compute * (of.job.slow_ranks > 0 ? of.job.slow_factor : 1.0);
  c.period = std::max(of.period + more, compute);
  c.best = std::min(of.best, std::max(of.best + more, compute));
  return c;
}

Status read_sizes(const toml::table& table, const std::string& file, PacingStudy& study) {
  Keys k(table, file, "[sizes]");
  k.text("of", study.size_of);
  const toml::node* node = k.take("ranks");
  COX_CHECK(k.done());
  const auto of = std::find_if(study.conditions.begin(), study.conditions.end(),
                               [&](const PacingCondition& c) { return c.name == study.size_of; });
  const auto automatic = std::find_if(study.arms.begin(), study.arms.end(),
                                      [](const PacingArm& a) { return a.name == kArmAuto; });
  const toml::array* list = node == nullptr ? nullptr : node->as_array();
  if (of == study.conditions.end() || automatic == study.arms.end() || list == nullptr || list->empty() ||
      list->size() > kMostConditions)
    return refuse(file, k.line(), "[sizes] names no condition, no ranks, or there is no arm 'auto'",
                  "write of = \"the name of a [[condition]]\" and ranks = [4, 8]");
  for (const toml::node& each : *list) {
    const auto ranks = each.value_exact<std::int64_t>().value_or(0);
    if (ranks < 2 || ranks > kMostRanks || (!study.sizes.empty() && ranks <= study.sizes.back().job.ranks))
      return refuse(file, line_of(each), "'ranks' of [sizes] has a bad value",
                    fmt::format("write rising numbers from 2 to {}", kMostRanks));
    PacingCondition c =
        resized(*of, static_cast<int>(ranks), static_cast<std::size_t>(automatic - study.arms.begin()));
    if (ranks == of->job.ranks || c.best < kShortestStep || c.period > kLongestStep)
      return refuse(file, line_of(each),
                    fmt::format("{} ranks are those of '{}' itself, or a step would last {} to {}", ranks,
                                of->name, cox::to_string(c.best), cox::to_string(c.period)),
                    "[sizes] wants other numbers of ranks, with steps of 100 us to 10 s");
    COX_CHECK(check_name(study.conditions, c, file, each));
    study.sizes.push_back(std::move(c));
  }
  return {};
}

const toml::array* list_at(const toml::table& table, std::string_view key) {
  const toml::node* node = table.get(key);
  const toml::array* list = node == nullptr ? nullptr : node->as_array();
  return list != nullptr && list->is_array_of_tables() ? list : nullptr;
}

}  // namespace

Result<PacingStudy> parse_pacing(std::string_view text, const std::string& file) {
  if (text.size() > kMostText)
    return refuse(file, 0, "more than 1 MB of text", "this is no plan of an evaluation");
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed)
    return fail(Error{
        .code = Errc::InvalidInput,
        .id = "study-001",
        .message = shown(parsed.error().description(), 120),
        .hint = "see toml.io for the format",
        .where = Where{.file = file, .line = static_cast<std::int64_t>(parsed.error().source().begin.line)}});
  const toml::table& root = parsed.table();
  PacingStudy study;
  study.digest = fmt::format("{:016x}", fnv1a(text));
  Keys keys(root, file, "the file");
  keys.text("title", study.title);
  keys.text("before", study.before);
  keys.text("after", study.after);
  keys.take("protocol");
  keys.take("arm");
  keys.take("condition");
  keys.take("sizes");
  COX_CHECK(keys.done());
  const toml::array* arms = list_at(root, "arm");
  const toml::array* conditions = list_at(root, "condition");
  const toml::table* protocol = root["protocol"].as_table();
  if (protocol == nullptr || arms == nullptr || conditions == nullptr || arms->size() > kMostArms ||
      conditions->size() > kMostConditions)
    return refuse(file, 1, "no [protocol], no or too many [[arm]] or [[condition]]",
                  "the file that comes with cox is studies/pacing.toml");
  COX_TRY(study.protocol, protocol_of(*protocol, file));
  for (const toml::node& each : *arms) {
    COX_TRY(PacingArm arm, arm_of(*each.as_table(), file));
    COX_CHECK(check_name(study.arms, arm, file, each));
    study.arms.push_back(std::move(arm));
  }
  if (study.arms.front().name != kArmOff || !study.arms.front().settings.empty())
    return refuse(file, line_of(arms->front()), "the first arm is not a plain 'off'", "write it first");
  for (const toml::node& each : *conditions) {
    COX_TRY(PacingCondition c, condition_of(*each.as_table(), file, study.arms));
    COX_CHECK(check_name(study.conditions, c, file, each));
    study.conditions.push_back(std::move(c));
  }
  if (const toml::node* sizes = root.get("sizes")) {
    if (!sizes->is_table()) return refuse(file, line_of(*sizes), "'sizes' is no table", "write [sizes]");
    COX_CHECK(read_sizes(*sizes->as_table(), file, study));
  }
  return study;
}

}  // namespace cox::evaluate

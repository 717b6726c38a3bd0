// SPDX-License-Identifier: Apache-2.0
// The plan as text. A line is a word and its values, separated by tabs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cox/base/spelling.hpp"
#include "cox/bench/pace.hpp"
#include "cox/pace/settings.hpp"

#include "bench/pace/lines.hpp"
#include "bench/pace/wire.hpp"

namespace cox::bench {
namespace {

constexpr std::string_view kFirst = "cox-pace-plan 1";
constexpr double kLongest = 100;  // seconds: longest part of an iteration

template <class Enum>
bool read_enum(std::string_view word, Enum first, Enum last, Enum& out) {
  int value = 0;
  if (!read_whole(word, static_cast<int>(first), static_cast<int>(last), value)) return false;
  out = static_cast<Enum>(value);
  return true;
}

bool read_seconds(std::string_view word, Seconds& out) {
  double value = 0;
  if (!read_real(word, 0, kLongest, value)) return false;
  out = Seconds{value};
  return true;
}

bool read_size(std::string_view word, Bytes& out) {
  std::int64_t value = 0;
  if (!read_whole(word, 0, std::int64_t{1} << 30, value)) return false;
  out = Bytes{value};
  return true;
}

// One key of the job.
bool read_job(std::string_view key, std::string_view v, model::Iteration& job) {
  if (key == "ranks") return read_whole(v, 1, PaceLimits::kRanks, job.ranks);
  if (key == "hosts") return read_whole(v, 1, PaceLimits::kRanks, job.hosts);
  if (key == "cores") return read_whole(v, 1, 4096, job.cores);
  if (key == "prepare_s") return read_seconds(v, job.prepare);
  if (key == "fetch_bytes") return read_size(v, job.fetch);
  if (key == "compute_s") return read_seconds(v, job.compute);
  if (key == "compute_on_cores") return read_flag(v, job.compute_on_cores);
  if (key == "jitter") return read_enum(v, model::JitterLaw::None, model::JitterLaw::Exponential, job.jitter);
  if (key == "spread") return read_real(v, 0, 1, job.spread);
  if (key == "imbalance")
    return read_enum(v, model::Imbalance::None, model::Imbalance::Rotating, job.imbalance);
  if (key == "slow_ranks") return read_whole(v, 0, PaceLimits::kRanks, job.slow_ranks);
  if (key == "slow_factor") return read_real(v, 1, 100, job.slow_factor);
  if (key == "episode") return read_whole(v, std::int64_t{1}, std::int64_t{1'000'000}, job.episode);
  if (key == "reduce_bytes") return read_size(v, job.reduce);
  if (key == "wait") return read_enum(v, pace::WaitMode::Spin, pace::WaitMode::Block, job.wait);
  if (key == "link_bytes_per_s") {
    double rate = 0;
    if (!read_real(v, 0, 1e12, rate)) return false;
    job.link = Bandwidth::bytes_per_s(rate);
    return true;
  }
  return false;
}

bool read_arm(const std::vector<std::string_view>& w, PacePlan& plan) {
  PlannedArm arm;
  int wait = -1;  // the job's
  pace::Settings ignored;
  if (w.size() != 5 || !read_whole(w[3], -1, static_cast<int>(pace::WaitMode::Block), wait) ||
      !read_whole(w[4], -20, 19, arm.nice) || plan.arms.size() >= PaceLimits::kArms)
    return false;
  arm.name = w[1];
  arm.settings = w[2];
  if (wait >= 0) arm.wait = static_cast<pace::WaitMode>(wait);
  plan.arms.push_back(arm);
  return arm.settings.empty() || pace::set_all(ignored, arm.settings.c_str()) < 0;
}

bool read_block(const std::vector<std::string_view>& w, PacePlan& plan) {
  PaceBlock b;
  if (w.size() != 5 || plan.blocks.size() >= PaceLimits::kBlocks ||
      !read_whole(w[1], 0U, static_cast<std::uint32_t>(PaceLimits::kArms), b.arm) ||
      b.arm >= plan.arms.size() || !read_whole(w[2], std::int64_t{1}, PaceLimits::kSteps, b.steps) ||
      !read_whole(w[3], std::int64_t{0}, std::int64_t{1} << 40, b.first_draw) || !read_flag(w[4], b.cold))
    return false;
  plan.blocks.push_back(b);
  return true;
}

bool read_line(const std::vector<std::string_view>& w, PacePlan& plan) {
  if (w[0] == "arm") return read_arm(w, plan);
  if (w[0] == "block") return read_block(w, plan);
  if (w[0] == "background")
    return w.size() == 3 && read_real(w[1], 0, 1, plan.background.share) &&
           read_whole(w[2], std::int64_t{1}, std::int64_t{1'000'000}, plan.background.episode);
  if (w.size() != 2) return false;
  if (w[0] == "seed") return read_whole(w[1], std::uint64_t{0}, ~std::uint64_t{0}, plan.seed);
  return read_job(w[0], w[1], plan.job);
}

// What no single line shows.
std::string problem_of(const PacePlan& plan) {
  if (plan.arms.empty() || plan.blocks.empty()) return "no arm or no block";
  std::int64_t steps = 0;
  for (const PaceBlock& b : plan.blocks) steps += b.steps;
  if (steps > PaceLimits::kSteps || steps * plan.job.ranks > PaceLimits::kRankSteps)
    return fmt::format("{} steps of {} ranks are too many", steps, plan.job.ranks);
  const bool needs_link = plan.job.fetch.count() > 0 || plan.job.reduce.count() > 0;
  if (needs_link && plan.job.link.in_bytes_per_s() < 1000) return "bytes to send, and no link";
  if (plan.job.reduce.count() > 0 && plan.job.ranks < 2) return "an all-reduce of one rank";
  if (plan.job.slow_ranks > plan.job.ranks) return "more slow ranks than ranks";
  return {};
}

}  // namespace

std::string pace_plan_text(const PacePlan& plan) {
  const model::Iteration& j = plan.job;
  std::string text = fmt::format("{}\n", kFirst);
  const auto put = [&](std::string_view key, const auto& value) {
    text += fmt::format("{}\t{}\n", key, value);
  };
  put("ranks", j.ranks);
  put("hosts", j.hosts);
  put("cores", j.cores);
  put("prepare_s", j.prepare.count());
  put("fetch_bytes", j.fetch.count());
  put("link_bytes_per_s", j.link.in_bytes_per_s());
  put("compute_s", j.compute.count());
  put("compute_on_cores", j.compute_on_cores ? 1 : 0);
  put("jitter", static_cast<int>(j.jitter));
  put("spread", j.spread);
  put("imbalance", static_cast<int>(j.imbalance));
  put("slow_ranks", j.slow_ranks);
  put("slow_factor", j.slow_factor);
  put("episode", j.episode);
  put("reduce_bytes", j.reduce.count());
  put("wait", static_cast<int>(j.wait));
  put("seed", plan.seed);
  text += fmt::format("background\t{}\t{}\n", plan.background.share, plan.background.episode);
  for (const PlannedArm& a : plan.arms)
    text += fmt::format("arm\t{}\t{}\t{}\t{}\n", a.name, a.settings, a.wait ? static_cast<int>(*a.wait) : -1,
                        a.nice);
  for (const PaceBlock& b : plan.blocks)
    text += fmt::format("block\t{}\t{}\t{}\t{}\n", b.arm, b.steps, b.first_draw, b.cold ? 1 : 0);
  return text;
}

Result<PacePlan> parse_pace_plan(std::string_view text, const std::string& name) {
  const auto refuse = [&](std::int64_t line, std::string message) {
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "bench-009",
                      .message = std::move(message),
                      .hint = "plans are written by `cox study pacing`; make it anew",
                      .where = Where{.file = name, .line = line}});
  };
  PacePlan plan;
  Lines lines(text);
  if (!lines.next() || lines.line() != kFirst)
    return refuse(1, fmt::format("'{}', expected '{}'", shown(lines.line(), 40), kFirst));
  while (lines.next())
    if (!read_line(lines.words(), plan))
      return refuse(lines.number(),
                    fmt::format("'{}' is no line of a plan, or out of range", shown(lines.line(), 80)));
  if (const std::string problem = problem_of(plan); !problem.empty()) return refuse(0, problem);
  return plan;
}

}  // namespace cox::bench

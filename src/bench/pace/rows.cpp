// SPDX-License-Identifier: Apache-2.0
// What the program prints. Times are whole nanoseconds.
#include <fmt/format.h>

#include "cox/base/spelling.hpp"
#include "cox/bench/pace.hpp"

#include "bench/pace/lines.hpp"
#include "bench/pace/wire.hpp"

namespace cox::bench {
namespace {

constexpr std::string_view kFirst = "cox-pace-rows 1";
constexpr std::int64_t kLongest = 1'000'000'000'000'000;  // nanoseconds: 11 days

bool read_time(std::string_view word, Duration& out) {
  std::int64_t ns = 0;
  if (!read_whole(word, std::int64_t{0}, kLongest, ns)) return false;
  out = Nanoseconds{ns};
  return true;
}

bool read_block(const std::vector<std::string_view>& w, const PacePlan& plan, PaceRows& rows) {
  PaceBlockRows b;
  std::size_t index = 0;
  if (w.size() != 3 || !read_whole(w[1], std::size_t{0}, plan.blocks.size(), index) ||
      index != rows.blocks.size() || index >= plan.blocks.size() || !read_real(w[2], 0, 1, b.steal_ratio))
    return false;
  b.block = plan.blocks[index];
  b.steps.reserve(static_cast<std::size_t>(b.block.steps));
  rows.blocks.push_back(std::move(b));
  return true;
}

bool read_step(const std::vector<std::string_view>& w, const PacePlan& plan, PaceRows& rows) {
  PaceStep s;
  int reason = 0;
  if (w.size() != 10 || rows.blocks.empty() || !read_time(w[1], s.period) ||
      !read_time(w[2], s.longest_wait) || !read_time(w[3], s.mean_wait) ||
      !read_time(w[4], s.longest_delay) || !read_time(w[5], s.mean_delay) || !read_time(w[6], s.draw) ||
      !read_whole(w[7], 0, 255, reason) || !read_whole(w[8], 0, plan.job.ranks, s.holding) ||
      !read_whole(w[9], 0, plan.job.ranks, s.trying))
    return false;
  s.reason = static_cast<pace::Reason>(reason);
  PaceBlockRows& b = rows.blocks.back();
  if (static_cast<std::int64_t>(b.steps.size()) >= b.block.steps) return false;
  b.steps.push_back(s);
  return true;
}

bool read_rank(const std::vector<std::string_view>& w, const PacePlan& plan, PaceRows& rows) {
  PaceRankSums r;
  if (w.size() != 7 || plan.arms.empty() ||
      !read_whole(w[1], 0U, static_cast<std::uint32_t>(plan.arms.size() - 1), r.arm) ||
      !read_whole(w[2], 0, plan.job.ranks - 1, r.rank) ||
      !read_whole(w[3], std::int64_t{0}, PaceLimits::kSteps, r.steps) || !read_time(w[4], r.work) ||
      !read_time(w[5], r.wait) || !read_time(w[6], r.delay) ||
      rows.ranks.size() >= plan.arms.size() * static_cast<std::size_t>(plan.job.ranks))
    return false;
  rows.ranks.push_back(r);
  return true;
}

tl::unexpected<Error> refuse(std::int64_t line, std::string message) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "bench-009",
                    .message = std::move(message),
                    .hint = "the program and `cox` must be of one version",
                    .where = Where{.file = "the output of cox-bench-pace", .line = line}});
}

}  // namespace

Result<PaceRows> parse_pace_rows(std::string_view text, const PacePlan& plan) {
  PaceRows rows;
  Lines lines(text);
  if (!lines.next() || lines.line() != kFirst)
    return refuse(1, fmt::format("'{}', expected '{}'", shown(lines.line(), 40), kFirst));
  while (lines.next()) {
    const std::vector<std::string_view>& w = lines.words();
    const bool good = w[0] == "step"    ? read_step(w, plan, rows)
                      : w[0] == "block" ? read_block(w, plan, rows)
                      : w[0] == "rank"  ? read_rank(w, plan, rows)
                                        : false;
    if (!good)
      return refuse(lines.number(), fmt::format("'{}' does not fit the plan", shown(lines.line(), 80)));
  }
  if (rows.blocks.size() != plan.blocks.size())
    return refuse(0, fmt::format("{} blocks, expected {}", rows.blocks.size(), plan.blocks.size()));
  for (const PaceBlockRows& b : rows.blocks)
    if (static_cast<std::int64_t>(b.steps.size()) != b.block.steps)
      return refuse(0, fmt::format("a block of {} steps, expected {}", b.steps.size(), b.block.steps));
  return rows;
}

}  // namespace cox::bench

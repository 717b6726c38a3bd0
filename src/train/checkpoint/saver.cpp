// SPDX-License-Identifier: Apache-2.0
#include "train/checkpoint/saver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include "cox/base/hash.hpp"
#include "cox/base/spelling.hpp"

#include "train/transport/exchange.hpp"

namespace cox::train {
namespace {

using Clock = std::chrono::steady_clock;

/// Before it is known what saving takes.
constexpr std::int64_t kFirstSteps = 10;
constexpr std::int64_t kMostSteps = std::int64_t{1} << 40;

Error unlike(std::string message, std::string hint) {
  return {.code = Errc::InvalidInput,
          .id = "train-008",
          .message = std::move(message),
          .hint = std::move(hint),
          .where = {}};
}

}  // namespace

Result<SaveEvery> read_save_every(const std::string& text) {
  const bool share = text.ends_with('%');
  const char* end = text.data() + text.size() - (share ? 1 : 0);
  double number = 0;
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  const bool read = error == std::errc{} && stopped == end;
  if (read && share && number > 0 && number < 100) return SaveEvery{.steps = 0, .share = number / 100};
  if (read && !share && number >= 1 && number <= static_cast<double>(kMostSteps) &&
      number == std::floor(number))
    return SaveEvery{.steps = static_cast<std::int64_t>(number)};
  return fail({.code = Errc::Usage,
               .id = "train-002",
               .message = fmt::format(
                   "\"{}\" says not how often to save, expected steps or a part of the time", shown(text)),
               .hint = "such as 100 or 5%",
               .where = {}});
}

std::int64_t steps_until_saved(double share, Seconds saved, Seconds longest, Seconds stepped, Seconds step) {
  const Seconds wanted = (saved + longest) * ((1 - share) / share) - stepped;
  if (wanted <= step) return 1;
  if (step <= Seconds{}) return kMostSteps;
  return static_cast<std::int64_t>(std::min(std::ceil(wanted / step), static_cast<double>(kMostSteps)));
}

Saver::Saver(const std::string& folder, SaveEvery every, std::string job, std::int64_t elements, int moments,
             Transport& transport)
    : generations_(folder),
      every_(every),
      manifest_{.version = 0, .job = std::move(job), .elements = elements, .moments = moments, .parts = {}},
      transport_(transport),
      next_(every.steps > 0 ? every.steps : kFirstSteps),
      since_(Clock::now()) {}

Status Saver::begin_anew() {
  if (generations_.any())
    return fail(unlike(fmt::format("{} holds checkpoints", generations_.folder().string()),
                       "--resume goes on from them; another folder begins anew"));
  return {};
}

Result<FoundState> Saver::resume() {
  struct Taken {
    std::int64_t version = -1;
    std::uint64_t hash = 0;
    bool operator==(const Taken&) const = default;
  };
  auto found = generations_.newest(manifest_);
  Taken taken{.version = found ? 0 : -2, .hash = 0};
  if (found && found->state) {
    Fnv1a hash;
    for (const auto* values : {&found->state->parameters, &found->state->moments})
      for (const float v : *values) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, &v, sizeof bits);
        hash.add_number(bits, 4);
      }
    taken = {.version = found->state->version, .hash = hash.value()};
  }
  COX_TRY(const std::vector<Taken> all, exchange(transport_, taken));
  if (!found) return found;
  for (std::size_t r = 1; r < all.size(); ++r)
    if (all[r] != all.front())
      return fail(unlike(fmt::format("ranks 0 and {} do not find the same checkpoint in {}", r,
                                     generations_.folder().string()),
                         "all ranks have to see one folder"));
  if (transport_.rank() == 0 && !found->refused.empty()) generations_.set_aside(taken.version);
  began_ = taken.version;
  next_ = began_ + (every_.steps > 0 ? every_.steps - began_ % every_.steps : kFirstSteps);
  return found;
}

Status Saver::agree(std::int64_t version, int cause) {
  COX_TRY(const std::vector<int> all, exchange(transport_, cause));
  const auto first = std::ranges::find_if(all, [](int c) { return c != 0; });
  if (first == all.end()) return {};
  if (transport_.rank() == 0) generations_.give_up(version);
  return fail({.code = Errc::Io,
               .id = "train-007",
               .message = fmt::format("rank {} cannot write checkpoint {} to {}: {}", first - all.begin(),
                                      version, generations_.folder().string(), std::strerror(*first)),
               .hint = "the one before is what it was: make room and go on with --resume",
               .where = {}});
}

Status Saver::save(std::int64_t version, Stretch elements, std::span<const std::span<const float>> values) {
  const Clock::time_point before = Clock::now();
  const bool first = transport_.rank() == 0;
  COX_CHECK(agree(version, first ? generations_.prepare(version) : 0));
  SavedPart mine{.elements = elements, .hash = 0};
  const int written = generations_.write_part(version, transport_.rank(), values, mine.hash);
  COX_CHECK(agree(version, written));
  manifest_.version = version;
  COX_TRY(manifest_.parts, exchange(transport_, mine));
  COX_CHECK(agree(version, first ? generations_.publish(manifest_) : 0));
  const Clock::time_point after = Clock::now();
  const Seconds took = after - before;
  ++saved_.count;
  saved_.took += took;
  longest_ = std::max(longest_, took);
  std::int64_t more = every_.steps;
  if (every_.steps == 0) {
    const Seconds all = after - since_;
    const Seconds stepped = all - saved_.took;
    more = steps_until_saved(every_.share, saved_.took, longest_, stepped,
                             stepped / static_cast<double>(std::max<std::int64_t>(1, version - began_)));
    COX_TRY(const std::vector<std::int64_t> of_ranks, exchange(transport_, more));
    more = of_ranks.front();
  }
  next_ = version + more;
  return {};
}

}  // namespace cox::train

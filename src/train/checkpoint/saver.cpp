// SPDX-License-Identifier: Apache-2.0
#include "train/checkpoint/saver.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#include "cox/base/hash.hpp"
#include "cox/base/spelling.hpp"

#include "train/executor/value_hash.hpp"
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

Status Saver::agree(const Status& mine) {
  struct Words {
    char id[16] = {};
    char message[512] = {};
    char hint[256] = {};
  };
  const auto put = [](std::string_view text, std::span<char> into) {
    std::ranges::copy(text.substr(0, into.size() - 1), into.begin());
  };
  Words words;
  if (!mine) {
    put(mine.error().id, words.id);
    put(mine.error().message, words.message);
    put(mine.error().hint, words.hint);
  }
  COX_TRY(const std::vector<Words> all, exchange(transport_, words));
  for (std::size_t r = 0; r < all.size(); ++r)
    if (all[r].id[0] != '\0')
      return fail(
          {.code = std::string_view(all[r].id) == "train-007" ? Errc::Io : Errc::InvalidInput,
           .id = all[r].id,
           .message = r == 0 ? std::string(all[r].message) : fmt::format("rank {}: {}", r, all[r].message),
           .hint = all[r].hint,
           .where = {}});
  return {};
}

Status Saver::open() {
  const bool first = transport_.rank() == 0;
  COX_CHECK(agree(first ? generations_.open() : Status{}));
  const std::uint64_t drawn =
      mix_bits(static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) +
               kGoldenStep * static_cast<std::uint64_t>(::getpid()));
  COX_TRY(const std::vector<std::uint64_t> of_ranks, exchange(transport_, drawn));
  generations_.set_nonce(of_ranks.front());
  return {};
}

Status Saver::begin_anew() {
  COX_CHECK(open());
  const auto any = generations_.any();
  Status mine;
  if (!any)
    mine = fail(any.error());
  else if (*any)
    mine = fail(unlike(fmt::format("{} holds checkpoints", generations_.folder().string()),
                       "--resume goes on from them; another folder begins anew"));
  return agree(mine);
}

Result<FoundState> Saver::resume() {
  COX_CHECK(open());
  constexpr std::int64_t kNone = -1;
  FoundState found;
  Status mine;
  if (transport_.rank() == 0) {
    if (auto newest = generations_.newest(manifest_))
      found = *std::move(newest);
    else
      mine = fail(std::move(newest).error());
  }
  COX_CHECK(agree(mine));
  COX_TRY(const std::vector<std::int64_t> of_ranks,
          exchange(transport_, found.state ? found.state->version : kNone));
  const std::int64_t version = of_ranks.front();
  if (transport_.rank() != 0 && version != kNone) {
    if (auto same = generations_.at(version, manifest_))
      found.state = *std::move(same);
    else
      mine = fail(std::move(same).error());
  }
  COX_CHECK(agree(mine));
  std::uint64_t hash = 0;
  if (found.state) hash = hash_of(found.state->parameters) ^ mix_bits(hash_of(found.state->moments));
  COX_TRY(const std::vector<std::uint64_t> hashes, exchange(transport_, hash));
  for (std::size_t r = 1; r < hashes.size(); ++r)
    if (hashes[r] != hashes.front())
      return fail(unlike(fmt::format("ranks 0 and {} do not read the same in checkpoint {} of {}", r, version,
                                     generations_.folder().string()),
                         "all ranks have to see one folder"));
  if (const int cause = transport_.rank() == 0 ? generations_.set_aside(found.refused) : 0; cause != 0)
    mine = fail(Error{.code = Errc::Io,
                      .id = "train-007",
                      .message = fmt::format("a damaged checkpoint cannot be set aside in {}: {}",
                                             generations_.folder().string(), std::strerror(cause)),
                      .hint = "move it away",
                      .where = {}});
  COX_CHECK(agree(mine));
  if (version == kNone) return found;
  began_ = newest_ = version;
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

Status Saver::save(std::int64_t version, std::span<const SavedSpan> mine) {
  const Clock::time_point before = Clock::now();
  const bool first = transport_.rank() == 0;
  COX_CHECK(agree(version, first ? generations_.prepare(version) : 0));
  std::vector<SavedPart> parts;
  int cause = 0;
  for (const SavedSpan& one : mine) {
    SavedPart& part = parts.emplace_back(SavedPart{.elements = one.elements, .hash = 0});
    const int number = static_cast<int>(parts.size() - 1) * transport_.ranks() + transport_.rank();
    if (cause == 0) cause = generations_.write_part(version, number, one.values, part.hash);
  }
  COX_CHECK(agree(version, cause));
  manifest_.version = version;
  manifest_.parts.clear();
  for (const SavedPart& part : parts) {
    COX_TRY(const std::vector<SavedPart> of_ranks, exchange(transport_, part));
    manifest_.parts.insert(manifest_.parts.end(), of_ranks.begin(), of_ranks.end());
  }
  COX_CHECK(agree(version, first ? generations_.publish(manifest_) : 0));
  const Clock::time_point after = Clock::now();
  const Seconds took = after - before;
  ++saved_.count;
  newest_ = version;
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

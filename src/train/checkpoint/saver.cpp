// SPDX-License-Identifier: Apache-2.0
#include "train/checkpoint/saver.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
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

/// Versions between two questions whether all are done, at most.
constexpr std::int64_t kLongestDistance = 16;
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

std::int64_t floats_of(std::span<const SavedSpan> spans) {
  std::int64_t floats = 0;
  for (const SavedSpan& one : spans)
    for (const std::span<const float> values : one.values) floats += static_cast<std::int64_t>(values.size());
  return floats;
}

Saver::Saver(const std::string& folder, SaveEvery every, std::string job, std::int64_t elements, int moments,
             Transport& transport)
    : generations_(folder),
      every_(every),
      manifest_{.version = 0, .job = std::move(job), .elements = elements, .moments = moments, .parts = {}},
      transport_(transport),
      next_(every.steps > 0 ? every.steps : kFirstSteps),
      since_(Clock::now()) {}

void Saver::write_beside(MemoryCount& memory, std::int64_t floats) {
  beside_ = true;
  room_ = CountedFloats(memory, Use::Copies, static_cast<std::size_t>(floats));
  std::ranges::fill(room_.all(), 0.0F);  // so that its pages are there before the first step
}

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
  if (found.state)
    hash = mix_bits(mix_bits(hash_of(found.state->parameters)) ^ hash_of(found.state->moments)) ^
           hash_of(found.state->workers);
  if (found.state && found.state->scale)
    hash = mix_bits(hash) ^ mix_bits(std::bit_cast<std::uint64_t>(found.state->scale->factor)) ^
           mix_bits(static_cast<std::uint64_t>(found.state->scale->good)) ^
           static_cast<std::uint64_t>(found.state->scale->skipped);
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

void Saver::write(const std::stop_token& stop) {
  UnderWay& u = *under_way_;
  const auto fails = [&](int cause, std::string_view file) {
    u.failed.cause = cause;
    std::ranges::copy(file.substr(0, u.failed.file.size() - 1), u.failed.file.begin());
  };
  if (const int cause = generations_.prepare(u.version); cause != 0) return fails(cause, "its folder");
  for (std::size_t i = 0; i < u.spans.size(); ++i) {
    SavedPart& part = u.parts.emplace_back(SavedPart{.elements = u.spans[i].elements, .hash = 0});
    const int number = static_cast<int>(i) * transport_.ranks() + transport_.rank();
    const int cause = generations_.write_part(u.version, number, u.spans[i].values, part.hash,
                                              [&] { return stop.stop_requested(); });
    if (cause != 0) return fails(cause, fmt::format("part-{}", number));
  }
}

void Saver::publish(const std::stop_token& /*stop*/) {
  std::string at;
  Unwritten& failed = under_way_->failed;
  failed.cause = generations_.publish(manifest_, &at);
  if (failed.cause != 0) std::ranges::copy(at.substr(0, failed.file.size() - 1), failed.file.begin());
}

void Saver::begin_thread(void (Saver::*what)(const std::stop_token&)) {
  done_ = false;
  thread_ = std::jthread([this, what](const std::stop_token& stop) {
    const Clock::time_point before = Clock::now();
    (this->*what)(stop);
    under_way_->beside += Clock::now() - before;
    done_.store(true, std::memory_order_release);
  });
}

Status Saver::save(std::int64_t version, std::span<const SavedSpan> mine, Clock::time_point since,
                   std::optional<learn::LossScaleState> scale) {
  stopped_ = since;
  if (under_way_) COX_CHECK(finish_one(version));
  UnderWay& u = under_way_.emplace();
  u.version = version;
  u.next = version + 1;
  u.spans.assign(mine.begin(), mine.end());
  u.scale = scale;
  std::size_t at = 0;  // in the room
  if (beside_)
    for (SavedSpan& one : u.spans)
      for (std::span<const float>& values : one.values) {
        const std::span<float> copy = room_.all().subspan(at, values.size());
        std::ranges::copy(values, copy.begin());
        values = copy;
        at += copy.size();
      }
  next_ = version + std::max<std::int64_t>(every_.steps, 1);
  begin_thread(&Saver::write);
  if (!beside_) COX_CHECK(finish_one(version));
  count_cost();
  return {};
}

Status Saver::follow(std::int64_t version) {
  stopped_ = Clock::now();
  const Status made = ask(version, false);
  count_cost();
  return made;
}

Status Saver::finish(std::int64_t version) {
  stopped_ = Clock::now();
  const Status made = finish_one(version);
  count_cost();
  return made;
}

Status Saver::finish_one(std::int64_t version) {
  while (under_way_) COX_CHECK(ask(version, true));
  return {};
}

/// Since the step stopped, or since this was counted last.
void Saver::count_cost() {
  const Clock::time_point now = Clock::now();
  const Seconds took = now - stopped_;
  stopped_ = now;
  saved_.took += took;
  if (under_way_) under_way_->cost += took;
}

std::int64_t Saver::steps_to_next(std::int64_t version) const {
  if (every_.steps > 0) return every_.steps;
  const Seconds stepped = Clock::now() - since_ - saved_.took;
  return steps_until_saved(every_.share, saved_.took, longest_, stepped,
                           stepped / static_cast<double>(std::max<std::int64_t>(1, version - began_)));
}

Status Saver::ask(std::int64_t version, bool wait) {
  UnderWay& u = *under_way_;
  if (wait && thread_.joinable()) thread_.join();
  Progress mine;
  mine.done = done_.load(std::memory_order_acquire) ? 1 : 0;
  count_cost();
  if (mine.done != 0) {
    mine.failed = u.failed;
    if (u.publishes) {
      longest_ = std::max(longest_, u.cost);
      mine.more = steps_to_next(version);
    }
  }
  COX_TRY(const std::vector<Progress> all, exchange(transport_, mine));
  if (std::ranges::any_of(all, [](const Progress& p) { return p.failed.cause != 0; })) return give_up(all);
  if (std::ranges::any_of(all, [](const Progress& p) { return p.done == 0; })) {
    u.next = version + u.distance;
    u.distance = std::min(2 * u.distance, kLongestDistance);
    return {};
  }
  if (!u.publishes) {
    COX_CHECK(collect_parts());
    u.publishes = true;
    u.next = version + 1;
    u.distance = 2;
    if (transport_.rank() == 0) begin_thread(&Saver::publish);
    return {};
  }
  ++saved_.count;
  saved_.beside += u.beside;
  newest_ = u.version;
  if (every_.steps == 0) next_ = version + all.front().more;
  count_cost();
  under_way_.reset();
  return {};
}

/// For the first rank's manifest.
Status Saver::collect_parts() {
  UnderWay& u = *under_way_;
  const std::uint64_t number = transport_.numbers(1);
  if (transport_.rank() != 0) {
    transport_.send(0, number, std::as_bytes(std::span(u.parts)));
    return transport_.wait();
  }
  std::vector<std::vector<SavedPart>> of_ranks(static_cast<std::size_t>(transport_.ranks()), u.parts);
  for (int r = 1; r < transport_.ranks(); ++r)
    transport_.receive(r, number, std::as_writable_bytes(std::span(of_ranks[static_cast<std::size_t>(r)])));
  COX_CHECK(transport_.wait());
  manifest_.version = u.version;
  manifest_.scale = u.scale;
  manifest_.parts.clear();
  manifest_.worker_parts.clear();
  for (std::size_t i = 0; i < u.parts.size(); ++i) {
    const bool of_workers = manifest_.workers > 0 && i + 1 == u.parts.size();
    for (const std::vector<SavedPart>& parts : of_ranks)
      (of_workers ? manifest_.worker_parts : manifest_.parts).push_back(parts[i]);
  }
  return {};
}

/// What is half written goes when nobody writes there any more.
Status Saver::give_up(std::span<const Progress> all) {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  COX_TRY(const std::vector<int> stopped, exchange(transport_, 0));
  const std::int64_t version = under_way_->version;
  if (transport_.rank() == 0) generations_.give_up(version);
  under_way_.reset();
  const auto first = std::ranges::find_if(all, [](const Progress& p) { return p.failed.cause != 0; });
  return fail({.code = Errc::Io,
               .id = "train-007",
               .message = fmt::format(
                   "rank {} cannot write {} of checkpoint {} in {}: {}; {}", first - all.begin(),
                   first->failed.file.data(), version, generations_.folder().string(),
                   std::strerror(first->failed.cause),
                   newest_ < 0 ? "there is none before it"
                               : fmt::format("checkpoint {}, the one before, is what it was", newest_)),
               .hint = "make room and go on with --resume",
               .where = {}});
}

}  // namespace cox::train

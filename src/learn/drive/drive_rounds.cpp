// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <functional>
#include <queue>
#include <span>
#include <tuple>
#include <vector>

#include "cox/sync/rounds.hpp"

#include "learn/drive/drive.hpp"

namespace cox::learn {
namespace {

class RoundsDrive {
 public:
  RoundsDrive(const ComputeTimes& compute, const Prices& prices, const Way& way, std::uint64_t seed,
              const simulate::UpdateSink& sink, const Beside& beside)
      : compute_(compute),
        prices_(prices),
        copies_(beside.copies),
        speculative_(way.rounds.copies > 0),
        time_out_(way.time_out),
        sink_(sink),
        rounds_(spec_of(way, seed), compute.workers()),
        used_(static_cast<std::size_t>(compute.workers())),
        copied_(used_.size()),
        stamp_(used_.size()) {}

  void play() {
    tell(Seconds{});
    begin(rounds_.participants(), Seconds{});
    while (!over_ && !events_.empty()) {
      const auto [at, what, worker, stamp] = events_.top();
      events_.pop();
      if (what == What::Expires) {
        if (stamp == rounds_.version()) expire(at);
      } else if (stamp == stamp_[static_cast<std::size_t>(worker)]) {
        finish(worker, at);
      }
    }
  }

 private:
  enum class What : std::uint8_t { Ends, Expires };  // who ends in time is there
  /// When, what, who, and of which step of the worker or of which round.
  using Event = std::tuple<Seconds, What, int, std::int64_t>;

  static sync::RoundSpec spec_of(const Way& way, std::uint64_t seed) {
    sync::RoundSpec spec = way.rounds;
    spec.seed = seed;
    spec.local_steps = way.policy.local_steps;
    return spec;
  }

  void finish(int worker, Seconds at) {
    const std::int64_t round = rounds_.version();
    took_part_.assign(rounds_.participants().begin(), rounds_.participants().end());
    const int there = rounds_.arrived();
    rounds_.delivered(worker, released_);
    if (rounds_.version() > round) return close(there + 1, at);
    for (const int w : rounds_.interrupted()) ++stamp_[static_cast<std::size_t>(w)];
    for (const sync::Rounds::Copy& c : rounds_.begun_again()) {
      const auto by = static_cast<std::size_t>(c.by);
      events_.emplace(at + compute_.beside(c.by, copied_[by]++), What::Ends, c.by, ++stamp_[by]);
      if (copies_ != nullptr) ++*copies_;
    }
    begin(released_, at);
    if (time_out_ > Seconds{} && there == 0 && rounds_.arrived() == 1)
      events_.emplace(at + time_out_, What::Expires, 0, round);
  }

  void expire(Seconds at) {
    took_part_.assign(rounds_.participants().begin(), rounds_.participants().end());
    const int there = rounds_.arrived();
    rounds_.expired(released_);
    close(there, at);
  }

  /// A round is over: `there` workers sum what they have.
  void close(int there, Seconds at) {
    for (const int w : rounds_.interrupted()) ++stamp_[static_cast<std::size_t>(w)];
    Seconds end = at + prices_.sum(there);
    const auto newly = [&](int w) { return !std::ranges::binary_search(took_part_, w); };
    const bool late =
        (!speculative_ && !rounds_.interrupted().empty()) || std::ranges::any_of(released_, newly);
    tell(end);
    // Whoever has no part in the sum gets the new version from one who has.
    for (const int w : released_) {
      const bool reads = late && (newly(w) || std::ranges::count(rounds_.interrupted(), w) > 0);
      begin(std::span(&w, 1), reads ? end + prices_.parameters() : end);
    }
  }

  void begin(std::span<const int> workers, Seconds at) {
    for (const int w : workers) {
      const auto i = static_cast<std::size_t>(w);
      if (used_[i] == compute_.steps()) {
        over_ = true;
        return;
      }
      events_.emplace(at + compute_.of(w, used_[i]++), What::Ends, w, ++stamp_[i]);
    }
  }

  void tell(Seconds at) {
    for (const sync::StreamEvent& e : rounds_.events())
      if (!over_) over_ = !sink_(e, at);
  }

  const ComputeTimes& compute_;
  const Prices& prices_;
  std::int64_t* copies_;
  bool speculative_;
  Seconds time_out_;
  const simulate::UpdateSink& sink_;
  sync::Rounds rounds_;
  std::vector<std::int64_t> used_;    ///< steps that each worker has begun
  std::vector<std::int64_t> copied_;  ///< copies that each has begun
  std::vector<std::int64_t> stamp_;   ///< of the step that each is in; those of others are void
  std::vector<int> released_, took_part_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  bool over_ = false;
};

}  // namespace

void drive_rounds(const ComputeTimes& compute, const Prices& prices, const Way& way, std::uint64_t seed,
                  const simulate::UpdateSink& sink, const Beside& beside) {
  RoundsDrive(compute, prices, way, seed, sink, beside).play();
}

}  // namespace cox::learn

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "cox/base/assert.hpp"
#include "cox/pace/controller.hpp"

#include "fuzz/entries.hpp"

namespace cox::fuzz {
namespace {

using namespace cox::pace;

/// Takes numbers from the front; zeros where there is nothing left.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : left_(bytes) {}
  [[nodiscard]] bool empty() const { return left_.empty(); }
  template <class T>
  T take() {
    T value{};
    const std::size_t n = std::min(sizeof value, left_.size());
    std::memcpy(&value, left_.data(), n);
    left_.remove_prefix(n);
    return value;
  }
  /// 16 bits of microseconds, which make a controller act, or any 64 bits.
  Duration time(bool any) {
    if (any) return Duration{take<std::int64_t>()};
    return std::chrono::microseconds{take<std::uint16_t>()};
  }

 private:
  std::string_view left_;
};

void check(const Controller& controller) {
  const Decision& decision = controller.decide();
  const Settings& settings = controller.settings();
  const DecisionBasis evidence = controller.evidence();
  COX_ASSERT(decision.delay >= Duration::zero(), "nobody is sent back in time");
  COX_ASSERT(decision.delay <= settings.max_delay, "a delay has a longest one");
  COX_ASSERT(
      in_seconds(decision.delay) <= settings.max_ratio * in_seconds(evidence.period) * (1 + 1e-9) + 1e-11,
      "a delay is a share of an iteration");
  COX_ASSERT(evidence.spent >= Duration::zero() && evidence.period >= Duration::zero(), "an account adds up");
  COX_ASSERT(std::string_view(name_of(decision.reason)) != "unknown", "a decision has a reason");
}

bool same(const Decision& a, const Decision& b) {
  return a.delay == b.delay && a.reason == b.reason && a.state == b.state;
}

}  // namespace

void pace_settings(std::string_view bytes) {
  const std::string text(bytes);
  Settings settings;
  Settings before;
  std::memcpy(&before, &settings, sizeof before);
  const std::ptrdiff_t refused = set_all(settings, text.c_str());
  if (refused >= 0) {
    COX_ASSERT(static_cast<std::size_t>(refused) <= text.size(), "what is refused is in the text");
    // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): padding too, as nothing may have been written
    COX_ASSERT(std::memcmp(&before, &settings, sizeof before) == 0, "what is refused changes nothing");
    return;
  }
  COX_ASSERT(
      settings.max_ratio >= 0 && settings.max_ratio <= 1 && settings.budget >= 0 && settings.budget <= 1,
      "a share is one");
  COX_ASSERT(settings.window >= 2 && settings.window <= SlackWindow::kMost && settings.block >= 2,
             "counts fit");
  // An early rank under these settings, whatever they are.
  Controller controller(settings, 0, 4);
  for (std::uint64_t step = 0; step < 400; ++step) {
    controller.observe({.step = step,
                        .work = std::chrono::milliseconds{20},
                        .sync = std::chrono::milliseconds{10},
                        .transfer = Duration{0},
                        .delayed = controller.decide().delay});
    check(controller);
  }
}

void pace_observations(std::string_view bytes) {
  const std::size_t line = std::min(bytes.find('\n'), bytes.size());
  Settings settings;
  settings.mode = Mode::Auto;
  if (set_all(settings, std::string(bytes.substr(0, line)).c_str()) >= 0) return;
  bytes.remove_prefix(std::min(line + 1, bytes.size()));
  Bytes from(bytes);
  const auto rank = from.take<std::uint8_t>();
  const auto ranks = from.take<std::uint8_t>();
  Controller controller(settings, rank, ranks);
  Controller again(settings, rank, ranks);
  std::uint64_t step = 0;
  for (int steps = 0; !from.empty() && steps < 20000; ++steps) {
    // One byte says what is odd about the next observation, and for how many steps it stays as it is.
    const auto odd = from.take<std::uint8_t>();
    step = (odd & 1) != 0 ? from.take<std::uint64_t>() : step + 1;
    Observation seen{.work = from.time((odd & 2) != 0), .sync = from.time((odd & 4) != 0)};
    seen.transfer = (odd & 8) != 0 ? from.time(true) : Duration{0};
    const bool serves = (odd & 16) == 0;
    if (!serves) seen.delayed = from.time(true);
    const int repeated = (odd >> 5) * (odd >> 5) * 4;
    for (int i = 0; i <= repeated; ++i, ++steps, ++step) {
      seen.step = step;
      if (serves) seen.delayed = controller.decide().delay;
      for (Controller* c : {&controller, &again}) {
        if ((odd & 1) != 0) c->observe_other(odd % 6, seen.sync);
        c->observe(seen);
      }
      check(controller);
      COX_ASSERT(same(controller.decide(), again.decide()), "same observations, same decisions");
      if (i % 64 == 63) again = Controller(controller);
    }
  }
}

}  // namespace cox::fuzz

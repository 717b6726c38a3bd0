// SPDX-License-Identifier: Apache-2.0
// Guest code: libc only.
#include "cox/pace/controller.hpp"

namespace cox::pace {

Controller::Controller(const Settings& settings, std::uint32_t rank, std::uint32_t ranks) noexcept
    : settings_(settings), pattern_(settings.seed, settings.block), rank_(rank), ranks_(ranks) {
  slack_.resize(settings.window);
}
void Controller::observe(const Observation&) noexcept {
  ++seen_;
}
void Controller::observe_other(std::uint32_t, Duration) noexcept {}
Evidence Controller::evidence() const noexcept {
  return {};
}

}  // namespace cox::pace

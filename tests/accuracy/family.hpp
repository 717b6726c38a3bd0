// SPDX-License-Identifier: Apache-2.0
/// \file
/// A family of generated inputs whose answer is known, and how what is said of one of them is judged.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cox::accuracy {

/// Effects in multiples of the noise: what an effect costs per step, over what noise alone costs per step
/// (latest minus median arrival).
inline constexpr std::array kLevels{0.0, 0.5, 1.0, 2.0, 4.0};

enum class Answer : std::uint8_t {
  Right,   ///< exactly what was put in; without an effect: nobody
  Half,    ///< nobody innocent, but not all of them, or not as what they are
  Wrong,   ///< somebody innocent, or a place or period that is not it
  Silent,  ///< nobody, though there was an effect
};

/// What is said of one case.
struct Judged {
  std::size_t level = 0;  ///< index into `kLevels`
  Answer tool = Answer::Silent;
  /// What plain rules say, which always name one rank; none where they do not apply.
  std::optional<Answer> largest_mean{};
  std::optional<Answer> last_most{};
  std::string said{};  ///< for people who look for what went wrong
};

/// Limits that a family is held to, as parts of its cases.
struct Bars {
  double most_wrong_without = 0.01;  ///< without an effect
  double least_right_at_twice = 0.95;
  double most_wrong = 0.01;  ///< of all cases with an effect
};

struct Family {
  const char* name;
  const char* what;  ///< a sentence for the page
  int cases = 0;
  Bars bars{};
  /// Case `index`: the same on every call and machine.
  std::function<Judged(int index)> judge;
};

[[nodiscard]] std::vector<Family> naming_families();

}  // namespace cox::accuracy

// SPDX-License-Identifier: Apache-2.0
/// \file
/// Slack turned into energy: frequency or power limits of this host lowered for the time of a job, and put
/// back by the process that lowered them.
///
/// Interfaces, both documented by the kernel: cpufreq's scaling_max_freq (admin-guide/pm/cpufreq), and
/// constraint_*_power_limit_uw of powercap's intel-rapl packages (power/powercap). No limit is ever set above
/// what was found. A file under /run names what was found before anything is written, so that the caps of a
/// killed process can be found and undone; like the caps themselves it does not outlive a reboot.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/result.hpp"

namespace cox::observe {

/// One limit: a file under the root, its unit the kernel's (kHz, microwatts).
struct EnergyLimit {
  std::filesystem::path file;  ///< relative to the root
  std::int64_t found = 0;
  /// What the file showed after the cap was written; on record, until all are read back, the most that it may
  /// show. Never above `found`.
  std::int64_t set = 0;
  std::int64_t floor = 0;  ///< least that the hardware or the administrator allows
};

/// How limits are read and written; tests put failures here. Both work on an absolute path.
struct LimitFiles {
  std::function<std::optional<std::int64_t>(const std::filesystem::path&)> read;
  std::function<bool(const std::filesystem::path&, std::int64_t)> write;
};
/// Files of at most 31 digits; 1 to 10^12. Writing replaces the content and follows no link.
[[nodiscard]] LimitFiles real_limit_files();

/// Smallest share of a limit that can be asked for: below it a job is slowed down more than early ranks wait.
inline constexpr double kLeastEnergyRatio = 0.5;

/// The caps of one job. Restores when it is destroyed.
class EnergyCap {
 public:
  /// Lowers the frequency limits of all processors to `ratio` of what they are, or, where the kernel offers
  /// none that can be put back, the power limits of all packages. All of them or none: before anything is
  /// lowered, each limit is written with its own value and read back; a write that fails later takes back
  /// those before it. Caps that a killed process left are undone first.
  ///
  /// Errors: observe-007 (ratio out of 0.5 to 1, or not offered here), observe-008 (another job holds caps),
  ///         observe-009 (what was left behind cannot be undone). Held by: src/observe/energy_test.cpp
  [[nodiscard]] static Result<EnergyCap> apply(const std::filesystem::path& root, double ratio,
                                               const LimitFiles& files = real_limit_files());
  EnergyCap(EnergyCap&& other) noexcept;
  EnergyCap(const EnergyCap&) = delete;
  EnergyCap& operator=(const EnergyCap&) = delete;
  EnergyCap& operator=(EnergyCap&&) = delete;
  ~EnergyCap();

  /// Puts every limit back that is not above its cap by now (then somebody else has set it since). The state
  /// file goes only when all is back. Idempotent. Errors: observe-009
  [[nodiscard]] Status restore();
  [[nodiscard]] const std::vector<EnergyLimit>& limits() const { return limits_; }
  /// `4 frequency limits at 0.8 of what they were`
  [[nodiscard]] std::string summary() const;

 private:
  EnergyCap(std::filesystem::path root, LimitFiles files)
      : root_(std::move(root)), files_(std::move(files)) {}
  [[nodiscard]] Status lower(double ratio);
  std::filesystem::path root_;
  LimitFiles files_;
  std::vector<EnergyLimit> limits_;
  double ratio_ = 1;
};

/// What this host offers and what was left behind; for `cox doctor`.
struct EnergyState {
  std::size_t frequency_limits = 0;
  std::size_t power_limits = 0;
  bool writable = false;    ///< this user may write all of the offered ones
  bool has_file = false;    ///< a job holds caps, or did
  bool unreadable = false;  ///< the file is not ours or damaged
  std::int64_t process = 0;
  bool running = false;  ///< the process that set them still runs
  std::size_t held = 0;  ///< limits that it names
};
[[nodiscard]] EnergyState energy_state(const std::filesystem::path& root);

/// Undoes what a killed process left; the number of limits that were put back. Errors: observe-008 (it still
/// runs), observe-009 (the file is damaged or names what is no limit, or a limit cannot be written).
[[nodiscard]] Result<std::size_t> restore_left_caps(const std::filesystem::path& root,
                                                    const LimitFiles& files = real_limit_files());

}  // namespace cox::observe

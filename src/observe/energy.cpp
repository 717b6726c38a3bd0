// SPDX-License-Identifier: Apache-2.0
#include "observe/energy.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include "cox/base/file.hpp"

namespace cox::observe {
namespace {

namespace fs = std::filesystem;

constexpr const char* kState = "run/cox-energy-cap";
constexpr std::string_view kHeader = "cox-energy-cap 1";
constexpr const char* kPolicies = "sys/devices/system/cpu/cpufreq";
constexpr const char* kZones = "sys/class/powercap";
constexpr std::size_t kMostLimits = 8192;
constexpr std::size_t kMostState = std::size_t{2} << 20;
constexpr std::int64_t kMostValue = 1'000'000'000'000;
constexpr double kRounding = 1.02;  // limits are kept in steps of the hardware

Error energy_error(const char* id, Errc code, std::string message, std::string hint) {
  return Error{.code = code, .id = id, .message = std::move(message), .hint = std::move(hint), .where = {}};
}

/// A whole number and nothing else, 1 to 10^12; a line end may follow.
std::optional<std::int64_t> limit_value(std::string_view text) {
  if (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  std::int64_t value = 0;
  const auto [at, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || at != text.data() + text.size()) return std::nullopt;
  if (value < 1 || value > kMostValue) return std::nullopt;
  return value;
}

std::optional<std::int64_t> read_limit(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  std::array<char, 33> text{};
  const ssize_t n = ::read(fd, text.data(), text.size());
  ::close(fd);
  if (n <= 0 || n == static_cast<ssize_t>(text.size())) return std::nullopt;
  return limit_value({text.data(), static_cast<std::size_t>(n)});
}

bool write_limit(const fs::path& path, std::int64_t value) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_TRUNC | O_NONBLOCK);
  if (fd < 0) return false;
  const std::string text = std::to_string(value);
  const ssize_t n = ::write(fd, text.data(), text.size());
  return ::close(fd) == 0 && n == static_cast<ssize_t>(text.size());
}

/// The number behind `prefix`, where nothing else follows.
std::optional<int> numbered(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix) || name.size() == prefix.size() || name.size() > prefix.size() + 5)
    return std::nullopt;
  name.remove_prefix(prefix.size());
  int number = 0;
  const auto [at, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (problem != std::errc{} || at != name.data() + name.size() || number < 0) return std::nullopt;
  return number;
}

/// Folders of this name with a number behind it, in order of the numbers.
std::vector<fs::path> numbered_folders(const fs::path& root, const char* in, std::string_view prefix) {
  std::vector<std::pair<int, fs::path>> found;
  std::error_code ec;
  for (fs::directory_iterator at(root / in, ec), end; !ec && at != end; at.increment(ec)) {
    const std::string name = at->path().filename().string();
    if (const auto number = numbered(name, prefix); number && found.size() < kMostLimits)
      found.emplace_back(*number, fs::path(in) / name);
  }
  std::ranges::sort(found);
  std::vector<fs::path> out;
  out.reserve(found.size());
  for (auto& [number, path] : found) out.push_back(std::move(path));
  return out;
}

/// Nothing where one of them is not as the kernel describes it: then none is touched.
std::optional<std::vector<EnergyLimit>> frequency_limits(const fs::path& root, const LimitFiles& files) {
  std::vector<EnergyLimit> out;
  for (const fs::path& policy : numbered_folders(root, kPolicies, "policy")) {
    const auto read = [&](const char* name) { return files.read(root / policy / name); };
    const auto found = read("scaling_max_freq");
    const auto least = read("cpuinfo_min_freq");
    const auto most = read("cpuinfo_max_freq");
    const auto chosen_least = read("scaling_min_freq");
    if (!found || !least || !most || !chosen_least) return std::nullopt;
    const std::int64_t floor = std::max(*least, *chosen_least);
    if (*found < floor || *found > *most) return std::nullopt;
    out.push_back({.file = policy / "scaling_max_freq", .found = *found, .set = *found, .floor = floor});
  }
  return out;
}

std::optional<std::vector<EnergyLimit>> power_limits(const fs::path& root, const LimitFiles& files) {
  constexpr int kMostConstraints = 8;
  std::vector<EnergyLimit> out;
  std::error_code ec;
  for (const fs::path& zone : numbered_folders(root, kZones, "intel-rapl:")) {
    for (int k = 0; k < kMostConstraints; ++k) {
      const fs::path file = zone / fmt::format("constraint_{}_power_limit_uw", k);
      if (!fs::exists(root / file, ec)) break;
      const auto found = files.read(root / file);
      if (!found) return std::nullopt;
      const auto least = files.read(root / zone / fmt::format("constraint_{}_min_power_uw", k));
      out.push_back({.file = file, .found = *found, .set = *found, .floor = least.value_or(1)});
    }
  }
  return out;
}

/// Whether a path of a state file names a limit that we would have set ourselves.
bool is_limit(const fs::path& file) {
  const std::string folder = file.parent_path().filename().string();
  const std::string name = file.filename().string();
  if (file.parent_path().parent_path() == kPolicies)
    return numbered(folder, "policy") && name == "scaling_max_freq";
  if (file.parent_path().parent_path() != kZones || !numbered(folder, "intel-rapl:")) return false;
  constexpr std::string_view kEnd = "_power_limit_uw";
  return name.ends_with(kEnd) &&
         numbered(std::string_view(name).substr(0, name.size() - kEnd.size()), "constraint_").has_value();
}

/// Start of a process in clock ticks after boot, field 22 of its stat; 0 where it cannot be read.
std::int64_t start_of(const fs::path& root, std::int64_t process) {
  const int fd = ::open((root / "proc" / std::to_string(process) / "stat").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  std::array<char, 1024> text{};
  const ssize_t n = ::read(fd, text.data(), text.size());
  ::close(fd);
  if (n <= 0) return 0;
  std::string_view rest(text.data(), static_cast<std::size_t>(n));
  const std::size_t name_end = rest.rfind(')');  // a name may hold anything
  if (name_end == std::string_view::npos) return 0;
  rest.remove_prefix(name_end + 1);
  for (int field = 3; field < 22; ++field) {
    const std::size_t space = rest.find(' ', 1);
    if (space == std::string_view::npos) return 0;
    rest.remove_prefix(space);
  }
  rest.remove_prefix(1);
  return limit_value(rest.substr(0, rest.find(' '))).value_or(0);
}

struct State {
  std::int64_t process = 0;
  std::int64_t start = 0;
  std::vector<EnergyLimit> limits;
};

std::string to_text(const State& state) {
  std::string text = fmt::format("{}\n{} {}\n", kHeader, state.process, state.start);
  for (const EnergyLimit& limit : state.limits)
    text += fmt::format("{} {} {}\n", limit.file.string(), limit.found, limit.set);
  return text;
}

std::vector<std::string_view> split_line(std::string_view text, char at) {
  std::vector<std::string_view> out;
  for (;;) {
    const std::size_t end = text.find(at);
    out.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

/// Nothing where any line is not one that we would write: then no line is trusted.
std::optional<State> parse_state(std::string_view text) {
  if (text.empty() || text.back() != '\n') return std::nullopt;
  text.remove_suffix(1);
  const std::vector<std::string_view> lines = split_line(text, '\n');
  if (lines.size() < 3 || lines.size() > kMostLimits + 2 || lines[0] != kHeader) return std::nullopt;
  State state;
  const std::vector<std::string_view> owner = split_line(lines[1], ' ');
  if (owner.size() != 2) return std::nullopt;
  const auto process = limit_value(owner[0]);
  const auto start = owner[1] == "0" ? std::optional<std::int64_t>{0} : limit_value(owner[1]);
  if (!process || !start) return std::nullopt;
  state.process = *process;
  state.start = *start;
  for (std::size_t i = 2; i < lines.size(); ++i) {
    const std::vector<std::string_view> words = split_line(lines[i], ' ');
    if (words.size() != 3) return std::nullopt;
    const auto found = limit_value(words[1]);
    const auto set = limit_value(words[2]);
    if (!found || !set || *set > *found || !is_limit(words[0])) return std::nullopt;
    state.limits.push_back({.file = words[0], .found = *found, .set = *set, .floor = 1});
  }
  return state;
}

/// Empty where there is none.
Result<std::optional<State>> read_state(const fs::path& root) {
  const fs::path file = root / kState;
  std::error_code ec;
  if (fs::symlink_status(file, ec).type() == fs::file_type::not_found) return std::nullopt;
  const auto bad = [&](const std::string& why) {
    return fail(
        energy_error("observe-009", Errc::InvalidInput,
                     fmt::format("{}: {}, expected what cox observe --energy-cap writes", file.string(), why),
                     "compare the limits of this host with its defaults, then remove the file"));
  };
  if (fs::symlink_status(file, ec).type() != fs::file_type::regular) return bad("not a regular file");
  const Result<std::string> text = read_file(file, kMostState);
  if (!text) return bad(text.error().message);
  std::optional<State> state = parse_state(*text);
  if (!state) return bad("damaged");
  return state;
}

bool is_running(const fs::path& root, const State& state) {
  const std::int64_t start = start_of(root, state.process);
  return start != 0 && start == state.start;
}

Error held_by(const std::string& whom) {
  return energy_error("observe-008", Errc::Infeasible,
                      fmt::format("{} holds the energy limits of this host", whom),
                      "wait until that job has ended; one job at a time can cap a host");
}

/// The most that a limit may be put back to; hostile values stop here.
std::int64_t ceiling_of(const fs::path& root, const EnergyLimit& limit, const LimitFiles& files) {
  const std::string name = limit.file.filename().string();
  const fs::path folder = root / limit.file.parent_path();
  if (name == "scaling_max_freq") return files.read(folder / "cpuinfo_max_freq").value_or(0);
  constexpr std::int64_t kMostPower = 10'000'000'000;  // 10 kW: more than any package draws
  const std::string most = name.substr(0, name.find("_power_limit_uw")) + "_max_power_uw";
  return files.read(folder / most).value_or(kMostPower);
}

enum class Put { Back, Others, Failed };

/// A limit above its cap was set by somebody else since. One at or below it goes back: the kernel shows less
/// than was written while the processor is hot.
Put put_back(const fs::path& root, const EnergyLimit& limit, const LimitFiles& files) {
  const fs::path path = root / limit.file;
  const auto now = files.read(path);
  if (!now) return Put::Failed;
  if (*now == limit.found) return Put::Back;
  if (*now > limit.set) return Put::Others;
  if (!files.write(path, limit.found)) return Put::Failed;
  const auto after = files.read(path);
  return after && *after <= limit.found && *after > limit.set ? Put::Back : Put::Failed;
}

/// Takes the file of this process away; one that another job has written meanwhile stays.
void remove_state(const fs::path& root, std::int64_t process) {
  const auto now = read_state(root);
  if (now && *now && (*now)->process != process) return;
  std::error_code ec;
  fs::remove(root / kState, ec);
}

/// Puts all of them back and takes the file away; the file stays where one failed.
Result<std::size_t> put_all_back(const fs::path& root, std::int64_t process,
                                 const std::vector<EnergyLimit>& limits, const LimitFiles& files) {
  std::vector<std::string> failed;
  std::size_t back = 0;
  for (const EnergyLimit& limit : limits) {
    const Put put = put_back(root, limit, files);
    if (put == Put::Failed) failed.push_back((root / limit.file).string());
    if (put == Put::Back) ++back;
  }
  if (!failed.empty())
    return fail(energy_error("observe-009", Errc::Io,
                             fmt::format("{} of {} limits could not be put back, the first is {}",
                                         failed.size(), limits.size(), failed.front()),
                             "cox doctor --restore-energy, as a user who may write it"));
  remove_state(root, process);
  return back;
}

/// Each with its own value, read back: nothing that cannot be written again is ever lowered.
bool can_put_back(const fs::path& root, const std::vector<EnergyLimit>& limits, const LimitFiles& files) {
  return std::ranges::all_of(limits, [&](const EnergyLimit& limit) {
    return files.write(root / limit.file, limit.found) && files.read(root / limit.file) == limit.found;
  });
}

std::int64_t lowered(const EnergyLimit& limit, double ratio) {
  const auto value = static_cast<std::int64_t>(static_cast<double>(limit.found) * ratio);
  return std::clamp(value, std::min(limit.floor, limit.found), limit.found);
}

/// The record before anything is lowered. A cap that the hardware has rounded up is ours even where we were
/// killed before it was read back: until then `set` is the most that a cap may show.
State state_before(std::vector<EnergyLimit> limits, std::int64_t process, std::int64_t start) {
  for (EnergyLimit& limit : limits) {
    const auto most = static_cast<std::int64_t>(static_cast<double>(limit.set) * kRounding);
    limit.set = std::min(most, limit.found - 1);
  }
  return {.process = process, .start = start, .limits = std::move(limits)};
}

}  // namespace

LimitFiles real_limit_files() {
  return {.read = read_limit, .write = write_limit};
}

EnergyCap::EnergyCap(EnergyCap&& other) noexcept
    : root_(std::move(other.root_)),
      files_(std::move(other.files_)),
      limits_(std::exchange(other.limits_, {})),
      ratio_(other.ratio_) {}

EnergyCap::~EnergyCap() {
  static_cast<void>(restore());
}

Status EnergyCap::restore() {
  const std::vector<EnergyLimit> limits = std::exchange(limits_, {});
  if (limits.empty()) return {};
  COX_CHECK(put_all_back(root_, getpid(), limits, files_));
  return {};
}

std::string EnergyCap::summary() const {
  const bool frequency = !limits_.empty() && limits_.front().file.filename() == "scaling_max_freq";
  return fmt::format("{} {} {} at {:.3g} of what {} found", limits_.size(), frequency ? "frequency" : "power",
                     limits_.size() == 1 ? "limit" : "limits", ratio_, limits_.size() == 1 ? "was" : "were");
}

/// The limits are known and the state file stands.
Status EnergyCap::lower(double ratio) {
  for (EnergyLimit& limit : limits_) {
    const std::int64_t wanted = limit.set;
    const fs::path path = root_ / limit.file;
    const bool written = files_.write(path, wanted);
    const auto after = files_.read(path);
    if (written && after && *after <= limit.found &&
        static_cast<double>(*after) <= static_cast<double>(wanted) * kRounding) {
      limit.set = std::max(*after, wanted);  // less is the heat's doing, not ours
      continue;
    }
    // This one is tried at once; `set` is where `restore` tries again.
    static_cast<void>(files_.write(path, limit.found));
    limit.set = std::clamp(after.value_or(wanted), wanted, limit.found - 1);
    if (Status back = restore(); !back) return back;
    return fail(energy_error("observe-007", Errc::Unsupported,
                             fmt::format("{} was set to {} and shows {}", path.string(), wanted,
                                         after ? std::to_string(*after) : "nothing"),
                             "all limits are back; leave --energy-cap out on this host"));
  }
  ratio_ = ratio;
  const State state{.process = getpid(), .start = start_of(root_, getpid()), .limits = limits_};
  COX_CHECK(write_file_atomically(root_ / kState, to_text(state), IfExists::Replace));
  return {};
}

Result<EnergyCap> EnergyCap::apply(const fs::path& root, double ratio, const LimitFiles& files) {
  const auto refuse = [](std::string message, std::string hint) {
    return fail(energy_error("observe-007", Errc::Unsupported, std::move(message), std::move(hint)));
  };
  if (!(ratio >= kLeastEnergyRatio && ratio < 1))
    return refuse(
        fmt::format("energy cap {:g}, expected a ratio from {:g} to below 1", ratio, kLeastEnergyRatio),
        "0.8 caps frequency or power at 80 % of the limit that holds now");
  COX_TRY(const std::optional<State> left, read_state(root));
  if (left) COX_CHECK(restore_left_caps(root, files));

  EnergyCap cap(root, files);
  bool seen = false;
  for (const auto& find : {frequency_limits, power_limits}) {
    std::optional<std::vector<EnergyLimit>> limits = find(root, files);
    if (!limits || limits->empty()) continue;
    seen = true;
    for (EnergyLimit& limit : *limits) limit.set = lowered(limit, ratio);
    std::erase_if(*limits, [](const EnergyLimit& limit) { return limit.set == limit.found; });
    if (limits->empty()) continue;  // all at their least already
    // What was found is on record before anything is written; of several jobs one gets the file.
    const State state = state_before(*limits, getpid(), start_of(root, getpid()));
    if (const Status made = write_file_atomically(root / kState, to_text(state), IfExists::Fail); !made) {
      if (made.error().id == "base-005") return fail(held_by("another process"));
      return refuse(fmt::format("{}: {}", (root / kState).string(), made.error().message),
                    "run as a user who may write there, usually root");
    }
    cap.limits_ = *std::move(limits);
    if (can_put_back(root, cap.limits_, files)) {
      COX_CHECK(cap.lower(ratio));
      return cap;
    }
    COX_CHECK(cap.restore());
  }
  return refuse(seen ? "this host's frequency and power limits cannot be written and put back"
                     : "this host offers no frequency or power limit",
                "leave --energy-cap out, or ask who runs this host for write access to its limits");
}

EnergyState energy_state(const fs::path& root) {
  const LimitFiles files = real_limit_files();
  EnergyState out;
  const auto frequency = frequency_limits(root, files);
  const auto power = power_limits(root, files);
  if (frequency) out.frequency_limits = frequency->size();
  if (power) out.power_limits = power->size();
  const auto& offered = out.frequency_limits > 0 ? frequency : power;
  out.writable = offered && !offered->empty() && ::access((root / kState).parent_path().c_str(), W_OK) == 0 &&
                 std::ranges::all_of(*offered, [&](const EnergyLimit& limit) {
                   return ::access((root / limit.file).c_str(), W_OK) == 0;
                 });
  const auto state = read_state(root);
  out.unreadable = !state;
  out.has_file = !state || state->has_value();
  if (!state || !*state) return out;
  out.process = (*state)->process;
  out.running = is_running(root, **state);
  out.held = (*state)->limits.size();
  return out;
}

Result<std::size_t> restore_left_caps(const fs::path& root, const LimitFiles& files) {
  COX_TRY(const std::optional<State> state, read_state(root));
  if (!state) return 0;
  if (is_running(root, *state)) return fail(held_by(fmt::format("process {}", state->process)));
  for (const EnergyLimit& limit : state->limits)
    if (limit.found > ceiling_of(root, limit, files))
      return fail(energy_error("observe-009", Errc::InvalidInput,
                               fmt::format("{} names {} for {}, more than the hardware allows",
                                           (root / kState).string(), limit.found, limit.file.string()),
                               "compare the limits of this host with its defaults, then remove the file"));
  return put_all_back(root, state->process, state->limits, files);
}

}  // namespace cox::observe

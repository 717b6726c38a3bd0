// SPDX-License-Identifier: Apache-2.0
// Guest code: libc only.
#include "cox/pace/settings.hpp"

#include <locale.h>  // NOLINT(modernize-deprecated-headers): newlocale

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "pace/arithmetic.hpp"

namespace cox::pace {
namespace {

// With a decimal point wherever the host program's locale has a comma. (glibc makes no object for "C".)
double number_at(const char* text, char** end) {
  static locale_t plain = newlocale(LC_ALL_MASK, "C", static_cast<locale_t>(nullptr));
  return plain == nullptr ? strtod(text, end) : strtod_l(text, end, plain);
}

bool read_number(const char* text, double low, double high, double& out) {
  char* end = nullptr;
  const double value = number_at(text, &end);
  if (end == text || *end != 0 || !(value >= low && value <= high)) return false;
  out = value;
  return true;
}

// An integer in [low, high].
template <class T>
bool read_count(const char* text, double low, double high, T& out) {
  double value = 0;
  if (!read_number(text, low, high, value) || value != static_cast<double>(static_cast<T>(value)))
    return false;
  out = static_cast<T>(value);
  return true;
}

// A number and one of ns, us, ms, s.
bool read_duration(const char* text, Duration longest, Duration& out) {
  char* end = nullptr;
  const double value = number_at(text, &end);
  if (end == text || !(value >= 0)) return false;
  double unit = 0;
  if (strcmp(end, "ns") == 0) unit = 1;
  if (strcmp(end, "us") == 0) unit = 1e3;
  if (strcmp(end, "ms") == 0) unit = 1e6;
  if (strcmp(end, "s") == 0) unit = 1e9;
  if (unit == 0 || value * unit > to_ns(longest)) return false;
  out = from_ns(value * unit);
  return true;
}

template <class Enum>
bool read_name(const char* text, Enum last, Enum& out) {
  for (std::uint8_t i = 0; i <= static_cast<std::uint8_t>(last); ++i) {
    if (strcmp(text, name_of(static_cast<Enum>(i))) != 0) continue;
    out = static_cast<Enum>(i);
    return true;
  }
  return false;
}

using Read = bool (*)(Settings&, const char*);
struct Row {
  Parameter about;
  Read read;
};

constexpr auto kLongestDelay = std::chrono::seconds{10};

// NOLINTBEGIN(bugprone-macro-parentheses)
#define COX_NAME(field, last) [](Settings& s, const char* v) { return read_name(v, last, s.field); }
#define COX_COUNT(field, low, high) \
  [](Settings& s, const char* v) { return read_count(v, low, high, s.field); }
#define COX_RATIO(field, low, high) \
  [](Settings& s, const char* v) { return read_number(v, low, high, s.field); }
#define COX_TIME(field) [](Settings& s, const char* v) { return read_duration(v, kLongestDelay, s.field); }
// NOLINTEND(bugprone-macro-parentheses)

constexpr Row kRows[] = {
    {{"mode", "", "off", "which rule decides: off, observe, paper, auto, always, random"},
     COX_NAME(mode, Mode::Random)},
    {{"objective", "", "throughput", "what the test of auto compares: throughput, tail, energy"},
     COX_NAME(objective, Objective::Energy)},
    {{"placement", "", "iteration", "where the delay is served: iteration, collective"},
     COX_NAME(placement, Placement::Collective)},
    {{"seed", "", "1",
      "fixes, with the step number, which blocks are paced; the same on all ranks; cox observe draws one per job"},
     COX_COUNT(seed, 0, 9e15)},
    {{"window", "steps", "64",
      "waits that the rolling window holds; also the part of the budget given at the start"},
     COX_COUNT(window, 2, 256)},
    {{"warm_up", "steps", "32", "observations before the first decision"}, COX_COUNT(warm_up, 2, 1e6)},
    {{"max_delay", "time", "100ms", "no delay is longer"}, COX_TIME(max_delay)},
    {{"max_ratio", "of an iteration", "0.25", "no delay is longer than this share of a typical iteration"},
     COX_RATIO(max_ratio, 0, 1)},
    {{"min_delay", "time", "100us", "slack below it is left alone: a timer is not that exact"},
     COX_TIME(min_delay)},
    {{"share", "of predictable slack", "0.8", "how much of its predictable slack a rank gives up"},
     COX_RATIO(share, 0, 1)},
    {{"deviations", "standard deviations", "1",
      "predictable slack lies so far below the mean wait, times the expected largest of as many standard "
      "normals as there are ranks: with 1, ranks that are alike have none"},
     COX_RATIO(deviations, 0, 100)},
    {{"budget", "of run time", "0.005", "what finding out may cost in all, beside one window at the start"},
     COX_RATIO(budget, 0, 1)},
    {{"alpha", "", "0.05",
      "share of the jobs in which pacing changes nothing that may ever hold, over all tests of a job"},
     COX_RATIO(alpha, 1e-9, 0.5)},
    {{"min_gain", "of an iteration", "0.005", "a benefit below it is none"}, COX_RATIO(min_gain, 0, 1)},
    {{"block", "steps", "8", "length of a paced or unpaced block"}, COX_COUNT(block, 2, 64)},
    {{"settle", "steps", "1", "left out at the beginning of a block"}, COX_COUNT(settle, 0, 62)},
    {{"min_pairs", "pairs of blocks", "4", "before the test may decide for pacing"},
     COX_COUNT(min_pairs, 2, 1e6)},
    {{"max_pairs", "pairs of blocks", "32",
      "after which an undecided test counts as no benefit; up to two more for each doubling of the job's length"},
     COX_COUNT(max_pairs, 2, 1e6)},
    {{"retry", "steps", "256", "pause after a test without benefit; doubles each time, to 64 times this"},
     COX_COUNT(retry, 1, 1e9)},
    {{"carry", "steps", "256",
      "how long a delay's cost may take to be over: so much of each long crossover of a hold is left out; 0 = no "
      "crossover, and costs that come after the next block are not seen"},
     COX_COUNT(carry, 0, 65536)},
    {{"idle_power", "of full power", "0.3", "objective energy: what a sleeping rank draws"},
     COX_RATIO(idle_power, 0, 1)},
    {{"activate", "of an iteration", "0.05",
      "mode paper: root mean square of the waits above which it paces"},
     COX_RATIO(activate, 0, 1)},
    {{"release", "of an iteration", "0.025", "mode paper: below which it stops again"},
     COX_RATIO(release, 0, 1)},
    {{"paper_share", "of the mean wait", "0.5", "modes paper and always: how much of it is delayed"},
     COX_RATIO(paper_share, 0, 1)},
    {{"transfer_latency", "time", "unknown", "calibration: time of a synchronisation of no bytes"},
     COX_TIME(transfer_latency)},
    {{"transfer_ps_per_byte", "ps/B", "0", "calibration: further time per byte of its size"},
     COX_RATIO(transfer_ps_per_byte, 0, 1e9)},
    {{"order", "time", "0s",
      "longest that a collective of a pool of threads (PyTorch with Gloo) is held for the one before it; not "
      "tested, and given up after 8 that waited in vain; 0s = not held"},
     COX_TIME(order)},
};
#undef COX_NAME
#undef COX_COUNT
#undef COX_RATIO
#undef COX_TIME

constexpr std::size_t kCount = sizeof kRows / sizeof kRows[0];

struct Table {
  Parameter rows[kCount];
};
constexpr Table kTable = [] {
  Table out{};
  for (std::size_t i = 0; i < kCount; ++i) out.rows[i] = kRows[i].about;
  return out;
}();

constexpr std::size_t kLongestPart = 64;

}  // namespace

std::span<const Parameter> parameters() noexcept {
  return kTable.rows;
}

bool set(Settings& settings, const char* key, const char* value) noexcept {
  for (const Row& row : kRows)
    if (strcmp(row.about.key, key) == 0) return row.read(settings, value);
  return false;
}

std::ptrdiff_t set_all(Settings& settings, const char* text) noexcept {
  Settings changed = settings;
  for (const char* at = text; *at != 0;) {
    const std::size_t length = strcspn(at, ",");
    char part[kLongestPart] = {};
    if (length >= sizeof part) return at - text;
    memcpy(part, at, length);
    char* equals = strchr(part, '=');
    if (equals != nullptr) *equals = 0;
    const bool good = equals != nullptr ? set(changed, part, equals + 1) : set(changed, "mode", part);
    if (!good) return at - text;
    at += length + (at[length] == ',' ? 1 : 0);
  }
  settings = changed;
  return -1;
}

}  // namespace cox::pace

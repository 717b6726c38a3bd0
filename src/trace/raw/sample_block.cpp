// SPDX-License-Identifier: Apache-2.0
#include "trace/raw/sample_block.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace cox::trace {
namespace {

constexpr std::size_t kWords = sizeof(RawSample) / 8;
using Words = std::array<std::uint64_t, kWords>;
static_assert(sizeof(Words) == sizeof(RawSample));

constexpr std::uint64_t kNoCount = ~std::uint64_t{0};
constexpr std::uint32_t kNoSmallCount = ~std::uint32_t{0};

std::optional<Duration> time_of(std::uint64_t value, std::int64_t picoseconds) {
  constexpr std::int64_t kLongest = 100LL * 86'400 * 1'000'000'000'000;
  if (value > static_cast<std::uint64_t>(kLongest / picoseconds)) return std::nullopt;
  return Duration{static_cast<std::int64_t>(value) * picoseconds};
}

std::optional<std::int64_t> count_of(std::uint64_t value) {
  if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

std::optional<std::int64_t> small_count_of(std::uint32_t value) {
  if (value == kNoSmallCount) return std::nullopt;
  return std::int64_t{value};
}

std::uint64_t raw_time(const std::optional<Duration>& time, std::int64_t picoseconds) {
  return time && *time >= Duration::zero() ? static_cast<std::uint64_t>(time->count() / picoseconds)
                                           : kNoCount;
}

template <class T>
std::uint64_t raw_count(const std::optional<T>& count) {
  return count ? static_cast<std::uint64_t>(*count) : kNoCount;
}

}  // namespace

std::string encode_samples(const std::vector<RawSample>& samples, std::size_t first, std::size_t count) {
  std::string out(count * sizeof(RawSample), '\0');
  Words before{};
  for (std::size_t i = 0; i < count; ++i) {
    Words now;
    std::memcpy(now.data(), &samples[first + i], sizeof now);
    for (std::size_t w = 0; w < kWords; ++w) {
      const std::uint64_t gap = now[w] - before[w];
      std::memcpy(out.data() + (w * count + i) * 8, &gap, 8);
    }
    before = now;
  }
  return out;
}

bool decode_samples(std::string_view bytes, std::vector<RawSample>& into) {
  const std::size_t count = bytes.size() / sizeof(RawSample);
  if (bytes.size() % sizeof(RawSample) != 0 || count > kSamplesPerBlock) return false;
  Words now{};
  into.reserve(into.size() + count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t w = 0; w < kWords; ++w) {
      std::uint64_t gap = 0;
      std::memcpy(&gap, bytes.data() + (w * count + i) * 8, 8);
      now[w] += gap;
    }
    std::memcpy(&into.emplace_back(), now.data(), sizeof now);
  }
  return true;
}

void sort_samples(std::vector<RawSample>& samples) {
  std::stable_sort(samples.begin(), samples.end(),
                   [](const RawSample& a, const RawSample& b) { return a.ticks < b.ticks; });
}

bool same_samples(const std::vector<RawSample>& a, const std::vector<RawSample>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(RawSample)) == 0);
}

Sample sample_of(const RawSample& raw, Duration at) {
  constexpr std::int64_t kNs = 1000;
  constexpr std::int64_t kUs = 1'000'000;
  Sample s;
  s.at = at;
  s.cpu = time_of(raw.cpu_ns, kNs);
  s.main_cpu = time_of(raw.main_cpu_ns, kNs);
  s.main_wait = time_of(raw.main_wait_ns, kNs);
  s.throttled = time_of(raw.throttled_us, kUs);
  s.pressure = time_of(raw.pressure_us, kUs);
  s.voluntary = count_of(raw.voluntary);
  s.involuntary = count_of(raw.involuntary);
  s.minor_faults = count_of(raw.minor_faults);
  s.major_faults = count_of(raw.major_faults);
  s.frequency_khz = small_count_of(raw.frequency_khz);
  s.thermal_throttles = small_count_of(raw.thermal_throttles);
  if (raw.threads <= INT32_MAX) s.threads = static_cast<int>(raw.threads);
  if (raw.cpu >= 0) s.cpu_number = raw.cpu;
  const bool letter = (raw.state >= 'A' && raw.state <= 'Z') || (raw.state >= 'a' && raw.state <= 'z');
  s.state = letter ? raw.state : '\0';
  return s;
}

RawSample raw_sample_of(const Sample& s, std::uint64_t ticks) {
  RawSample raw{};
  raw.ticks = ticks;
  raw.cpu_ns = raw_time(s.cpu, 1000);
  raw.main_cpu_ns = raw_time(s.main_cpu, 1000);
  raw.main_wait_ns = raw_time(s.main_wait, 1000);
  raw.throttled_us = raw_time(s.throttled, 1'000'000);
  raw.pressure_us = raw_time(s.pressure, 1'000'000);
  raw.voluntary = raw_count(s.voluntary);
  raw.involuntary = raw_count(s.involuntary);
  raw.minor_faults = raw_count(s.minor_faults);
  raw.major_faults = raw_count(s.major_faults);
  raw.frequency_khz = static_cast<std::uint32_t>(raw_count(s.frequency_khz));
  raw.thermal_throttles = static_cast<std::uint32_t>(raw_count(s.thermal_throttles));
  raw.threads = static_cast<std::uint32_t>(raw_count(s.threads));
  raw.cpu = s.cpu_number.value_or(-1);
  raw.state = s.state;
  return raw;
}

}  // namespace cox::trace

// SPDX-License-Identifier: Apache-2.0
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>

#include "bench/probe/wire.hpp"

namespace cox::bench::probe {
namespace {

constexpr int kWindow = 16;  ///< messages back to back in the bandwidth test
constexpr std::size_t kNameBytes = 64;
constexpr std::size_t kMostBytes = std::size_t{1} << 30;

/// The same clock for all ranks of a machine.
double now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

void sleep_until(double when) {
  const double whole = std::floor(when);
  const timespec t{.tv_sec = static_cast<time_t>(whole), .tv_nsec = static_cast<long>((when - whole) * 1e9)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) == EINTR) {
  }
}

int repetitions_for(std::size_t bytes, const Request& request) {
  if (request.repetitions > 0) return request.repetitions;
  return bytes <= 4096 ? 200 : bytes <= 65536 ? 50 : 10;
}

std::array<std::byte, kNameBytes> host_name() {
  std::array<std::byte, kNameBytes> name{};
  utsname system{};
  if (uname(&system) == 0)
    std::memcpy(name.data(), system.nodename, std::min(kNameBytes - 1, std::strlen(system.nodename)));
  return name;
}

/// Rank 0's partners: the first rank on its host and the first on another; -1 where there is none.
std::array<int, 2> choose_partners(Wire& wire) {
  std::array<std::byte, kNameBytes> own = host_name();
  std::array<int, 2> partners{-1, -1};
  std::span<std::byte> as_bytes = std::as_writable_bytes(std::span(partners));
  if (wire.rank() != 0) {
    wire.send(0, own);
    wire.receive(0, as_bytes);
    return partners;
  }
  for (int r = 1; r < wire.ranks(); ++r) {
    std::array<std::byte, kNameBytes> other{};
    wire.receive(r, other);
    int& partner = partners[other == own ? 0 : 1];
    if (partner < 0) partner = r;
  }
  for (int r = 1; r < wire.ranks(); ++r) wire.send(r, as_bytes);
  return partners;
}

/// Half of a round trip, per repetition.
void ping_pong(Wire& wire, const char* place, int partner, std::span<std::byte> data, int repetitions) {
  constexpr int kWarmUp = 3;
  for (int i = -kWarmUp; i < repetitions; ++i) {
    if (wire.rank() != 0) {
      wire.receive(0, data);
      wire.send(0, data);
      continue;
    }
    const double begin = now();
    wire.send(partner, data);
    wire.receive(partner, data);
    if (i >= 0) std::printf("message %s %zu %.9f\n", place, data.size(), (now() - begin) / 2);
  }
}

/// Time per message where they follow each other without an answer between, and what of it the sender spends
/// in starting one.
void stream(Wire& wire, const char* place, int partner, std::span<std::byte> data, int repetitions) {
  std::array<std::byte, 1> done{};
  for (int i = -1; i < repetitions; ++i) {
    if (wire.rank() != 0) {
      for (int k = 0; k < kWindow; ++k) wire.receive(0, data);
      wire.send(0, done);
      continue;
    }
    double starting = 0;
    const double begin = now();
    for (int k = 0; k < kWindow; ++k) {
      const double before = now();
      wire.begin_send(partner, data);
      starting += now() - before;
      wire.finish_send();
    }
    wire.receive(partner, done);
    if (i < 0) continue;
    std::printf("stream %s %zu %.9f\n", place, data.size(), (now() - begin) / kWindow);
    std::printf("start %s %zu %.9f\n", place, data.size(), starting / kWindow);
  }
}

void measure_pairs(Wire& wire, const Request& request) {
  const std::array<int, 2> partners = choose_partners(wire);
  std::vector<std::byte> buffer(*std::max_element(request.sizes.begin(), request.sizes.end()));
  constexpr std::array<const char*, 2> kPlaces{"inside", "across"};
  for (std::size_t p = 0; p < 2; ++p) {
    for (const std::size_t bytes : request.sizes) {
      const std::span<std::byte> data(buffer.data(), bytes);
      if (partners[p] > 0 && (wire.rank() == 0 || wire.rank() == partners[p])) {
        ping_pong(wire, kPlaces[p], partners[p], data, repetitions_for(bytes, request));
        stream(wire, kPlaces[p], partners[p], data, std::max(5, repetitions_for(bytes, request) / 10));
      }
      static_cast<void>(wire.largest(0));  // the others wait here
    }
  }
}

/// Every rank begins at the same instant of the machine's clock, so the arrivals are equal.
int measure_all_reduce(Wire& wire, const Request& request) {
  struct Sample {
    std::size_t bytes;
    int repetition;
    double begin, end;
  };
  std::vector<Sample> samples;
  const int repetitions = request.repetitions > 0 ? request.repetitions : 7;
  const auto ranks = static_cast<float>(wire.ranks());
  for (const std::size_t bytes : request.sizes) {
    std::vector<float> values(std::max<std::size_t>(1, bytes / sizeof(float)));
    for (int i = -1; i < repetitions; ++i) {
      std::fill(values.begin(), values.end(), 1.0F);
      sleep_until(wire.largest(now()) + request.pause_s);
      const double begin = now();
      wire.all_reduce(values);
      const double end = now();
      if (i >= 0) samples.push_back({.bytes = bytes, .repetition = i, .begin = begin, .end = end});
      if (values.front() != ranks || values.back() != ranks) {
        std::fprintf(stderr, "the all-reduce of %zu bytes gave a wrong sum\n", bytes);
        return 1;
      }
    }
  }
  for (int r = 0; r < wire.ranks(); ++r) {
    if (r == wire.rank()) {
      for (const Sample& s : samples)
        std::printf("allreduce %d %zu %d %.9f %.9f\n", r, s.bytes, s.repetition, s.begin, s.end);
      std::fflush(stdout);
    }
    static_cast<void>(wire.largest(0));
  }
  return 0;
}

bool read_number(std::string_view word, std::size_t most, std::size_t& value) {
  const auto [at, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
  return problem == std::errc{} && at == word.data() + word.size() && value >= 1 && value <= most;
}

}  // namespace

bool read_request(std::span<char*> words, Request& request) {
  std::size_t i = 0;
  for (; i + 1 < words.size() && std::string_view(words[i]).starts_with("--"); i += 2) {
    const std::string_view name = words[i];
    if (std::size_t n = 0; name == "--repetitions" && read_number(words[i + 1], 100'000, n))
      request.repetitions = static_cast<int>(n);
    else if (name == "--pause")
      request.pause_s = std::clamp(std::strtod(words[i + 1], nullptr), 0.0, 10.0);
    else
      return false;
  }
  if (i == words.size()) return false;
  const std::string_view what = words[i++];
  request.all_reduce = what == "allreduce";
  if (!request.all_reduce && what != "pairs") return false;
  for (; i < words.size(); ++i) {
    std::size_t bytes = 0;
    if (!read_number(words[i], kMostBytes, bytes)) return false;
    request.sizes.push_back(bytes);
  }
  if (request.sizes.empty() && !request.all_reduce)
    for (std::size_t bytes = 8; bytes <= std::size_t{4} << 20; bytes *= 2) request.sizes.push_back(bytes);
  return !request.sizes.empty();
}

int run(Wire& wire, const Request& request) {
  if (wire.ranks() < 2) {
    std::fprintf(stderr, "only one rank was started; two are the least\n");
    return 1;
  }
  if (wire.rank() == 0) {
    std::printf("# cox-bench-net 1\n# library %s\n# ranks %d\n", wire.library().c_str(), wire.ranks());
    std::fflush(stdout);
  }
  int status = 0;
  if (request.all_reduce)
    status = measure_all_reduce(wire, request);
  else
    measure_pairs(wire, request);
  std::fflush(stdout);
  return status;
}

}  // namespace cox::bench::probe

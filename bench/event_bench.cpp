// SPDX-License-Identifier: Apache-2.0
// The event engine on GOAL schedules, by hand:
//   event_bench run FILE LOGGOPS [hosts]   runs it; messages per second of processor time, peak memory;
//                                          with `hosts` when each rank is done, in picoseconds
//   event_bench convert TEXT BINARY        writes the binary form; bytes of text per second
// FILE is text or binary. Compare with LogGOPSim on the same binary: docs/concepts/event-engine.md.
#include <fmt/format.h>
#include <sys/resource.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cox/simulate/goal.hpp"

namespace {

double user_seconds() {
  rusage u{};
  ::getrusage(RUSAGE_SELF, &u);
  return static_cast<double>(u.ru_utime.tv_sec) + static_cast<double>(u.ru_utime.tv_usec) * 1e-6 +
         static_cast<double>(u.ru_stime.tv_sec) + static_cast<double>(u.ru_stime.tv_usec) * 1e-6;
}

long peak_kib() {
  rusage u{};
  ::getrusage(RUSAGE_SELF, &u);
  return u.ru_maxrss;
}

int complain(const cox::Error& error) {
  fmt::print(stderr, "{} [{}]\n", error.to_string(), error.id);
  return EXIT_FAILURE;
}

int run(const std::string& file, std::string_view parameters, bool hosts) {
  const auto cost = cox::simulate::parse_loggops(parameters);
  if (!cost) return complain(cost.error());
  const double before = user_seconds();
  const auto outcome = cox::simulate::simulate_goal(file, *cost);
  const double took = user_seconds() - before;
  if (!outcome) return complain(outcome.error());
  double last = 0;
  for (std::size_t rank = 0; rank < outcome->finish.size(); ++rank) {
    const double ps = std::round(outcome->finish[rank].count() * 1e12);
    last = std::max(last, ps);
    if (hosts) fmt::print("Host {}: {:.0f}\n", rank, ps);
  }
  fmt::print(
      "ranks {} messages {} events {} last {:.0f} ps; cpu {:.3f} s, {:.2f} M messages/s, peak {} KiB\n",
      outcome->finish.size(), outcome->messages, outcome->events, last, took,
      static_cast<double>(outcome->messages) / took / 1e6, peak_kib());
  return EXIT_SUCCESS;
}

int convert(const std::string& text, const std::string& binary) {
  const double before = user_seconds();
  const auto bytes = cox::read_file(text, std::size_t{8} << 30);
  if (!bytes) return complain(bytes.error());
  const double read = user_seconds();
  const auto out = cox::simulate::goal_binary(*bytes, text);
  const double took = user_seconds() - read;
  if (!out) return complain(out.error());
  const auto written = cox::write_file_atomically(binary, *out, cox::IfExists::Replace);
  if (!written) return complain(written.error());
  fmt::print("{} bytes of text to {}: cpu {:.3f} s (reading {:.3f} s), {:.0f} MB/s\n", bytes->size(),
             out->size(), took, read - before, static_cast<double>(bytes->size()) / took / 1e6);
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view verb = argc > 3 ? argv[1] : "";
  if (verb == "run") return run(argv[2], argv[3], argc > 4);
  if (verb == "convert") return convert(argv[2], argv[3]);
  fmt::print(stderr, "event_bench run FILE LOGGOPS [hosts] | event_bench convert TEXT BINARY\n");
  return EXIT_FAILURE;
}

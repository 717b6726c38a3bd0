// SPDX-License-Identifier: Apache-2.0
#include "training.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include "mlp.hpp"

namespace example {
namespace {

using Clock = std::chrono::steady_clock;

constexpr float kLearningRate = 0.1F;
constexpr int kRotatePeriod = 5;
constexpr int kPausePeriod = 10;

[[noreturn]] void usage_error(const std::string& program, const std::string& message) {
  std::fprintf(stderr, "%s: %s (see --help)\n", program.c_str(), message.c_str());
  std::exit(2);
}

[[noreturn]] void print_help(const std::string& program, bool has_ranks) {
  std::printf("usage: %s [options]\nTrains a small model with real data-parallel processes.\n\n",
              program.c_str());
  if (has_ranks) std::printf("  --ranks N             processes (8)\n");
  std::printf(
      "  --steps N             training steps (120)\n"
      "  --batch N             samples per rank and step (512)\n"
      "  --slow-rank R|none    who is made slow (3 where there is a fault)\n"
      "  --fault KIND          none, compute, host, transient, rotating, alternate, pause (compute where\n"
      "                        --slow-rank is given)\n"
      "  --extra-percent N     extra work of a compute fault (300)\n"
      "  --host-wait-ms N      wait of a host fault or a pause (25)\n"
      "  --buckets N           all-reduces per step, each of a part of the gradient (1)\n"
      "  --fault-bucket B      the fault strikes before this one only, from 0 (spread over all)\n"
      "  --seed N              data and initial weights (1)\n"
      "  --print-every N       steps between two losses that are printed (a tenth of all)\n"
      "  --timing              print each rank's own times at the end\n"
      "  --times-to DIR        write DIR/rank-N.csv: step, entry and exit of its all-reduce in ns\n");
  std::exit(0);
}

long parse_number(const std::string& program, const char* flag, const char* text, long low, long high) {
  char* end = nullptr;
  const long v = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || v < low || v > high) {
    usage_error(program, std::string(flag) + ": got '" + text + "', expected a number from " +
                             std::to_string(low) + " to " + std::to_string(high));
  }
  return v;
}

Fault parse_fault(const std::string& program, std::string_view text) {
  if (text == "none") return Fault::None;
  if (text == "compute") return Fault::Compute;
  if (text == "host") return Fault::Host;
  if (text == "transient") return Fault::Transient;
  if (text == "rotating") return Fault::Rotating;
  if (text == "alternate") return Fault::Alternate;
  if (text == "pause") return Fault::Pause;
  usage_error(program, "--fault: got '" + std::string(text) +
                           "', expected none, compute, host, transient, rotating, alternate or pause");
}

/// Whether `rank` is the victim in `step`.
bool struck(const Options& o, const Crew& crew, int step) {
  switch (o.fault) {
    case Fault::None:
      return false;
    case Fault::Compute:
    case Fault::Host:
      return crew.rank == o.slow_rank;
    case Fault::Transient:
      return crew.rank == o.slow_rank && step >= o.steps / 3 && step < 2 * o.steps / 3;
    case Fault::Rotating:
      return crew.rank == (step / kRotatePeriod) % crew.ranks;
    case Fault::Alternate:
      return crew.rank == (o.slow_rank + step % 2 * (crew.ranks / 2)) % crew.ranks;
    case Fault::Pause:
      return crew.rank == o.slow_rank && step % kPausePeriod == kPausePeriod - 1;
  }
  return false;
}

struct Part {
  std::ptrdiff_t first = 0;
  std::ptrdiff_t end = 0;
};

Part part_of(std::size_t parameters, int buckets, int bucket) {
  const auto all = static_cast<std::ptrdiff_t>(parameters);
  return {all * bucket / buckets, all * (bucket + 1) / buckets};
}

double median_ms(std::vector<double> v) {
  if (v.empty()) return 0;
  const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  return *middle;
}

double ms_between(Clock::time_point a, Clock::time_point b) {
  return std::chrono::duration<double, std::milli>(b - a).count();
}

void write_times(const std::string& folder, int rank, const std::vector<Clock::time_point>& entries,
                 const std::vector<Clock::time_point>& exits) {
  const std::string path = folder + "/rank-" + std::to_string(rank) + ".csv";
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) {
    std::perror(path.c_str());
    return;
  }
  auto ns = [](Clock::time_point t) {
    return static_cast<long long>(std::chrono::nanoseconds(t.time_since_epoch()).count());
  };
  std::fprintf(file, "step,enter_ns,leave_ns\n");
  for (std::size_t i = 0; i < entries.size(); ++i) {
    std::fprintf(file, "%zu,%lld,%lld\n", i, ns(entries[i]), ns(exits[i + 1]));
  }
  std::fclose(file);
}

}  // namespace

Options parse_options(int argc, char** argv, const std::string& program, bool has_ranks) {
  Options o;
  std::optional<Fault> fault;
  std::optional<int> slow;
  bool nobody = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "-h" || flag == "--help") print_help(program, has_ranks);
    if (flag == "--timing") {
      o.timing = true;
      continue;
    }
    if (i + 1 >= argc) usage_error(program, "unknown option or missing value: " + std::string(flag));
    const char* value = argv[++i];
    auto number = [&](long low, long high) {
      return static_cast<int>(parse_number(program, argv[i - 1], value, low, high));
    };
    if (flag == "--ranks" && has_ranks) {
      o.ranks = number(1, 1024);
    } else if (flag == "--steps") {
      o.steps = number(1, 100'000'000);
    } else if (flag == "--batch") {
      o.batch = number(1, 1'000'000);
    } else if (flag == "--slow-rank") {
      if (std::strcmp(value, "none") == 0) {
        nobody = true;
      } else {
        slow = number(0, 1'000'000);
      }
    } else if (flag == "--fault") {
      fault = parse_fault(program, value);
    } else if (flag == "--extra-percent") {
      o.extra_percent = number(0, 100'000);
    } else if (flag == "--host-wait-ms") {
      o.host_wait_ms = number(0, 3'600'000);
    } else if (flag == "--buckets") {
      o.buckets = number(1, 64);
    } else if (flag == "--fault-bucket") {
      o.fault_bucket = number(0, 63);
    } else if (flag == "--times-to") {
      o.times_to = value;
    } else if (flag == "--seed") {
      o.seed = static_cast<std::uint64_t>(number(0, 2'000'000'000));
    } else if (flag == "--print-every") {
      o.print_every = number(1, 1'000'000'000);
    } else {
      usage_error(program, "unknown option: " + std::string(flag));
    }
  }
  if (o.fault_bucket >= o.buckets)
    usage_error(program, "--fault-bucket: got " + std::to_string(o.fault_bucket) + ", expected less than " +
                             std::to_string(o.buckets) + ", as many as --buckets says");
  o.slow_rank = slow.value_or(o.slow_rank);
  o.fault = nobody ? Fault::None : fault.value_or(slow ? Fault::Compute : Fault::None);
  return o;
}

Outcome train(const Options& options, const Crew& crew) {
  Shard shard(options.seed, crew.rank);
  Mlp model(options.seed);
  const auto parameters = static_cast<std::size_t>(Mlp::parameters());
  std::vector<float> buffer(parameters + 1);  // the gradient, and the loss behind it
  std::vector<float> gradient(parameters + 1);
  std::vector<float> losses;
  std::vector<Clock::time_point> entries;
  std::vector<Clock::time_point> exits{Clock::now()};  // exits[s] is when step s began
  const int extra = static_cast<int>(static_cast<long>(options.batch) * options.extra_percent / 100);

  for (int step = 0; step < options.steps; ++step) {
    const bool is_struck = struck(options, crew, step);
    const bool waits = options.fault == Fault::Host || options.fault == Fault::Pause;
    for (int bucket = 0; bucket < options.buckets; ++bucket) {
      const bool here = is_struck && (options.fault_bucket < 0 || options.fault_bucket == bucket);
      int samples = std::max(1, options.batch / options.buckets);
      if (here && waits && (options.fault_bucket == bucket || bucket == 0))
        std::this_thread::sleep_for(std::chrono::milliseconds(options.host_wait_ms));
      if (here && !waits) samples += options.fault_bucket < 0 ? extra / options.buckets : extra;
      // Each part of the gradient is that of its own samples; the last one has the loss behind it.
      const float loss = model.gradient_of(shard.next(samples), gradient);
      const Part part = part_of(parameters, options.buckets, bucket);
      std::copy(gradient.begin() + part.first, gradient.begin() + part.end, buffer.begin() + part.first);
      const bool last = bucket + 1 == options.buckets;
      if (last) buffer[parameters] = loss;
      if (bucket == 0) entries.push_back(Clock::now());
      crew.all_reduce(std::span(buffer).subspan(static_cast<std::size_t>(part.first),
                                                static_cast<std::size_t>(part.end - part.first) + last));
    }
    exits.push_back(Clock::now());

    const float share = 1.0F / static_cast<float>(crew.ranks);
    for (float& v : buffer) v *= share;
    model.descend(buffer, kLearningRate);
    losses.push_back(buffer[parameters]);
    crew.after_step(step, losses.back());
    const int every = options.print_every > 0 ? options.print_every : std::max(1, options.steps / 10);
    if (crew.rank == 0 && (step % every == every - 1 || step + 1 == options.steps)) {
      std::printf("step %d: loss %.4f\n", step + 1, static_cast<double>(losses.back()));
      std::fflush(stdout);
    }
  }

  Outcome outcome{.steps = static_cast<int>(losses.size())};
  const std::size_t tenth = std::max<std::size_t>(1, losses.size() / 10);
  for (std::size_t i = 0; i < tenth; ++i) {
    outcome.first_loss += losses[i] / static_cast<float>(tenth);
    outcome.last_loss += losses[losses.size() - 1 - i] / static_cast<float>(tenth);
  }
  std::vector<double> own;
  std::vector<double> reduce;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    own.push_back(ms_between(exits[i], entries[i]));
    reduce.push_back(ms_between(entries[i], exits[i + 1]));
  }
  outcome.own_ms = median_ms(std::move(own));
  outcome.reduce_ms = median_ms(std::move(reduce));
  if (!options.times_to.empty()) write_times(options.times_to, crew.rank, entries, exits);
  return outcome;
}

}  // namespace example

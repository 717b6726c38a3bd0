// SPDX-License-Identifier: Apache-2.0
// make_run --ranks N --steps N -o DIR [...]: writes a synthetic Run folder, for benchmarks and by hand.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "cox/base/units_text.hpp"
#include "cox/pace/settings.hpp"
#include "cox/trace/compact.hpp"

#include "support/make_run.hpp"
#include "support/paced_run.hpp"

namespace {

constexpr const char* kUsage =
    "usage: make_run --ranks N --steps N -o DIR [--collectives N] [--work TIME] [--jitter TIME]\n"
    "                [--transfer TIME] [--bytes SIZE] [--slow-rank R --extra TIME] [--rotate STEPS]\n"
    "                [--first-step N] [--last-step N] [--nodes N] [--seed N] [--no-marks] [--raw]\n"
    "                [--pace SETTINGS [--contention TIME]]\n";

int usage(const std::string& why) {
  std::fprintf(stderr, "make_run: %s\n%s", why.c_str(), kUsage);
  return 2;
}

template <class T>
bool take(const cox::Result<T>& value, T& into) {
  if (value) into = *value;
  return value.has_value();
}

bool take_int(const char* text, int& into) {
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  into = static_cast<int>(value);
  return *text != 0 && *end == 0 && value >= 0 && value <= INT32_MAX;
}

struct Options {
  cox::test::RunShape shape{.step_marks = true};
  cox::test::ExtraWork extra{.rank = -1};
  std::string out;
  bool raw = false;
  cox::test::PacedShape paced{.settings = ""};
};

/// Takes one flag with its value. False where there is no such flag or its value is bad.
bool apply(const std::string& flag, const char* value, Options& o) {
  using cox::parse_bytes;
  using cox::parse_duration;
  if (flag == "--ranks") return take_int(value, o.shape.ranks) && o.shape.ranks > 0;
  if (flag == "--steps") return take_int(value, o.shape.steps);
  if (flag == "--collectives") return take_int(value, o.shape.collectives) && o.shape.collectives > 0;
  if (flag == "--nodes") return take_int(value, o.shape.nodes) && o.shape.nodes > 0;
  if (flag == "--work") return take(parse_duration(value), o.shape.work);
  if (flag == "--jitter") return take(parse_duration(value), o.shape.jitter);
  if (flag == "--transfer") return take(parse_duration(value), o.shape.transfer);
  if (flag == "--bytes") return take(parse_bytes(value), o.shape.bytes);
  if (flag == "--slow-rank") return take_int(value, o.extra.rank);
  if (flag == "--extra") return take(parse_duration(value), o.extra.amount);
  if (flag == "--rotate") return take_int(value, o.extra.rotate_every);
  if (flag == "--first-step") return take_int(value, o.extra.first_step);
  if (flag == "--last-step") return take_int(value, o.extra.last_step);
  if (flag == "--seed") {
    int seed = 0;
    if (!take_int(value, seed)) return false;
    o.shape.seed = static_cast<std::uint64_t>(seed);
    return true;
  }
  if (flag == "--contention") return take(parse_duration(value), o.paced.contention);
  if (flag == "--pace") {
    o.paced.settings = value;
    cox::pace::Settings checked;
    return *value != 0 && cox::pace::set_all(checked, value) < 0;
  }
  if (flag == "-o") {
    o.out = value;
    return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--no-marks")
      o.shape.step_marks = false;
    else if (flag == "--raw")
      o.raw = true;
    else if (i + 1 >= argc || !apply(flag, argv[i + 1], o))
      return usage("bad option " + flag);
    else
      ++i;
  }
  if (o.out.empty()) return usage("no -o DIR");
  if (o.extra.rank >= 0) o.shape.extras.push_back(o.extra);
  o.paced.ranks = o.shape.ranks;
  o.paced.steps = o.shape.steps;
  o.paced.seed = o.shape.seed;
  const cox::trace::Run run =
      o.paced.settings.empty() ? cox::test::make_run(o.shape) : cox::test::make_paced_run(o.paced);
  if (o.raw) return cox::test::write_raw_files(run, o.out) ? 0 : 4;
  const auto status = cox::trace::write_run(run, o.out);
  if (!status) std::fprintf(stderr, "make_run: %s\n", status.error().to_string().c_str());
  return status ? 0 : 4;
}

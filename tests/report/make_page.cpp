// SPDX-License-Identifier: Apache-2.0
// Writes the pages that the browser tests open: make_page <case> <output.html> [anonymize]
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

#include "cox/base/file.hpp"
#include "cox/diagnose/diagnosis.hpp"
#include "cox/report/report.hpp"

#include "diagnose/match/synthetic_stencil.hpp"
#include "report/forecast_sample.hpp"
#include "report/sample.hpp"
#include "support/make_run.hpp"
#include "support/paced_run.hpp"

namespace {

using namespace std::chrono_literals;
using cox::Rank;
using cox::diagnose::FindingKind;

struct Made {
  cox::trace::Run run;
  cox::diagnose::Diagnosis diagnosis;
};

Made make(const cox::test::RunShape& shape) {
  Made made;
  made.run = cox::test::make_run(shape);
  made.run.info.command = "mpirun -np " + std::to_string(shape.ranks) + " ./train --epochs 3";
  made.run.info.started = "2026-07-14T09:30:00Z";
  made.run.info.tool = "cox 0.1.0";
  made.run.info.exit_status = 0;
  made.diagnosis = cox::test::sample_diagnosis(made.run);
  return made;
}

Made slow_rank(int ranks, int steps, int slow) {
  Made made = make({.ranks = ranks,
                    .steps = steps,
                    .jitter = 400us,
                    .extras = {{.rank = slow, .amount = 4ms}},
                    .nodes = ranks > 8 ? (ranks + 7) / 8 : 1});
  made.diagnosis.findings = {cox::test::slow_rank_finding(slow)};
  made.diagnosis.lead =
      "Rank " + std::to_string(slow) +
      " works 4.02 ms longer than the median rank in every step, and all others wait for it. "
      "Without that, steps would take 10.6 ms instead of 14.6 ms (estimated).";
  return made;
}

Made rotating() {
  Made made =
      make({.ranks = 8, .steps = 400, .jitter = 300us, .extras = {{.amount = 5ms, .rotate_every = 20}}});
  cox::diagnose::Finding f = cox::test::slow_rank_finding(0);
  f.kind = FindingKind::RotatingStraggler;
  f.rank.reset();
  f.ranks = {Rank{0}, Rank{1}, Rank{2}, Rank{3}, Rank{4}, Rank{5}, Rank{6}, Rank{7}};
  made.diagnosis.findings = {f};
  made.diagnosis.lead = "One rank at a time is late, and after 20 steps it is the next one's turn.";
  return made;
}

Made transient() {
  Made made = make({.ranks = 8,
                    .steps = 400,
                    .jitter = 300us,
                    .extras = {{.rank = 5, .amount = 6ms, .first_step = 150, .last_step = 230}}});
  cox::diagnose::Finding f = cox::test::slow_rank_finding(5);
  f.kind = FindingKind::TransientStraggler;
  f.first_step = cox::StepId{150};
  f.last_step = cox::StepId{230};
  made.diagnosis.findings = {f};
  made.diagnosis.lead = "Rank 5 was late from step 150 to step 230, and not before or after.";
  return made;
}

/// A halo exchange that waits for messages, and for all in a sum now and then.
Made stencil() {
  Made made;
  made.run = cox::diagnose::testing::make_stencil(
      {.steps = 120, .sum_every = 10, .work = [](int rank, int) { return rank == 2 ? 1500us : 1000us; }});
  made.diagnosis = *cox::diagnose::diagnose(made.run);
  return made;
}

/// Names that try to leave their place in the page, calls that never returned, steps not found.
Made hostile() {
  Made made = slow_rank(8, 60, 3);
  const std::string attack =
      "</script><script>window.pwned=1</script><img src=x onerror=window.pwned=1>\"'&\x1b[31m\xff";
  made.run.nodes.front().host = attack + std::string(300, 'x');
  made.run.info.command = "./train " + attack + " ]]> <!-- " + std::string(600, 'y');
  made.run.info.name = attack;
  made.run.notes = {{attack, attack}};
  made.diagnosis.lead += " " + attack;
  made.diagnosis.cannot_tell.push_back(attack);
  for (auto& track : made.run.ranks) track.events.end.back() = cox::trace::kStillRunning;
  made.diagnosis.coverage.unfinished_calls = 8;
  return made;
}

Made without_steps() {
  Made made = make({.ranks = 4, .steps = 50});
  auto& d = made.diagnosis;
  d.step_source = cox::diagnose::StepSource::None;
  d.steps = 0;
  d.step_times.clear();
  d.step_time = {};
  d.communicators.clear();
  return made;
}

/// The whole way, with the real diagnosis: two hosts whose clocks differ by two seconds.
Made diagnosed() {
  Made made = slow_rank(8, 200, 3);
  made.run = cox::test::make_run({.ranks = 8,
                                  .steps = 200,
                                  .jitter = 400us,
                                  .extras = {{.rank = 3, .amount = 4ms}},
                                  .nodes = 2,
                                  .clock_offset = {0s, 2s}});
  auto real = cox::diagnose::diagnose(made.run);
  if (real) made.diagnosis = *std::move(real);
  return made;
}

/// Paced by real controllers, where early ranks take something from late ones (`pays`) and where they do not.
Made paced(bool pays) {
  Made made;
  made.run =
      cox::test::make_paced_run({.ranks = 8, .slow = 2, .steps = 1200, .contention = pays ? 3ms : 0ms});
  auto real = cox::diagnose::diagnose(made.run);
  if (real) made.diagnosis = *std::move(real);
  return made;
}

Made make_case(std::string_view name) {
  if (name == "paced") return paced(true);
  if (name == "paced_in_vain") return paced(false);
  if (name == "nobody") return make({.ranks = 8, .steps = 300, .jitter = 300us});
  if (name == "one") return make({.ranks = 1, .steps = 40});
  if (name == "large") return slow_rank(1000, 1000, 417);
  if (name == "long") return slow_rank(8, 125'000, 3);
  if (name == "rotating") return rotating();
  if (name == "transient") return transient();
  if (name == "stencil") return stencil();
  if (name == "hostile") return hostile();
  if (name == "diagnosed") return diagnosed();
  if (name == "without_steps") return without_steps();
  return slow_rank(8, 300, 3);
}

int write_forecast(const cox::report::ForecastPage& forecast, const char* path) {
  const auto page = cox::report::render_forecast(forecast);
  if (!page) {
    std::fprintf(stderr, "%s\n", page.error().to_string().c_str());
    return 3;
  }
  return cox::write_file_atomically(path, *page, cox::IfExists::Replace) ? 0 : 4;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: make_page <case> <output.html> [anonymize]\n", stderr);
    return 2;
  }
  if (std::string_view(argv[1]) == "forecast") return write_forecast(cox::test::sample_forecast(), argv[2]);
  if (std::string_view(argv[1]) == "hostile_forecast")
    return write_forecast(cox::test::hostile_forecast(), argv[2]);
  const Made made = make_case(argv[1]);
  cox::report::ReportOptions options;
  if (argc > 3) options.anonymize = cox::report::Anonymize::Yes;
  const auto page =
      cox::report::render_html(made.run, *cox::diagnose::match_run(made.run), made.diagnosis, options);
  if (!page) {
    std::fprintf(stderr, "%s\n", page.error().to_string().c_str());
    return 3;
  }
  const auto written = cox::write_file_atomically(argv[2], *page, cox::IfExists::Replace);
  if (!written) {
    std::fprintf(stderr, "%s\n", written.error().to_string().c_str());
    return 4;
  }
  std::printf("%zu bytes, %zu events\n", page->size(), made.run.event_count());
  return 0;
}

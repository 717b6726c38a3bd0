// SPDX-License-Identifier: Apache-2.0
/// \file
/// One self-contained HTML page from a Run, as it was matched, and its Diagnosis.
#pragma once

#include <span>
#include <string>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/diagnose/comparison.hpp"
#include "cox/diagnose/diagnosis.hpp"
#include "cox/diagnose/matched.hpp"
#include "cox/simulate/attribution.hpp"
#include "cox/simulate/outcome.hpp"
#include "cox/trace/run.hpp"

namespace cox::report {

/// Whether names of hosts, paths and command lines are replaced (`host-1`, `program-1`); numbers stay.
enum class Anonymize : bool { No, Yes };

struct ReportOptions {
  Anonymize anonymize = Anonymize::No;
  Bytes size_limit{15'000'000};  ///< beyond it neighbouring steps are merged, and the page says so
  const diagnose::Comparison* against = nullptr;     ///< the same job before a change
  const simulate::Outcome* simulated = nullptr;      ///< of a simulated Run: engine, notes, load of the links
  std::span<const simulate::SizeOutcome> scaling{};  ///< in rising order of ranks
};

/// The whole page: opens offline, no request leaves it, light and dark.
/// Errors: report-001 (nothing to draw). Cost: linear in events.
/// Held by: src/report/report_test.cpp, tests/report.
[[nodiscard]] Result<std::string> render_html(const trace::Run& run, const diagnose::Matched& matched,
                                              const diagnose::Diagnosis& diagnosis,
                                              const ReportOptions& options = {});

}  // namespace cox::report

// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/forecast_control.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ostream>
#include <string>
#include <utility>

#include "cox/base/units_text.hpp"
#include "cox/model/toml.hpp"
#include "cox/report/forecast.hpp"
#include "cox/report/terminal.hpp"

#include "cli/output/failure.hpp"
#include "cli/output/output_file.hpp"

namespace cox::cli {
namespace {

constexpr double kDay = 86'400;

/// A number above 0; zero where the option is not there.
Result<double> amount(const Invocation& call, const std::string& name, const char* like) {
  const std::string text = call.value(name);
  if (text.empty()) return 0.0;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size() && value > 0 && std::isfinite(value))
    return value;
  return fail(usage_error("forecast-036",
                          fmt::format("--{}: got '{}', expected a number above 0", name, text), like));
}

}  // namespace

Result<std::optional<forecast::ControlQuestion>> control_question(const Invocation& call,
                                                                  forecast::Scaling scaling) {
  COX_TRY(const double tokens, amount(call, "tokens", "like 15e12"));
  COX_TRY(const double per_step, amount(call, "tokens-per-step", "like 4e6"));
  COX_TRY(const double within, amount(call, "days", "like 30; leave it out for the days of each size"));
  if ((tokens > 0) != (per_step > 0) || (within > 0 && !(tokens > 0)))
    return fail(usage_error("forecast-036", "a training needs both --tokens and --tokens-per-step",
                            "like --tokens 15e12 --tokens-per-step 4e6"));
  const std::string target = call.value("target"), prices = call.value("price");
  forecast::LeverPrices priced;
  if (!prices.empty()) {
    COX_TRY(priced, forecast::parse_prices(prices));
  }
  if (!prices.empty() && !call.has("levers") && target.empty())
    return fail(usage_error(
        "cli-003",
        fmt::format(
            "--price: got '{}', which prices no lever that is asked for, expected --levers or --target beside it",
            prices),
        "add --levers, or leave --price out"));
  if (!call.has("levers") && target.empty() && !(tokens > 0))
    return std::optional<forecast::ControlQuestion>{};
  forecast::ControlQuestion out;
  out.levers = call.has("levers");
  out.options.threads = call.common.threads;
  if (!target.empty()) {
    COX_TRY(out.target, forecast::parse_target(target));
  }
  out.options.prices = std::move(priced);
  if (tokens > 0) {
    out.training =
        forecast::Training{.tokens = tokens,
                           .tokens_per_step = per_step,
                           .rule = scaling == forecast::Scaling::Strong ? forecast::BatchRule::Stays
                                                                        : forecast::BatchRule::Grows};
    if (within > 0) out.training->within = Seconds{within * kDay};
  }
  return std::optional(std::move(out));
}

Result<forecast::StructureQuestion> structure_question(const Invocation& call) {
  const std::string text = call.value("delay");
  forecast::StructureQuestion out{.asked = call.has("structure") || !text.empty(),
                                  .drawn = !call.value("report").empty()};
  if (text.empty()) return out;
  const auto delay = parse_seconds(text);
  if (!delay)
    return fail(usage_error("cli-003", fmt::format("--delay: {}", delay.error().message), "like 50ms"));
  if (!(*delay > Seconds{}))
    return fail(
        usage_error("cli-003", fmt::format("--delay: got '{}', expected a time above 0", text), "like 50ms"));
  out.delay = *delay;
  return out;
}

Status write_report(const Invocation& call, const forecast::MadeForecast& made, Console& console) {
  const std::string name = call.value("report");
  if (name.empty()) return {};
  std::vector<report::Artefact> artefacts{
      {.name = "forecast.json", .what = "everything that was found", .text = made.to_json(call.args)}};
  if (made.shown().scenario)
    artefacts.push_back({.name = "scenario.toml",
                         .what = "for cox simulate",
                         .text = model::scenario_toml(*made.shown().scenario)});
  COX_TRY(const std::string page, report::forecast_page(made.shown(), std::move(artefacts)));
  COX_TRY(Output output,
          Output::open(name, call.has("force") ? IfExists::Replace : IfExists::Fail, console.out));
  output.stream() << page;
  COX_CHECK(output.commit());
  if (!call.common.quiet && output.is_file())
    console.err << fmt::format("cox: wrote {}\n", report::terminal_text(name));
  return {};
}

}  // namespace cox::cli

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
#include "cox/report/forecast_content.hpp"
#include "cox/report/terminal.hpp"

#include "cli/output/failure.hpp"
#include "cli/output/output_file.hpp"

namespace cox::cli {
namespace {

constexpr double kDay = 86'400;

/// A number above 0; zero where the option is not there.
Result<double> amount(const Invocation& call, const std::string& name) {
  const std::string text = call.value(name);
  if (text.empty()) return 0.0;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size() && value > 0 && std::isfinite(value))
    return value;
  return fail(usage_error(
      "forecast-036", fmt::format("--{}: got '{}', expected a number above 0", name, text), "like 15e12"));
}

}  // namespace

Result<std::optional<forecast::ControlQuestion>> control_question(const Invocation& call) {
  COX_TRY(const double tokens, amount(call, "tokens"));
  COX_TRY(const double per_step, amount(call, "tokens-per-step"));
  COX_TRY(const double within, amount(call, "days"));
  if ((tokens > 0) != (per_step > 0) || (within > 0 && !(tokens > 0)))
    return fail(usage_error("forecast-036", "a training needs both --tokens and --tokens-per-step",
                            "like --tokens 15e12 --tokens-per-step 4e6"));
  const std::string target = call.value("target");
  if (!call.has("levers") && target.empty() && !(tokens > 0))
    return std::optional<forecast::ControlQuestion>{};
  forecast::ControlQuestion out;
  out.levers = call.has("levers");
  out.options.threads = call.common.threads;
  if (!target.empty()) {
    COX_TRY(out.target, forecast::parse_target(target));
  }
  if (const std::string prices = call.value("price"); !prices.empty()) {
    COX_TRY(out.options.prices, forecast::parse_prices(prices));
  }
  if (tokens > 0) {
    out.training =
        forecast::Training{.tokens = tokens,
                           .tokens_per_step = per_step,
                           .rule = call.value("scaling", "weak") == "strong" ? forecast::BatchRule::Stays
                                                                             : forecast::BatchRule::Grows};
    if (within > 0) out.training->within = Seconds{within * kDay};
  }
  return std::optional(std::move(out));
}

Result<forecast::StructureQuestion> structure_question(const Invocation& call) {
  const std::string text = call.value("delay");
  forecast::StructureQuestion out{.asked = call.has("structure") || !text.empty()};
  if (text.empty()) return out;
  const auto delay = parse_seconds(text);
  if (!delay || !(*delay > Seconds{}))
    return fail(
        usage_error("cli-003", fmt::format("--delay: got '{}', expected a time above 0", text), "like 50ms"));
  out.delay = *delay;
  return out;
}

Status add_control(forecast::ControlQuestion question, const forecast::Evidence& evidence,
                   const forecast::Question& asked, forecast::Forecast& made) {
  // Levers of training steps change a scenario; those of all other jobs change their parts.
  const bool training =
      evidence.scenario && std::holds_alternative<model::TrainingJob>(evidence.scenario->job.work);
  const bool by_parts = made.parts && !training && (question.levers || question.target);
  forecast::ControlQuestion played = question;
  if (by_parts) {
    played.levers = false;
    played.target.reset();
  }
  if (made.scenario) {
    const int devices = std::max(made.scenario->cluster.devices_per_node, 1);
    for (const std::int64_t r : asked.sizes)
      if (r % devices == 0) played.nodes.push_back(r / devices);
    COX_TRY(made.control, forecast::make_control(*made.scenario, played));
  } else if (!by_parts || question.training) {
    return fail(Error{.code = Errc::Unsupported,
                      .id = "forecast-035",
                      .message = "there is no scenario to change" +
                                 (made.no_scenario.empty() ? std::string() : ": " + made.no_scenario),
                      .hint = "leave --levers, --target and --tokens out, or give a Run or a scenario",
                      .where = {}});
  }
  if (by_parts) forecast::add_part_levers(made, evidence, asked, question);
  return {};
}

Status write_report(const Invocation& call, const forecast::Forecast& made, Console& console) {
  const std::string name = call.value("report");
  if (name.empty()) return {};
  std::vector<report::Artefact> artefacts{{.name = "forecast.json",
                                           .what = "everything that was found",
                                           .text = forecast::to_json(made, call.args)}};
  if (made.scenario)
    artefacts.push_back(
        {.name = "scenario.toml", .what = "for cox simulate", .text = model::scenario_toml(*made.scenario)});
  COX_TRY(const std::string page, report::render_forecast(report::page_of(made, std::move(artefacts))));
  COX_TRY(Output output,
          Output::open(name, call.has("force") ? IfExists::Replace : IfExists::Fail, console.out));
  output.stream() << page;
  COX_CHECK(output.commit());
  if (!call.common.quiet && output.is_file())
    console.err << fmt::format("cox: wrote {}\n", report::terminal_text(name));
  return {};
}

}  // namespace cox::cli

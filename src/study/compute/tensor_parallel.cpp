// SPDX-License-Identifier: Apache-2.0
// Tensor parallelism: C.17.
#include <fmt/format.h>

#include "study/compute/collective_run.hpp"
#include "study/compute/computations.hpp"

namespace cox::study {

Result<Computation> compute_tensor_parallel(const Inputs& in, const ComputeOptions& /*options*/) {
  COX_TRY(const int hidden, in.count("hidden"));
  COX_TRY(const int layers, in.count("layers"));
  COX_TRY(const std::vector<int> ways, in.counts("devices", {.least = 2, .most = 4096}));
  COX_TRY(const Bytes element_coded, in.size("bytes per element, as coded"));
  COX_TRY(const Bytes element, in.size("bytes per element"));
  COX_TRY(const int sequence, in.count("sequence"));
  COX_TRY(const int samples, in.count("samples"));
  COX_TRY(const int per_layer, in.count("all-reduces per layer", {.least = 1, .most = 64}));
  COX_TRY(const Quantity layer_work, in.quantity("work per layer, as coded", Dimension::Work));
  COX_TRY(const Quantity peak, in.quantity("peak", Dimension::WorkRate));
  COX_TRY(const Bandwidth inside, in.rate("bandwidth inside a node"));
  COX_TRY(const Bandwidth both_ways, in.rate("bandwidth, both directions"));
  COX_TRY(const Bandwidth between, in.rate("bandwidth between nodes"));
  const Seconds none{0};
  Computation out;
  const Bytes message = element * (std::int64_t{samples} * sequence * hidden);
  const double count = static_cast<double>(per_layer) * layers;
  // Parameters of a layer: 12 h^2 (four projections of attention,
  // two of the feed-forward block of width 4 h).
  const double parameters = 12.0 * hidden * hidden;
  const double tokens = static_cast<double>(samples) * sequence;
  // 2 operations per parameter and token forward, 4 backward, over the devices that share a layer.
  const Seconds compute =
      Flops{6 * parameters * tokens * layers / ways.front()} / FlopRate::flops_per_s(peak.in_base_unit());
  add(out, "message", Quantity::of(message), kClosedForm);
  add(out, "compute", Quantity::of(compute), kClosedForm);
  add(out, "parameters-per-layer", Quantity::count(parameters), kClosedForm);
  add(out, "as-coded-per-token",
      Quantity(Dimension::Size, 2.0 * hidden * static_cast<double>(element_coded.count()) * layers),
      kClosedForm);
  add(out, "work-as-coded", Quantity(Dimension::Work, layer_work.in_base_unit() * layers), kClosedForm);
  Series shares{.name = "communication over compute", .x = {}, .y = {}};
  for (const int k : ways) {
    const model::CollectiveSpec ring = all_reduce(model::Algorithm::Ring, k, message);
    COX_TRY(const Seconds one,
            checked_time(out, fmt::format("ring over {}", k), ring, uniform_links(none, inside)));
    COX_TRY(const Bytes sent, most_sent(ring));
    const Seconds shared_compute = compute * ways.front() / k;
    add(out, fmt::format("sent-per-device-k{}", k),
        Quantity(Dimension::Size, count * static_cast<double>(sent.count())), kSchedule);
    add(out, fmt::format("communication-k{}", k), Quantity::of(count * one), kMaxPlus);
    add(out, fmt::format("communication-over-compute-k{}", k), Quantity::ratio(count * one / shared_compute),
        kMaxPlus);
    shares.x.push_back(k);
    shares.y.push_back(100 * (count * one / shared_compute));
  }
  const model::CollectiveSpec ring = all_reduce(model::Algorithm::Ring, ways.front(), message);
  COX_TRY(const Seconds summed, idle_time(ring, uniform_links(none, both_ways)));
  COX_TRY(const Seconds outside, idle_time(ring, uniform_links(none, between)));
  add(out, "communication-over-compute-both-directions", Quantity::ratio(count * summed / compute), kMaxPlus);
  add(out, "communication-over-compute-between-nodes", Quantity::ratio(count * outside / compute), kMaxPlus);
  out.notes = {
      "A ring of one direction without latency; compute at the peak, so the shares are the "
      "least favourable to communication.",
      "The source's code has neither tokens nor the number of devices in its volume."};
  out.picture = {.title = "All-reduces of tensor parallelism over compute at peak",
                 .x_label = "devices that share a layer",
                 .y_label = "%",
                 .x_is_log = true,
                 .series = {std::move(shares)}};
  return out;
}

}  // namespace cox::study

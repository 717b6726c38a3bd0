// SPDX-License-Identifier: Apache-2.0
#include "simulate/collective/prices.hpp"

#include <fmt/format.h>

#include "cox/base/random.hpp"
#include "cox/base/units_text.hpp"

#include "simulate/collective/measured.hpp"
#include "simulate/collective/refusal.hpp"

namespace cox::simulate {

Result<WholePrice> price_whole(const model::Scenario& s, model::CollectiveSpec& spec) {
  WholePrice out;
  if (s.price == model::CollectivePrice::Table) {
    COX_TRY(const model::MeasuredTimes table, measured_times_of(s));
    const auto found = table.at(spec.kind, spec.ranks, spec.bytes);
    if (!found)
      return fail(Error{.code = Errc::InvalidInput,
                        .id = "simulate-008",
                        .message = fmt::format("no time of {} of {} ranks; there is {}", name_of(spec.kind),
                                               spec.ranks, table.what()),
                        .hint = "measure it, too, or give times for any number of ranks (*)",
                        .where = Where{.file = s.table_file}});
    out.price = *found;
    table_notes(found->in == model::InTable::Below ? std::optional(spec.bytes) : std::nullopt,
                found->in == model::InTable::Above ? std::optional(spec.bytes) : std::nullopt, out.notes);
  } else {
    const auto nccl = model::nccl_time(spec, s.nccl);
    if (!nccl)
      return not_possible(fmt::format("NCCL has no {} of {} ranks here", name_of(spec.kind), spec.ranks),
                          "leave cost.form out, or say another collective");
    out.price.time = nccl->time;
    out.notes.push_back(nccl_note(name_of(spec.kind), *nccl, s.nccl));
  }
  spec.algorithm = model::Algorithm::Ring;
  if (spec.kind == model::Collective::Broadcast || spec.kind == model::Collective::Reduce)
    spec.algorithm = model::Algorithm::BinomialTree;
  if (spec.kind == model::Collective::AllToAll) spec.algorithm = model::Algorithm::Direct;
  return out;
}

Seconds drawn_time(const model::LookedUp& whole, std::uint64_t seed, std::int64_t step, std::int64_t number) {
  if (whole.probability == 0) return whole.time;
  constexpr std::uint32_t kDipStream = 0x64697073;
  constexpr std::uint64_t kCounted = std::uint64_t{1} << 33;
  const double draw =
      RandomStream(seed, kDipStream)
          .uniform(static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(number) % kCounted);
  return draw < whole.probability ? whole.slow : whole.time;
}

void table_notes(std::optional<Bytes> below, std::optional<Bytes> above, std::vector<std::string>& notes) {
  notes.emplace_back("times of collectives are measured ones, by size; all leave together");
  if (below)
    notes.push_back(
        fmt::format("collectives of {} and more lie below the smallest size that was measured, and "
                    "are given its time",
                    to_string(*below)));
  if (above)
    notes.push_back(
        fmt::format("collectives of up to {} lie above the largest size that was measured, and are "
                    "given its bytes per second",
                    to_string(*above)));
}

std::string one_ring_note(const model::CollectiveSpec& spec, int per_node, const model::Cluster& cluster) {
  const int cards = std::min(per_node, cluster.nics_per_node);
  if (spec.algorithm != model::Algorithm::Ring || spec.channels != 1 || cards < 2 || spec.ranks <= per_node)
    return {};
  return fmt::format(
      "one ring leaves a node by one of its {} network cards; job.collective.channels = {} uses {}",
      cluster.nics_per_node, cards, cards == cluster.nics_per_node ? "all" : fmt::format("{}", cards));
}

std::string compression_note(const model::Compressed& sum, Bytes bytes) {
  return fmt::format("sums of {} are carried as {} of {}; packing takes {}, unpacking {}", to_string(bytes),
                     name_of(sum.kind), to_string(sum.bytes), to_string(sum.encode), to_string(sum.decode));
}

std::string nccl_note(std::string_view what, const model::NcclEstimate& made, const model::NcclCost& cost) {
  return fmt::format("{} by NCCL's tuning model: {}, {}, {} channels, {}; all leave together", what,
                     name_of(made.algorithm), name_of(made.protocol), cost.channels, to_string(made.time));
}

}  // namespace cox::simulate

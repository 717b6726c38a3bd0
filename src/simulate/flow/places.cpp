// SPDX-License-Identifier: Apache-2.0
#include "simulate/flow/places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "cox/base/file.hpp"
#include "cox/base/random.hpp"

#include "simulate/flow/neighbours.hpp"

namespace cox::simulate {
namespace {

constexpr std::uint32_t kPlaceStream = 0x706c6163;  ///< of the draws that shuffle places
constexpr std::size_t kMostFileBytes = 32'000'000;

tl::unexpected<Error> misplaced(std::string message, std::string hint, std::optional<Where> where = {}) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "simulate-005",
                    .message = std::move(message),
                    .hint = std::move(hint),
                    .where = std::move(where)});
}

tl::unexpected<Error> unseen(std::string message, std::string hint) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "simulate-003",
                    .message = std::move(message),
                    .hint = std::move(hint),
                    .where = {}});
}

/// Ranks of a node that move as one.
int together(const model::Scenario& s) {
  if (s.job.workload() != model::Workload::Training) return 1;
  const model::Layout& l = s.job.as<model::TrainingJob>().layout;
  return static_cast<int>(
      std::min(std::int64_t{l.tensor} * l.context, std::int64_t{s.cluster.devices_per_node}));
}

/// First devices of blocks of `block` of one node each, in the order of the ranks.
std::vector<int> blocks(const model::Scenario& s, const std::vector<int>& nodes, int block,
                        std::uint64_t seed) {
  const int devices = s.cluster.devices_per_node;
  const int slots = devices / block;
  std::vector<int> out;
  out.reserve(nodes.size() * static_cast<std::size_t>(slots));
  const auto add = [&](int node, int slot) { out.push_back(node * devices + slot * block); };
  const bool round =
      s.job.places.rule == model::PlaceRule::Scattered || s.job.places.rule == model::PlaceRule::ByRail;
  if (!round) {
    for (const int node : nodes)
      for (int slot = 0; slot < slots; ++slot) add(node, slot);
  } else {
    const bool rails = s.job.places.rule == model::PlaceRule::ByRail;
    const int width = rails ? std::max(1, slots / std::max(1, s.cluster.nics_per_node)) : 1;
    for (int first = 0; first < slots; first += width)
      for (const int node : nodes)
        for (int slot = first; slot < std::min(first + width, slots); ++slot) add(node, slot);
  }
  if (s.job.places.rule == model::PlaceRule::Random) {
    const RandomStream draws(seed, kPlaceStream);
    for (std::size_t i = out.size(); i > 1; --i) std::swap(out[i - 1], out[draws.bits(0, i - 1) % i]);
  }
  return out;
}

/// One device a line; `#` begins a comment.
class PlacementFile {
 public:
  PlacementFile(const model::Scenario& s, const std::vector<int>& nodes, int ranks, int block)
      : name_(s.job.places.file),
        devices_(s.cluster.devices_per_node),
        ranks_(ranks),
        block_(block),
        free_(static_cast<std::size_t>(s.cluster.ranks())) {
    for (const int node : nodes)
      for (int d = 0; d < devices_; ++d)
        free_[static_cast<std::size_t>(node) * static_cast<std::size_t>(devices_) +
              static_cast<std::size_t>(d)] = true;
  }

  Result<std::vector<int>> read() {
    COX_TRY(const std::string text, read_file(name_, kMostFileBytes));
    std::string_view rest = text;
    for (line_ = 1; !rest.empty(); ++line_) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      COX_CHECK(take(rest.substr(0, end)));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    if (static_cast<int>(places_.size()) != ranks_)
      return misplaced(fmt::format("{} devices for {} ranks", places_.size(), ranks_),
                       "write one line for each rank", Where{.file = name_, .line = 0, .column = 0});
    return std::move(places_);
  }

 private:
  [[nodiscard]] tl::unexpected<Error> refuse(std::string message) const {
    return misplaced(
        std::move(message),
        fmt::format("a line is the number of a device that no other rank has: node x {} + device", devices_),
        Where{.file = name_, .line = line_, .column = 1});
  }

  Status take(std::string_view line) {
    line = line.substr(0, line.find('#'));
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return {};
    line.remove_prefix(begin);
    line = line.substr(0, line.find_last_not_of(" \t\r") + 1);
    int device = -1;
    const auto read = std::from_chars(line.data(), line.data() + line.size(), device);
    if (read.ec != std::errc{} || read.ptr != line.data() + line.size())
      return refuse(fmt::format("{} characters that are no whole number", line.size()));
    if (device < 0 || static_cast<std::size_t>(device) >= free_.size())
      return refuse(fmt::format("device {}, expected 0 to {}", device, free_.size() - 1));
    if (static_cast<int>(places_.size()) == ranks_) return refuse(fmt::format("more than {} ranks", ranks_));
    if (!free_[static_cast<std::size_t>(device)])
      return refuse(fmt::format("device {} is another rank's, or on a node that the job is not on", device));
    const int in_block = static_cast<int>(places_.size()) % block_;
    if (in_block > 0 && device / devices_ != places_.back() / devices_)
      return refuse(
          fmt::format("device {} is not on node {}, where the {} ranks that share layers with it are", device,
                      places_.back() / devices_, block_));
    free_[static_cast<std::size_t>(device)] = false;
    places_.push_back(device);
    return {};
  }

  std::string name_;
  int devices_;
  int ranks_;
  int block_;
  int line_ = 1;
  std::vector<bool> free_;
  std::vector<int> places_;
};

}  // namespace

Result<std::vector<int>> devices_of_job(const model::Scenario& s, std::uint64_t seed, int ranks) {
  std::vector<int> nodes = s.job.places.nodes;
  if (nodes.empty()) {
    nodes.resize(static_cast<std::size_t>(s.cluster.nodes));
    std::iota(nodes.begin(), nodes.end(), 0);
  }
  std::vector<bool> seen(static_cast<std::size_t>(s.cluster.nodes));
  for (const int node : nodes) {
    if (node < 0 || node >= s.cluster.nodes || seen[static_cast<std::size_t>(node)])
      return misplaced(fmt::format("the job is on node {}, which is not there or named twice", node),
                       "correct job.nodes");
    seen[static_cast<std::size_t>(node)] = true;
  }
  if (ranks > static_cast<std::int64_t>(nodes.size()) * s.cluster.devices_per_node)
    return misplaced(
        fmt::format("{} ranks on {} nodes of {} devices", ranks, nodes.size(), s.cluster.devices_per_node),
        "give the job more nodes");
  const int block = together(s);
  if (!s.job.places.packed() && (s.cluster.devices_per_node % block != 0 || ranks % block != 0))
    return misplaced(fmt::format("groups of {} ranks on nodes of {} devices cannot move as one", block,
                                 s.cluster.devices_per_node),
                     "leave job.placement out");
  if (s.job.places.rule == model::PlaceRule::File) return PlacementFile(s, nodes, ranks, block).read();
  std::vector<int> out(static_cast<std::size_t>(ranks));
  if (s.job.places.packed()) {
    std::iota(out.begin(), out.end(), 0);
    return out;
  }
  const std::vector<int> first = blocks(s, nodes, block, seed);
  for (std::size_t r = 0; r < out.size(); ++r) {
    const auto each = static_cast<std::size_t>(block);
    out[r] = first[r / each] + static_cast<int>(r % each);
  }
  return out;
}

std::vector<int> cards_of_devices(const model::Cluster& cluster) {
  if (!model::has_unlike_ways(cluster)) return {};
  std::vector<int> out;
  out.reserve(static_cast<std::size_t>(cluster.nodes) * static_cast<std::size_t>(cluster.devices_per_node));
  for (int node = 0; node < cluster.nodes; ++node) {
    const model::NodeClass* of = model::class_of(cluster, node);
    for (int d = 0; d < cluster.devices_per_node; ++d) out.push_back(model::nic_of(cluster, of, d));
  }
  return out;
}

std::vector<double> slowness_of(const model::Cluster& cluster, const std::vector<int>& devices) {
  const bool any =
      std::ranges::any_of(cluster.classes, [](const model::NodeClass& c) { return c.speed != 1; });
  if (!any) return {};
  std::vector<double> out;
  out.reserve(devices.size());
  for (const int device : devices) {
    const model::NodeClass* of = model::class_of(cluster, device / cluster.devices_per_node);
    out.push_back(of == nullptr ? 1 : 1 / of->speed);
  }
  return out;
}

std::vector<std::string> class_notes(const model::Cluster& cluster, const std::vector<int>& devices) {
  const std::vector<double> slow = slowness_of(cluster, devices);
  if (slow.empty()) return {};
  const auto [least, most] = std::ranges::minmax_element(slow);
  if (*least == *most) return {};
  const int node = devices[static_cast<std::size_t>(most - slow.begin())] / cluster.devices_per_node;
  const model::NodeClass* of = model::class_of(cluster, node);
  const auto text = [](const model::NodeClass* c, int at) {
    if (c == nullptr) return fmt::format("nodes of no class (node {} is one)", at);
    return fmt::format("class {}(nodes {} to {})", c->name.empty() ? "" : c->name + " ", c->first,
                       c->first + c->count - 1);
  };
  return {
      fmt::format("{} sets the pace of computation: it computes {:.4g} times as long as the fastest nodes",
                  text(of, node), *most / *least)};
}

/// What the reader of scenarios says with its line, for who makes a scenario otherwise.
Status check_places(const model::Scenario& s, bool plays_links, bool has_steps) {
  if (!plays_links && model::needs_links(s.cluster, s.job.places, s.neighbours))
    return unseen("places, unlike cards and neighbours need links that are played, and here none are",
                  "leave `engine`, the policy and cost.form out, or say flow");
  if (!has_steps && !s.neighbours.empty())
    return unseen("neighbours beside workers that have no common step",
                  "leave the policy out, or the neighbours");
  return NeighbourJobs::check(s);
}

void add_servers(std::vector<int>& rank_of, int participants) {
  const auto ranks = static_cast<std::int64_t>(rank_of.size());
  const std::int64_t more = participants - ranks;
  for (std::int64_t k = 0; k < more; ++k)
    rank_of.push_back(rank_of[static_cast<std::size_t>(k * ranks / more)]);
}

}  // namespace cox::simulate

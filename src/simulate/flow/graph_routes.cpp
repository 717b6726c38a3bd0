// SPDX-License-Identifier: Apache-2.0
#include "simulate/flow/graph_routes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <unordered_map>

#include "cox/base/units_text.hpp"

namespace cox::simulate {
namespace {

constexpr std::size_t kMostWord = 64;
constexpr std::uint16_t kFar = std::numeric_limits<std::uint16_t>::max();
constexpr std::size_t kMostEntries = std::size_t{1} << 24;
constexpr std::size_t kMostWork = std::size_t{1} << 28;

Error graph_error(const std::string& name, std::int64_t line, std::string message) {
  return {.code = Errc::InvalidInput,
          .id = "simulate-005",
          .message = std::move(message),
          .hint = "write one cable a line: n0 leaf0 250ns 400Gbps",
          .where = Where{.file = name, .line = line}};
}

std::string_view next_word(std::string_view& line) {
  const std::size_t begin = line.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return line = {};
  const std::size_t end = std::min(line.find_first_of(" \t\r", begin), line.size());
  const std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

// The number in `n12`: the names of nodes.
std::optional<std::int64_t> node_number(std::string_view word) {
  if (word.size() < 2 || word.front() != 'n') return std::nullopt;
  std::int64_t value = 0;
  const char* end = word.data() + word.size();
  const auto [at, error] = std::from_chars(word.data() + 1, end, value);
  if (error != std::errc{} || at != end || value < 0) return std::nullopt;
  if (word.size() > 2 && word[1] == '0') return std::nullopt;
  return value;
}

class GraphReader {
 public:
  GraphReader(const std::string& name, int nodes) : name_(name), nodes_(nodes) {
    for (int n = 0; n < nodes; ++n) graph_.names.push_back(fmt::format("n{}", n));
  }

  Status add(std::string_view line, std::int64_t number) {
    line = line.substr(0, line.find('#'));
    const std::string_view a = next_word(line);
    if (a.empty()) return {};
    const std::string_view b = next_word(line);
    const std::string_view latency = next_word(line);
    const std::string_view bandwidth = next_word(line);
    if (bandwidth.empty() || !next_word(line).empty())
      return fail(graph_error(name_, number, "a cable has four words: two ends, latency, bandwidth"));
    GraphCable cable;
    COX_TRY(cable.a, vertex(a, number));
    COX_TRY(cable.b, vertex(b, number));
    if (cable.a == cable.b)
      return fail(graph_error(name_, number, fmt::format("a cable from {} to itself", a)));
    const auto duration = parse_duration(latency);
    if (!duration) return fail(graph_error(name_, number, duration.error().message));
    const auto rate = parse_bandwidth(bandwidth);
    if (!rate) return fail(graph_error(name_, number, rate.error().message));
    if (rate->in_bytes_per_s() <= 0)
      return fail(graph_error(name_, number, fmt::format("bandwidth is {}, wanted more than 0", bandwidth)));
    cable.latency = Seconds{in_seconds(*duration)};
    cable.bandwidth = *rate;
    graph_.cables.push_back(cable);
    return {};
  }

  GraphText take() { return std::move(graph_); }

 private:
  Result<std::uint32_t> vertex(std::string_view word, std::int64_t number) {
    if (word.size() > kMostWord)
      return fail(graph_error(name_, number,
                              fmt::format("a name of {} characters, at most {}", word.size(), kMostWord)));
    if (const auto node = node_number(word)) {
      if (*node >= nodes_)
        return fail(graph_error(
            name_, number, fmt::format("node {}, but the cluster has nodes n0 to n{}", word, nodes_ - 1)));
      return static_cast<std::uint32_t>(*node);
    }
    const auto [at, added] =
        switches_.try_emplace(std::string(word), static_cast<std::uint32_t>(graph_.names.size()));
    if (added) graph_.names.emplace_back(word);
    return at->second;
  }

  const std::string& name_;
  int nodes_;
  GraphText graph_;
  std::unordered_map<std::string, std::uint32_t> switches_;
};

}  // namespace

Result<GraphText> parse_graph(std::string_view text, const std::string& name, int nodes) {
  GraphReader reader(name, nodes);
  std::int64_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    COX_CHECK(reader.add(text.substr(0, end), ++number));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return reader.take();
}

void GraphRoutes::fill_from(int node, std::vector<std::uint32_t>& queue) {
  std::uint16_t* hop = hops.data() + index(node, 0);
  std::uint16_t* ways = count.data() + index(node, 0);
  std::fill(hop, hop + vertices, kFar);
  hop[node] = 0;
  ways[node] = 1;
  queue.assign(1, static_cast<std::uint32_t>(node));
  // Breadth first: when a vertex is taken out, the number of its ways is complete.
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const std::uint32_t at = queue[head];
    for (std::uint32_t e = first[at]; e < first[at + 1]; ++e) {
      const std::uint32_t next = edges[e].to;
      if (hop[next] == kFar && hop[at] + 1 < kFar) {
        hop[next] = static_cast<std::uint16_t>(hop[at] + 1);
        queue.push_back(next);
      }
      if (hop[next] == hop[at] + 1)
        ways[next] = static_cast<std::uint16_t>(std::min<int>(ways[next] + ways[at], kFar));
    }
  }
}

Result<GraphRoutes> GraphRoutes::make(const GraphText& graph, const std::string& name, int nodes) {
  GraphRoutes routes;
  routes.nodes = nodes;
  routes.vertices = graph.names.size();
  const std::size_t entries = routes.vertices * static_cast<std::size_t>(nodes);
  if (entries > kMostEntries || graph.cables.size() * static_cast<std::size_t>(nodes) > kMostWork)
    return fail(
        graph_error(name, 0,
                    fmt::format("{} nodes, {} vertices and {} cables are too many for a graph "
                                "file: nodes x vertices at most {}, nodes x cables at most {}",
                                nodes, routes.vertices, graph.cables.size(), kMostEntries, kMostWork)));
  routes.first.assign(routes.vertices + 1, 0);
  for (const GraphCable& c : graph.cables) {
    ++routes.first[c.a + 1];
    ++routes.first[c.b + 1];
  }
  for (std::size_t v = 0; v < routes.vertices; ++v) routes.first[v + 1] += routes.first[v];
  routes.edges.resize(2 * graph.cables.size());
  std::vector<std::uint32_t> at(routes.first.begin(), routes.first.end() - 1);
  for (std::uint32_t i = 0; i < graph.cables.size(); ++i) {
    const GraphCable& c = graph.cables[i];
    routes.edges[at[c.a]++] = {c.b, 2 * i};
    routes.edges[at[c.b]++] = {c.a, 2 * i + 1};
  }
  routes.hops.assign(entries, kFar);
  routes.count.assign(entries, 0);
  std::vector<std::uint32_t> queue;
  for (int n = 0; n < nodes; ++n) routes.fill_from(n, queue);
  for (int n = 1; n < nodes; ++n)
    if (routes.hops[routes.index(0, static_cast<std::size_t>(n))] == kFar)
      return fail(graph_error(name, 0, fmt::format("n{} cannot be reached from n0", n)));
  return routes;
}

void GraphRoutes::route(int from, int to, int choice, LinkIndex base, std::vector<LinkIndex>& out) const {
  auto at = static_cast<std::size_t>(from);
  while (at != static_cast<std::size_t>(to)) {
    const int distance = hops[index(to, at)];
    for (std::uint32_t e = first[at]; e < first[at + 1]; ++e) {
      const std::size_t next = index(to, edges[e].to);
      if (hops[next] + 1 != distance) continue;
      // Where the count was cut off, the rest of the choices share the last way that leads on.
      if (choice < count[next]) {
        out.push_back(base + edges[e].link);
        at = edges[e].to;
        break;
      }
      choice -= count[next];
    }
  }
}

}  // namespace cox::simulate

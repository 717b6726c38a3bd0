// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the messages of a regular round cost, per receiver, in a form that a sweep can use.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cox/model/schedule.hpp"
#include "cox/simulate/max_plus.hpp"

#include "simulate/kernels/sweep_kernels.hpp"

namespace cox::simulate {

/// Costs of one round. Where a buffer does not divide, chunks have two sizes, and the larger ones go to a
/// cyclic interval of receiving places.
struct RoundView {
  CostSource latency;  ///< port form, or where wanted
  CostSource small;    ///< whole cost; port form: occupation
  CostSource large;
  bool two_sizes = false;
  std::int64_t large_first = 0;  ///< receiving place
  std::int64_t large_count = 0;

  [[nodiscard]] bool same_for_all() const { return !two_sizes && small.each == nullptr; }
};

/// Makes views, and keeps its tables while the next round can use them: rings and exchanges between places, also of a
/// hierarchy, are priced once per size and phase.
/// Held by: src/simulate/max_plus/round_costs_test.cpp
class RoundCosts {
 public:
  RoundCosts(const LinkCosts& costs, model::Protocol protocol, int ranks);
  /// Fill `latency` for the other forms too: noise of the bandwidth leaves it alone.
  void want_latency(bool want) { want_latency_ = want; }
  /// Valid until the next call with a round of other geometry or other sizes; where `keeps` is false, until
  /// the next call.
  [[nodiscard]] RoundView view(const model::RegularRound& round);
  [[nodiscard]] static bool keeps(const model::RegularRound& round);
  /// As `view`, and one array of each kind for all receivers.
  struct Arrays {
    std::span<double> latency;
    std::span<double> whole;
  };
  [[nodiscard]] Arrays spread(const model::RegularRound& round);
  /// Costs of messages that were worked out for views.
  [[nodiscard]] std::int64_t priced() const { return priced_; }

 private:
  struct Geometry {
    model::RegularRound::Pattern pattern{};
    int size = 0;
    int stride = 0;
    int by = 0;
    auto operator<=>(const Geometry&) const = default;
  };
  struct Table {
    bool filled = false;
    Geometry geometry;
    Bytes bytes;
    std::vector<double> values;
  };
  [[nodiscard]] CostSource source(Table& table, const model::RegularRound& round, Bytes bytes);
  [[nodiscard]] CostSource latencies(const model::RegularRound& round);
  [[nodiscard]] CostSource by_message(const model::RegularRound& round);
  [[nodiscard]] CostSource by_stride(const model::RegularRound& round);
  template <class Value>
  void fill(Table& table, const model::RegularRound& round, Value value);

  const LinkCosts& costs_;
  bool port_;
  bool want_latency_ = false;
  int ranks_;
  Table latency_;
  std::array<Table, 2> sizes_;
  Table mixed_;
  std::vector<double> all_latency_;
  std::vector<double> all_whole_;
  std::int64_t priced_ = 0;
};

}  // namespace cox::simulate

// SPDX-License-Identifier: Apache-2.0
/// \file
/// What messages between a scenario's workers cost, in closed form: nobody else is on their way.
#pragma once

#include "cox/base/units.hpp"
#include "cox/model/compression.hpp"
#include "cox/model/scenario.hpp"

namespace cox::learn {

/// Of all gradients of one replica, packed as `wire` says; across the fabric, or between devices of one node where all
/// workers that are meant sit on it.
/// Formula: sums by model::closed_form of the job's all-reduce (a ring, where its own has no formula for so many);
///          messages alpha + n beta. All gradients are one message, whatever the buckets; packing is in it. Nothing of it hides behind computing.
/// Held by: src/learn/drive/compute_times_test.cpp
class Prices {
 public:
  /// `scenario` outlives it, and is a training job.
  Prices(const model::Scenario& scenario, const model::Compression& wire);
  /// All-reduce of `members` consecutive workers, or of one worker in each of so many groups of `group`.
  [[nodiscard]] Seconds sum(int members, int group = 1) const;
  /// To or from another node; or inside one where the cluster is one.
  [[nodiscard]] Seconds message() const { return latency() + occupied(); }
  [[nodiscard]] Seconds latency() const { return link(scenario_.cluster.ranks() > per_node()).latency; }
  /// What a message holds a port for.
  [[nodiscard]] Seconds occupied() const;
  /// The whole parameters, which nothing packs.
  [[nodiscard]] Seconds parameters() const;
  /// Of one message.
  [[nodiscard]] Bytes bytes() const { return packed_.bytes; }

 private:
  [[nodiscard]] int per_node() const { return scenario_.cluster.devices_per_node; }
  [[nodiscard]] const model::MessageCost& link(bool across) const {
    return across ? scenario_.across : scenario_.inside;
  }

  const model::Scenario& scenario_;
  model::Compression wire_;
  Bytes gradients_{};
  model::Compressed packed_{};
};

}  // namespace cox::learn

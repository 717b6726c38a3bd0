// SPDX-License-Identifier: Apache-2.0
/// \file
/// Micro-batches on their way through the stages of a pipeline.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/learn/problem_stage.hpp"

#include "train/executor/memory_count.hpp"
#include "train/run/job.hpp"
#include "train/run/marks.hpp"
#include "train/run/stage_plan.hpp"
#include "train/transport/group.hpp"

namespace cox::train {

/// One rank's stage. It does what simulate::pipeline_order says, one after the other: takes what a micro-batch brings from the place before
/// (or, on the way back, the place behind), works, and sends what comes of it. Of each chunk one message is on its way in each direction; the next
/// one waits until it was taken.
/// Memory: what planned_stage_memory says of activations. Threads: one owner. Held by: src/train/run/stages_test.cpp
class Pipeline {
 public:
  /// All but `chunks` outlive it. `links`: of the own pipeline, by stage. `chunks`: stages of the problem, one a chunk.
  Pipeline(const TrainJob& job, const StagePlan& plan, GroupTransport& links, Marks& marks,
           MemoryCount& memory, std::vector<std::unique_ptr<learn::ProblemStage>> chunks);

  /// Hears that the gradient of a leaf by a chunk's parameters is there.
  using Done = std::function<void(int chunk, std::int64_t leaf)>;
  /// All micro-batches of a step, forth and back. `pause`: of the rank, before each on its way forth. Errors: those of the transport.
  [[nodiscard]] Status run(std::int64_t step, std::span<const float> x, std::span<float> g, Seconds pause,
                           const Done& done);
  /// On the last stage: mean over the samples of the last step.
  [[nodiscard]] double loss() const { return loss_ / static_cast<double>(plan_.leaves().count); }

 private:
  /// A micro-batch in a chunk, between its ways forth and back.
  struct Live {
    CountedFloats taken, kept, of_given, between;
  };
  struct Chunk {
    std::unique_ptr<learn::ProblemStage> stage;
    CountedFloats given, of_taken;  ///< messages
    std::optional<std::uint64_t> given_sent, of_taken_sent;
  };
  using Key = std::pair<int, int>;  ///< chunk, micro-batch

  [[nodiscard]] Status forward(const Key& key, Seconds pause);
  [[nodiscard]] Status backward(const Key& key);
  /// `apart`: others went back since it did.
  void gradient(const Key& key, bool apart, const Done& done);
  /// What is kept of a micro-batch is there again; what its chunk gives goes to `room`.
  void recall(const Key& key, Live& live, std::span<float> room);
  [[nodiscard]] Status take(int place, std::uint64_t number, std::span<float> values);
  [[nodiscard]] Status make_free(int place, std::optional<std::uint64_t>& sent);
  void send(int place, std::uint64_t number, std::span<const float> values,
            std::optional<std::uint64_t>& sent);
  /// Of what is sent by `place`: forth, and back.
  [[nodiscard]] std::uint64_t number_of(int place, int micro_batch, bool back) const;
  [[nodiscard]] learn::Shard shard(int micro_batch) const;
  [[nodiscard]] std::span<float> kept(const Key& key, Live& live);
  void compute_forward(const Key& key, Live& live, std::span<float> given);
  [[nodiscard]] CountedFloats floats(std::int64_t of_sample);

  const TrainJob& job_;
  const StagePlan& plan_;
  GroupTransport& links_;
  Marks& marks_;
  MemoryCount& memory_;
  learn::StepShare share_;
  std::vector<Chunk> chunks_;
  CountedFloats again_;      ///< recomputing: what is kept of one micro-batch
  std::optional<Key> here_;  ///< whose it is
  std::map<Key, Live> live_;
  std::span<const float> x_;
  std::span<float> g_;
  std::int64_t step_ = 0;
  std::uint64_t first_number_ = 0;
  double loss_ = 0;
};

}  // namespace cox::train

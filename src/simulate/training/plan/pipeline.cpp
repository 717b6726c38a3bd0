// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cox/base/assert.hpp"
#include "cox/simulate/training.hpp"

namespace cox::simulate {
namespace {

using Kind = StageOp::Kind;

std::vector<StageOp> gpipe(int micro_batches) {
  std::vector<StageOp> ops;
  ops.reserve(static_cast<std::size_t>(micro_batches));
  for (int b = 0; b < micro_batches; ++b) ops.push_back({.kind = Kind::Forward, .micro_batch = b});
  for (int b = micro_batches - 1; b >= 0; --b) ops.push_back({.kind = Kind::Backward, .micro_batch = b});
  return ops;
}

/// The k-th forward (or backward) of a stage that holds `chunks` chunks: micro-batches in blocks of as many
/// as there are stages, each block through one chunk after the other.
std::vector<StageOp> passes(Kind kind, int stages, int micro_batches, int chunks) {
  std::vector<StageOp> ops;
  for (int block = 0; block < micro_batches; block += stages)
    for (int c = 0; c < chunks; ++c)
      for (int b = block; b < std::min(block + stages, micro_batches); ++b)
        ops.push_back({.kind = kind, .micro_batch = b, .chunk = kind == Kind::Forward ? c : chunks - 1 - c});
  return ops;
}

std::vector<StageOp> one_forward_one_backward(int stages, int stage, int micro_batches, int chunks) {
  const auto forward = passes(Kind::Forward, stages, micro_batches, chunks);
  const auto backward = passes(Kind::Backward, stages, micro_batches, chunks);
  const std::size_t total = forward.size();
  std::size_t ahead = static_cast<std::size_t>(stages - stage - 1);
  // Interleaved: two per stage, as each block has to come round once for every chunk.
  if (chunks > 1)
    ahead = 2 * ahead + static_cast<std::size_t>((chunks - 1) * std::min(stages, micro_batches));
  // A shorter last block comes round sooner than the distance assumes; running all forwards first is safe.
  if (chunks > 1 && (micro_batches % stages != 0 || micro_batches <= stages)) ahead = total;
  ahead = std::min(ahead, total);
  std::vector<StageOp> ops(forward.begin(), forward.begin() + static_cast<std::ptrdiff_t>(ahead));
  for (std::size_t k = 0; k < total; ++k) {
    if (k + ahead < total) ops.push_back(forward[k + ahead]);
    ops.push_back(backward[k]);
  }
  return ops;
}

/// ZB-H1: 1F1B with the backward pass split; the part for the weights runs `stage` micro-batches late, in
/// time that would be a bubble, so no stage holds more micro-batches than the first one of 1F1B.
std::vector<StageOp> zero_bubble(int stages, int stage, int micro_batches) {
  std::vector<StageOp> ops;
  for (StageOp op : one_forward_one_backward(stages, stage, micro_batches, 1)) {
    if (op.kind == Kind::Backward) op.kind = Kind::BackwardInput;
    ops.push_back(op);
    if (op.kind == Kind::BackwardInput && op.micro_batch >= stage)
      ops.push_back({.kind = Kind::BackwardWeight, .micro_batch = op.micro_batch - stage});
  }
  for (int b = std::max(0, micro_batches - stage); b < micro_batches; ++b)
    ops.push_back({.kind = Kind::BackwardWeight, .micro_batch = b});
  return ops;
}

}  // namespace

std::vector<StageOp> pipeline_order(model::PipelineSchedule schedule, int stages, int stage,
                                    int micro_batches, int interleave) {
  COX_ASSERT(stages > 0 && stage >= 0 && stage < stages, "a stage that the pipeline does not have");
  COX_ASSERT(micro_batches > 0 && interleave > 0, "a pipeline without work");
  switch (schedule) {
    case model::PipelineSchedule::GPipe:
      return gpipe(micro_batches);
    case model::PipelineSchedule::OneForwardOneBackward:
      break;
    case model::PipelineSchedule::Interleaved:
      return one_forward_one_backward(stages, stage, micro_batches, interleave);
    case model::PipelineSchedule::ZeroBubble:
      return zero_bubble(stages, stage, micro_batches);
  }
  return one_forward_one_backward(stages, stage, micro_batches, 1);
}

}  // namespace cox::simulate

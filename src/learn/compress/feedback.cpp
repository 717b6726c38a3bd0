// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cox/base/assert.hpp"

#include "learn/compress/compressor.hpp"

namespace cox::learn {

Feedback::Feedback(FeedbackKind kind, std::int64_t parameters) : kind_(kind) {
  if (kind == FeedbackKind::None) return;
  state_.resize(static_cast<std::size_t>(parameters));
  sum_.resize(state_.size());
}

Bytes Feedback::compress(Compressor& by, std::span<const float> gradient, double rate, std::int64_t step,
                         int worker, std::span<float> out) {
  COX_ASSERT(rate >= 0, "a rate");
  const std::size_t n = state_.size();
  if (kind_ == FeedbackKind::Ef21) {
    for (std::size_t i = 0; i < n; ++i) sum_[i] = gradient[i] - state_[i];
    const Bytes sent = by.compress(sum_, step, worker, sum_);
    for (std::size_t i = 0; i < n; ++i) state_[i] += sum_[i];
    std::copy(state_.begin(), state_.end(), out.begin());
    return sent;
  }
  if (kind_ == FeedbackKind::None || rate == 0) return by.compress(gradient, step, worker, out);
  if (rate_ != 0 && rate != rate_)
    for (float& e : state_) e = static_cast<float>(static_cast<double>(e) * (rate_ / rate));
  rate_ = rate;
  for (std::size_t i = 0; i < n; ++i) sum_[i] = gradient[i] + state_[i];
  const Bytes sent = by.compress(sum_, step, worker, out);
  for (std::size_t i = 0; i < n; ++i) state_[i] = sum_[i] - out[i];
  return sent;
}

}  // namespace cox::learn

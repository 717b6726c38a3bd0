// SPDX-License-Identifier: Apache-2.0
#include "learn/slice/transformer_slice.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace cox::learn {
namespace {

constexpr std::string_view kThree = "attention";  ///< queries, keys, values: a stretch of columns each

SliceTensor placed(const Tensor& own, const Tensor& whole) {
  SliceTensor made{.own = own, .first = whole.first, .stride = whole.columns};
  if (own.rows < whole.rows) made.step = own.rows * whole.columns;
  if (own.columns == whole.columns) return made;
  if (own.name.starts_with(kThree)) made.stretches = 3;
  made.step = own.columns / made.stretches;
  made.apart = whole.columns / made.stretches;
  return made;
}

}  // namespace

TransformerSlice::TransformerSlice(const ProblemSpec& spec, SymbolTexts texts, int parts)
    : spec_(spec), parts_(parts), own_(spec, texts, parts) {
  const Transformer whole(spec, std::move(texts));
  for (std::size_t t = 0; t < whole.tensors().size(); ++t)
    tensors_.push_back(placed(own_.tensors()[t], whole.tensors()[t]));
}

std::vector<std::int64_t> TransformerSlice::sums(std::int64_t samples) const {
  std::vector<std::int64_t> all;
  if (parts_ == 1) return all;
  for (std::int64_t done = 0; done < samples; done += Transformer::kPart) {
    const std::int64_t floats = std::min(Transformer::kPart, samples - done) * spec_.context * spec_.hidden;
    all.insert(all.end(), static_cast<std::size_t>(4 * spec_.layers), floats);
  }
  return all;
}

}  // namespace cox::learn

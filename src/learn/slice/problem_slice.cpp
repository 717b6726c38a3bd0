// SPDX-License-Identifier: Apache-2.0
#include "cox/learn/problem_slice.hpp"

#include <algorithm>
#include <utility>

#include "cox/base/assert.hpp"

#include "learn/slice/classifier_slice.hpp"
#include "learn/slice/transformer_slice.hpp"

namespace cox::learn {
namespace {

/// `copy(own, all, count)` for each of a slice's stretches: where it begins, and how long it is.
template <class Copy>
void for_each_stretch(const ProblemSlice& slice, int number, const Copy& copy) {
  for (const SliceTensor& t : slice.tensors()) {
    const std::int64_t count = t.own.columns / t.stretches;
    for (std::int64_t r = 0; r < t.own.rows; ++r)
      for (std::int64_t s = 0; s < t.stretches; ++s)
        copy(t.own.first + r * t.own.columns + s * count,
             t.first + number * t.step + r * t.stride + s * t.apart, count);
  }
}

}  // namespace

void take_slice(const ProblemSlice& slice, int number, std::span<const float> all, std::span<float> own) {
  for_each_stretch(slice, number, [&](std::int64_t to, std::int64_t from, std::int64_t count) {
    std::copy_n(all.begin() + from, count, own.begin() + to);
  });
}

void put_slice(const ProblemSlice& slice, int number, std::span<const float> own, std::span<float> all) {
  for_each_stretch(slice, number, [&](std::int64_t from, std::int64_t to, std::int64_t count) {
    std::copy_n(own.begin() + from, count, all.begin() + to);
  });
}

std::int64_t place_of(const ProblemSlice& slice, int number, std::int64_t own) {
  std::int64_t found = slice.parameters();
  for_each_stretch(slice, number, [&](std::int64_t from, std::int64_t to, std::int64_t count) {
    if (own >= from && own < from + count) found = to + own - from;
  });
  return found;
}

std::int64_t own_before(const ProblemSlice& slice, int number, std::int64_t place) {
  std::int64_t before = 0;
  for_each_stretch(slice, number, [&](std::int64_t, std::int64_t all, std::int64_t count) {
    before += std::clamp<std::int64_t>(place - all, 0, count);
  });
  return before;
}

void put_stretch(const ProblemSlice& slice, int number, std::span<const float> own, std::int64_t first,
                 std::span<float> stretch) {
  auto next = own.begin();
  for_each_stretch(slice, number, [&](std::int64_t, std::int64_t to, std::int64_t count) {
    const std::int64_t begin = std::max(to, first);
    const std::int64_t end = std::min(to + count, first + std::ssize(stretch));
    if (begin >= end) return;
    std::copy_n(next, end - begin, stretch.begin() + (begin - first));
    next += end - begin;
  });
  COX_ASSERT(next == own.end(), "they are those of the stretch");
}

Result<std::unique_ptr<ProblemSlice>> make_slice(const ProblemSpec& spec, const SliceOf& of) {
  COX_TRY(const std::unique_ptr<Problem> whole, make_problem(spec));  // its fields are in range
  COX_ASSERT(most_slices(spec) > 0 && most_slices(spec) % of.parts == 0 && of.number < of.parts,
             "it is cut evenly");
  if (spec.kind == ProblemKind::Mlp) return std::make_unique<ClassifierSlice>(spec, of.parts);
  COX_TRY(SymbolTexts texts, read_licences());
  return std::make_unique<TransformerSlice>(spec, std::move(texts), of.parts);
}

}  // namespace cox::learn

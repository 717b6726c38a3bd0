// SPDX-License-Identifier: Apache-2.0
#include "train/executor/piece_norms.hpp"

#include <gtest/gtest.h>

#include <string>

#include "cox/base/random.hpp"
#include "cox/learn/block_norm.hpp"

#include "train/executor/ranks_for_tests.hpp"

namespace cox::train {
namespace {

/// Tensors of such sizes; every second one a vector of biases.
std::vector<learn::Tensor> tensors_of(const std::vector<std::int64_t>& sizes) {
  std::vector<learn::Tensor> made;
  std::int64_t first = 0;
  for (const std::int64_t size : sizes) {
    const bool bias = made.size() % 2 == 1;
    made.push_back({.name = "t", .first = first, .rows = bias ? size : 1, .columns = bias ? 1 : size});
    first += size;
  }
  return made;
}

std::vector<float> drawn(std::size_t count) {
  const RandomStream stream(3, 1);
  std::vector<double> normals(count);
  stream.normals(0, 0, normals);
  return {normals.begin(), normals.end()};
}

struct Norms {
  double all = 0;
  std::vector<double> tensors;
};

/// On so many ranks; each has only its pieces.
std::vector<Norms> of_ranks(const Parting& parting, const std::vector<learn::Tensor>& tensors,
                            const std::vector<float>& values, std::vector<Bytes>& sent) {
  std::vector<Norms> made(static_cast<std::size_t>(parting.ranks()));
  const auto links = on_ranks(parting.ranks(), [&](Transport& link) {
    std::vector<std::vector<float>> kept;
    for (const KeptPiece& p : pieces_of(parting, link.rank(), tensors))
      kept.emplace_back(values.begin() + p.elements.first, values.begin() + p.elements.end());
    std::vector<const float*> places;
    for (const auto& k : kept) places.push_back(k.data());
    RankNorms norms(parting, tensors, link);
    Norms& mine = made[static_cast<std::size_t>(link.rank())];
    const auto all = norms.of_all(places);
    const auto each = norms.of_tensors(places);
    ASSERT_TRUE(all && each);
    mine = {.all = *all, .tensors = *each};
  });
  for (const auto& row : links) {
    sent.emplace_back();
    for (const Bytes b : row) sent.back() += b;
  }
  return made;
}

TEST(RankNorms, BitsAreThoseOfTheWholeForAnyParting) {
  const auto tensors = tensors_of({5000, 40, 3000, 7, 1023, 1, 2});
  const auto values = drawn(9073);
  std::vector<double> expected;
  for (const learn::Tensor& t : tensors)
    expected.push_back(t.columns > 1
                           ? learn::block_norm(std::span(values).subspan(static_cast<std::size_t>(t.first),
                                                                         static_cast<std::size_t>(t.size())))
                           : 0);
  const std::vector<std::vector<Stretch>> units = {
      {{.first = 0, .count = 9073}},
      {{.first = 0, .count = 5040}, {.first = 5040, .count = 3007}, {.first = 8047, .count = 1026}}};
  for (const auto& cut : units)
    for (const int ranks : {1, 2, 3, 5}) {
      const Parting parting(cut, ranks);
      std::vector<Bytes> sent;
      for (const Norms& n : of_ranks(parting, tensors, values, sent)) {
        EXPECT_EQ(n.all, learn::block_norm(values)) << ranks;
        EXPECT_EQ(n.tensors, expected) << ranks;
      }
      for (int r = 0; r < ranks; ++r)
        EXPECT_EQ(sent[static_cast<std::size_t>(r)],
                  plan_of_all(parting, tensors).sent_by(r) + plan_of_tensors(parting, tensors).sent_by(r));
    }
}

TEST(RankNorms, BitsAreThoseOfTheWholeWhereUnitsAreWholeWithARank) {
  const auto tensors = tensors_of({5000, 40, 3000, 7, 1023, 3});
  const auto values = drawn(9073);
  const std::vector<Stretch> units = {
      {.first = 0, .count = 5040}, {.first = 5040, .count = 3007}, {.first = 8047, .count = 1026}};
  for (const std::vector<int>& owners : {std::vector{0, 1, 2}, {0, 1, 0}, {2, 0, 1}}) {
    const Parting parting(units, owners, 3);
    std::vector<Bytes> sent;
    for (const Norms& n : of_ranks(parting, tensors, values, sent))
      EXPECT_EQ(n.all, learn::block_norm(values));
    for (int r = 0; r < 3; ++r) {
      std::int64_t kept = 0;
      for (std::size_t u = 0; u < 3; ++u) kept += owners[u] == r ? units[u].count : 0;
      EXPECT_EQ(parting.kept(r), kept);
      EXPECT_EQ(sent[static_cast<std::size_t>(r)],
                plan_of_all(parting, tensors).sent_by(r) + plan_of_tensors(parting, tensors).sent_by(r));
    }
  }
}

// 4,096 elements in one unit on two ranks: no block is cut, each sends the sums of its two blocks. On three: blocks 1 and 2 are
// cut, of 1366 + 1365 + 1365 elements.
TEST(RankNorms, BytesAreThoseOfCutBlocksAndSums) {
  const auto tensors = tensors_of({4096});
  const Parting two({{.first = 0, .count = 4096}}, 2), three({{.first = 0, .count = 4096}}, 3);
  for (int r = 0; r < 2; ++r) EXPECT_EQ(plan_of_all(two, tensors).sent_by(r), Bytes{2 * 8});
  const auto plan = plan_of_all(three, tensors);
  EXPECT_EQ(plan.of_rank, (std::vector<std::int64_t>{2, 1, 1}));
  EXPECT_EQ(plan.sent_by(0), Bytes{2 * 8 * 2});
  EXPECT_EQ(plan.sent_by(1), Bytes{4 * (2048 - 1366) + 8 * 2});
  EXPECT_EQ(plan.sent_by(2), Bytes{4 * (3072 - 2731) + 8 * 2});
}

}  // namespace
}  // namespace cox::train

// SPDX-License-Identifier: Apache-2.0
#include "trace/import/kineto/names.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "trace/import/kineto/order.hpp"

namespace cox::trace::kineto {
namespace {

using model::Collective;

TEST(KinetoNames, CollectivesInWhatPyTorchCallsThem) {
  // Source: c10d's names of operations and annotations.
  const std::vector<std::pair<const char*, Collective>> all = {
      {"allreduce", Collective::AllReduce},
      {"allreduce_coalesced", Collective::AllReduce},
      {"_allgather_base", Collective::AllGather},
      {"all_gather_into_tensor_coalesced", Collective::AllGather},
      {"_reduce_scatter_base", Collective::ReduceScatter},
      {"reduce_scatter_tensor_coalesced", Collective::ReduceScatter},
      {"all_to_allv", Collective::AllToAll},
      {"alltoall_base", Collective::AllToAll},
      {"broadcast", Collective::Broadcast},
      {"_broadcast_oop", Collective::Broadcast},
      {"_reduce_oop", Collective::Reduce},
      {"reduce", Collective::Reduce},
      {"gather", Collective::Gather},
      {"scatter", Collective::Scatter},
      {"barrier", Collective::Barrier},
      {"send", Collective::SendRecv},
      {"recvAnySource", Collective::SendRecv},
  };
  for (const auto& [text, collective] : all) EXPECT_EQ(collective_in(text), collective) << text;
  for (const char* none : {"", "wait", "init", "coalesced", "("}) EXPECT_FALSE(collective_in(none)) << none;
}

TEST(KinetoNames, ElementSizes) {
  const std::map<std::string, int> all = {{"Float", 4},         {"c10::BFloat16", 2}, {"c10::Half", 2},
                                          {"long int", 8},      {"unsigned char", 1}, {"Byte", 1},
                                          {"Float8_e4m3fn", 1}, {"Double", 8},        {"Bool", 1},
                                          {"ComplexFloat", 8},  {"int", 4},           {"", 0},
                                          {"something else", 0}};
  for (const auto& [type, size] : all) EXPECT_EQ(element_size(type), Bytes{size}) << type;
}

TEST(KinetoNames, AnnotationsOfBackEnds) {
  const auto kind = [](std::string_view name) { return meaning_of(Category::Annotation, name).kind; };
  EXPECT_EQ(kind("nccl:all_reduce"), NameKind::CollectiveCall);
  EXPECT_EQ(kind("gloo:all_reduce"), NameKind::Collective);
  EXPECT_EQ(kind("ucc:alltoall"), NameKind::Collective);
  EXPECT_EQ(kind("aten::gather"), NameKind::Plain);
  EXPECT_EQ(kind("nccl:coalesced"), NameKind::Plain);
  EXPECT_EQ(kind("ProfilerStep#12"), NameKind::Step);
  EXPECT_EQ(kind("ProfilerStep#"), NameKind::Plain);
  EXPECT_EQ(kind("ProfilerStep#99999999999999999999"), NameKind::Plain);
  EXPECT_EQ(kind("ProfilerStep*"), NameKind::Plain);
}

TEST(KinetoNames, TableFindsEveryTextAgain) {
  TextTable table;
  const auto text = [](int i) {
    return std::string(static_cast<std::size_t>(i % 40), 'x') + std::to_string(i);
  };
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < 20'000; ++i) ASSERT_EQ(table.index(text(i)), static_cast<std::uint32_t>(i));
  EXPECT_EQ(table.text(777), text(777));
  EXPECT_EQ(table.size(), 20'000U);
}

TEST(KinetoNames, LongTextsAreToldApartAndKeptInPart) {
  TextTable table;
  const std::string base(10'000, 'a');
  EXPECT_NE(table.index(base + "1"), table.index(base + "2"));
  EXPECT_EQ(table.index(base + "1"), table.index(base + "1"));
  EXPECT_EQ(table.text(0).size(), TextTable::kMaxText);
}

TEST(KinetoNames, EscapesOfJson) {
  EXPECT_EQ(unescape(R"(a\"b\\c\/\n\u0041)"), "a\"b\\c/\nA");
  EXPECT_EQ(unescape(R"(\ud83d\ude00)"), "\xf0\x9f\x98\x80");
  EXPECT_EQ(unescape(R"(\u12)"), "\\u12");
  EXPECT_EQ(unescape("\\"), "\\");
  EXPECT_EQ(unescape(R"(\q)"), "\\q");
}

TEST(KinetoOrder, SortsStablyByAnyKey) {
  std::uint64_t x = 1;
  for (const int shift : {0, 20, 40, 60}) {
    std::vector<Keyed> items;
    for (std::uint32_t i = 0; i < 5'000; ++i) {
      x = x * 6364136223846793005ULL + 1442695040888963407ULL;
      items.push_back({x >> shift, i});
    }
    auto want = items;
    std::stable_sort(want.begin(), want.end(), [](const Keyed& a, const Keyed& b) { return a.key < b.key; });
    sort_by_key(items);
    for (std::size_t i = 0; i < items.size(); ++i) {
      ASSERT_EQ(items[i].key, want[i].key);
      ASSERT_EQ(items[i].value, want[i].value);
    }
  }
}

}  // namespace
}  // namespace cox::trace::kineto

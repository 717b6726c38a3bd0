// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

#include "cox/model/closed_form.hpp"

#include "model/phases.hpp"

namespace cox::model {
namespace {

using enum Algorithm;
using C = Collective;

constexpr std::array kEntries = {
    Entry{C::AllReduce, Ring, "2 (P - 1) T(ceil(n / (k P)))"},
    Entry{C::AllReduce, BidirectionalRing, "2 (P - 1) T(ceil(ceil(n / 2) / P))"},
    Entry{C::AllReduce, BinomialTree, "2 ceil(log2 P) T(n)"},
    Entry{C::AllReduce, BinaryTree, "2 (D + c - 1) F(n / c)"},
    Entry{C::AllReduce, DoubleBinaryTree, "2 (D + c - 1) F(ceil(n / 2) / c), less o once each way"},
    Entry{C::AllReduce, RecursiveDoubling, "floor(log2 P) T(n), + 2 T(n) with a fold"},
    Entry{C::AllReduce, HalvingDoubling, "2 sum over b of T(B(b)), + 2 T(n) with a fold"},
    Entry{C::AllReduce, Hierarchical2, "2 (g - 1) T(ceil(n / g)) + 2 (P / g - 1) T(ceil(n / P))"},
    Entry{C::AllReduce, Hierarchical3,
          "2 (g - 1) T(ceil(n / g)) + 2 (h - 1) T(ceil(n / (g h))) + 2 (P / (g h) - 1) T(ceil(n / P))"},
    Entry{C::AllReduce, InNetwork, "(s + c - 1) T(n / c), s = 2 stages, 4 with a spine"},
    Entry{C::AllReduce, ParameterServer, "2 (alpha + P o(ceil(n / S))), S <= P"},
    Entry{C::ReduceScatter, Ring, "(P - 1) T(ceil(n / (k P)))"},
    Entry{C::ReduceScatter, HalvingDoubling, "sum over b of T(B(b)), + T(n) + T(ceil(n / P)) with a fold"},
    Entry{C::ReduceScatter, Hierarchical2, "(g - 1) T(ceil(n / g)) + (P / g - 1) T(ceil(n / P))"},
    Entry{C::ReduceScatter, Hierarchical3,
          "(g - 1) T(ceil(n / g)) + (h - 1) T(ceil(n / (g h))) + (P / (g h) - 1) T(ceil(n / P))"},
    Entry{C::ReduceScatter, Direct, "(P - 1) T(ceil(n / P))"},
    Entry{C::AllGather, Ring, "(P - 1) T(ceil(n / (k P)))"},
    Entry{C::AllGather, Hierarchical2, "(P / g - 1) T(ceil(n / P)) + (g - 1) T(ceil(n / g))"},
    Entry{C::AllGather, Hierarchical3,
          "(P / (g h) - 1) T(ceil(n / P)) + (h - 1) T(ceil(n / (g h))) + (g - 1) T(ceil(n / g))"},
    Entry{C::AllGather, RecursiveDoubling, "sum over b of T(B(b)), + T(ceil(n / P)) + T(n) with a fold"},
    Entry{C::AllGather, Direct, "(P - 1) T(n / P), equal blocks"},
    Entry{C::Broadcast, BinomialTree, "ceil(log2 P) T(n)"},
    Entry{C::Broadcast, Chain, "(P - 2 + c) T(n / c)"},
    Entry{C::Broadcast, BinaryTree, "(D + c - 1) F(n / c)"},
    Entry{C::Broadcast, ParameterServer, "alpha + P o(ceil(n / S)), S <= P"},
    Entry{C::Reduce, BinomialTree, "ceil(log2 P) T(n)"},
    Entry{C::Reduce, Chain, "(P - 2 + c) T(n / c)"},
    Entry{C::Reduce, BinaryTree, "(D + c - 1) F(n / c)"},
    Entry{C::Reduce, ParameterServer, "alpha + P o(ceil(n / S)), S <= P"},
    Entry{C::AllToAll, Direct, "(P - 1) T(ceil(n / P))"},
    Entry{C::AllToAll, TwoLevel, "(g - 1) T(ceil(n / g)) + (P / g - 1) T(g ceil(n / P))"},
    Entry{C::Barrier, Dissemination, "ceil(log2 P) T(n)"},
    Entry{C::Barrier, RecursiveDoubling, "floor(log2 P) T(n), + 2 T(n) with a fold"},
    Entry{C::SendRecv, Chain, "(P - 2 + c) T(n / c)"},
};

// What the table counts; 720 720 bytes are divided by all that divides here.
CollectiveSpec example(const Entry& e, int ranks) {
  CollectiveSpec s{.kind = e.kind, .algorithm = e.algorithm, .ranks = ranks, .bytes = Bytes{720'720}};
  s.group = ranks == 16 ? 4 : 5;
  s.group2 = ranks == 16 ? 2 : 3;
  s.servers = 4;
  s.chunks = 3;
  return s;
}

struct Counted {
  std::int64_t rounds = 0;
  std::string sent;  ///< by the busiest rank, of n
  std::string form;
};

Counted counted(const CollectiveSpec& spec) {
  Counted c;
  const auto schedule = Schedule::make(spec);
  if (!schedule) return c;
  c.rounds = schedule->rounds();
  const auto sent = bytes_sent(*schedule);
  const Bytes most = *std::max_element(sent.begin(), sent.begin() + schedule->ranks());
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g n", most / spec.bytes);
  c.sent = text.data();
  c.form = schedule->regular(0) ? "regular" : "list";
  return c;
}

}  // namespace

std::span<const Entry> entries() {
  return kEntries;
}

std::string_view formula_of(Collective kind, Algorithm algorithm) {
  for (const Entry& e : kEntries)
    if (e.kind == kind && e.algorithm == algorithm) return e.formula;
  return {};
}

std::string collectives_table() {
  std::string text =
      "| collective | algorithm | rounds, P = 16; 15 | a rank sends, P = 16; 15 | form, P = 16; 15 | time |\n"
      "|---|---|---|---|---|---|\n";
  for (const Entry& e : kEntries) {
    const Counted a = counted(example(e, 16));
    const Counted b = counted(example(e, 15));
    text += "| " + std::string(name_of(e.kind)) + " | `" + std::string(name_of(e.algorithm)) + "` | " +
            std::to_string(a.rounds) + "; " + std::to_string(b.rounds) + " | " + a.sent + "; " + b.sent +
            " | " + (a.form == b.form ? a.form : a.form + "; " + b.form) + " | " + std::string(e.formula) +
            " |\n";
  }
  return text;
}

}  // namespace cox::model

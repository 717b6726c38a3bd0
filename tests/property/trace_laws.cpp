// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>

#include "cox/trace/compact.hpp"
#include "cox/trace/read.hpp"

#include "support/make_run.hpp"
#include "trace/store/block_codec.hpp"
#include "trace/store/compact_file.hpp"

namespace cox::trace {
namespace {

/// Any 64-bit value, small ones and round ones as likely as large ones.
rc::Gen<std::uint64_t> any_value() {
  return rc::gen::oneOf(
      rc::gen::arbitrary<std::uint64_t>(), rc::gen::inRange<std::uint64_t>(0, 1000),
      rc::gen::map(rc::gen::inRange(0, 64), [](int bit) { return std::uint64_t{1} << bit; }),
      rc::gen::element<std::uint64_t>(0, ~std::uint64_t{0}));
}

RecordColumns any_records(std::size_t n) {
  RecordColumns r;
  r.resize(n);
  // Per case some columns are constant, as they are in real files.
  const auto varying = *rc::gen::arbitrary<std::uint16_t>();
  const auto fixed = *any_value();
  const auto draw = [&](int column) { return (varying >> column & 1) != 0 ? *any_value() : fixed; };
  for (std::size_t i = 0; i < n; ++i)
    r.set(i,
          {.begin = draw(0),
           .end = draw(1),
           .bytes = draw(2),
           .comm = static_cast<std::uint32_t>(draw(3)),
           .seq = static_cast<std::uint32_t>(draw(4)),
           .kind = static_cast<std::uint8_t>(draw(5)),
           .op = static_cast<std::uint8_t>(draw(6)),
           .flags = static_cast<std::uint16_t>(draw(7)),
           .aux = static_cast<std::uint32_t>(draw(8))},
          static_cast<std::uint32_t>(draw(9)));
  return r;
}

RC_GTEST_PROP(TraceLaws, DecodingABlockGivesBackWhatWasEncoded, ()) {
  const auto n = *rc::gen::inRange<std::size_t>(1, 60);
  const RecordColumns in = any_records(n);
  RecordColumns out;
  RC_ASSERT(decode_block(encode_block(in, 0, n), out));
  RC_ASSERT(out == in);
}

RC_GTEST_PROP(TraceLaws, AChangedByteNeverGivesOtherRecords, ()) {
  ProcessRecords in;
  const trace::Run run = test::make_run({.ranks = 1, .steps = 30});
  std::string file = test::raw_file(run, run.ranks[0]);
  std::memcpy(&in.header, file.data(), sizeof in.header);
  in.records = any_records(*rc::gen::inRange<std::size_t>(1, 40));
  std::string compact = encode_compact(in);
  const auto at = *rc::gen::inRange<std::size_t>(0, compact.size());
  const auto bit = *rc::gen::inRange(0, 8);
  compact[at] = static_cast<char>(compact[at] ^ (1 << bit));
  const auto out = decode_compact(compact);
  if (!out) return;
  // One block of events: it is there whole, or it is lost and said to be lost.
  if (out->records.size() > 0)
    RC_ASSERT(out->records == in.records);
  else
    RC_ASSERT(!out->losses.empty());
}

RC_GTEST_PROP(TraceLaws, WritingARunAndReadingItGivesItBack, ()) {
  test::RunShape shape;
  shape.ranks = *rc::gen::inRange(1, 7);
  shape.steps = *rc::gen::inRange(1, 12);
  shape.collectives = *rc::gen::inRange(1, 4);
  shape.nodes = *rc::gen::inRange(1, shape.ranks + 1);
  while ((shape.nodes - 1) * ((shape.ranks + shape.nodes - 1) / shape.nodes) >= shape.ranks) --shape.nodes;
  shape.seed = *rc::gen::arbitrary<std::uint64_t>();
  shape.step_marks = *rc::gen::arbitrary<bool>();
  trace::Run run = test::make_run(shape);
  // The origin of a Run is its earliest event; without step marks that is later than the job's start.
  Duration first = Duration::max();
  for (const RankTrack& t : run.ranks) first = std::min(first, t.events.begin.front());
  for (RankTrack& t : run.ranks) {
    for (Duration& d : t.events.begin) d -= first;
    for (Duration& d : t.events.end) d -= first;
  }
  const test::ScratchDir dir;
  RC_ASSERT(write_run(run, dir.path() / "run", 1).has_value());
  const auto back = open_run(dir.path() / "run", {.threads = *rc::gen::inRange(1, 4)});
  RC_ASSERT(back.has_value());
  RC_ASSERT(test::difference(run, *back) == std::string());
}

}  // namespace
}  // namespace cox::trace

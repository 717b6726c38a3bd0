// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>
#include <sstream>
#include <string>

#include "cox/base/assert.hpp"
#include "cox/learn/learner.hpp"
#include "cox/sync/stream_file.hpp"

#include "fuzz/entries.hpp"

namespace cox::fuzz {

void updates(std::string_view bytes) {
  std::istringstream in{std::string(bytes)};
  const auto problem = learn::make_problem({.dimension = 2, .condition = 2});
  std::optional<learn::Learner> learner;
  std::ostringstream again;
  std::optional<sync::StreamWriter> writer;
  std::int64_t advanced = 0;
  const Status read = sync::read_stream(
      in, "fuzz.csv",
      [&](int workers) {
        writer.emplace(again, workers);
        if (workers <= 64)
          learner.emplace(**problem, learn::OptimizerSpec{}, learn::Way{}, learn::StepShare{}, workers);
        return Status{};
      },
      [&](const sync::StreamEvent& e, Seconds at) {
        writer->add(e, at);
        advanced += e.kind == sync::StreamEvent::Kind::Advanced ? 1 : 0;
        if (learner && !learner->diverged() && learner->take(e))
          COX_ASSERT(learner->version() == advanced, "a learner follows what a ledger took");
        return true;
      });
  if (!read) {
    const Error& error = read.error();
    COX_ASSERT(error.id == "sync-001" && error.where && error.where->line > 0, "a bad file has a line");
    COX_ASSERT(error.message.size() < 500, "a message is a line");
    for (const char c : error.message) COX_ASSERT(c >= ' ' && c < 0x7f, "that a terminal can show");
    return;
  }
  std::istringstream second(again.str());
  std::ostringstream third;
  std::optional<sync::StreamWriter> copy;
  const Status reread = sync::read_stream(
      second, "again.csv",
      [&](int workers) {
        copy.emplace(third, workers);
        return Status{};
      },
      [&](const sync::StreamEvent& e, Seconds at) {
        copy->add(e, at);
        return true;
      });
  COX_ASSERT(reread && third.str() == again.str(), "what was written is read as it was");
}

}  // namespace cox::fuzz

// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/explain_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ostream>

#include "cox/evaluate/claim.hpp"

#include "cli/frame/error_reference.hpp"
#include "cli/frame/spelling.hpp"
#include "cli/output/envelope.hpp"
#include "cli/output/failure.hpp"

namespace cox::cli {
namespace {

Result<ExitCode> list_all(const Invocation& call, Console& console) {
  std::vector<JsonObject> list;
  std::string text;
  for (const ErrorEntry& entry : error_reference()) {
    list.push_back({{"id", entry.id}, {"title", entry.title}});
    text += fmt::format("{:<13} {}\n", entry.id, entry.title);
  }
  console.out << (call.common.json ? to_json({.schema = "cox.errors/1"}, "errors", list) : text);
  return ExitCode::Ok;
}

/// Whatever the verdict: that a claim is false is no failure.
Result<ExitCode> judge(const std::string& text, const Invocation& call, Console& console) {
  COX_TRY(const std::string judged,
          call.common.json ? evaluate::claim_json(text) : evaluate::claim_text(text));
  console.out << judged;
  return ExitCode::Ok;
}

Result<ExitCode> run(const Invocation& call, Console& console) {
  if (call.args.empty()) return list_all(call, console);
  if (call.args.size() > 1 || call.args.front().find(' ') != std::string::npos)
    return judge(fmt::format("{}", fmt::join(call.args, " ")), call, console);
  std::string id = call.args.front();
  for (char& c : id)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
  std::vector<std::string> ids;
  for (const ErrorEntry& entry : error_reference()) {
    ids.push_back(entry.id);
    if (entry.id != id) continue;
    if (call.common.json) {
      console.out << to_json({.schema = "cox.error/1"},
                             JsonObject{{"id", entry.id}, {"title", entry.title}, {"text", entry.body}});
    } else {
      console.out << fmt::format("{}: {}\n\n{}\n", entry.id, entry.title, entry.body);
    }
    return ExitCode::Ok;
  }
  const auto near = nearest(id, ids);
  return fail(usage_error("cli-005", fmt::format("no error has the id '{}'", call.args.front()),
                          near ? fmt::format("did you mean {}?", *near) : "`cox explain` lists all of them"));
}

}  // namespace

const Command& explain_command() {
  static const Command command{
      .spec = {.name = "explain",
               .summary = "say what an error id means, or whether a claim with numbers follows",
               .about =
                   "Says what an error id means and what to do, or judges a claim. Without either: all ids.",
               .examples = {{"cox explain trace-002", "ids stand in brackets behind each error"},
                            {"cox explain", "all of them, one per line"},
                            {"cox explain '10 GB at 100 Gbit/s takes 100 ms'", "computed, and judged"}},
               .args = {{.name = "ID-OR-CLAIM",
                         .help = "as printed, such as trace-002; or a sentence with numbers and units",
                         .required = false,
                         .complete = Complete::ErrorIds,
                         .repeats = true}},
               .shared = {.json = true},
               .notes =
                   "A claim is several words. It is read as one of the formulas of "
                   "docs/howto/check-a-claim.md, which is computed from the claim's own numbers. The verdict "
                   "is one of a study's, or 'cannot tell': no formula fits, or a quantity is not said. The "
                   "exit status is 0 whatever the verdict."},
      .run = run};
  return command;
}

}  // namespace cox::cli

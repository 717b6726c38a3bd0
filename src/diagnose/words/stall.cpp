// SPDX-License-Identifier: Apache-2.0
#include "diagnose/words/stall.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "cox/base/units_text.hpp"

namespace cox::diagnose {
namespace {

std::string plural(std::size_t n, std::string_view one, std::string_view many) {
  return std::string(n == 1 ? one : many);
}

std::string group_words(const CallName& call) {
  if (!call.comm_name.empty()) return fmt::format("\"{}\"", call.comm_name);
  return fmt::format("communicator {}", call.comm.value());
}

std::string since_words(const Stall& stall, const Present& present) {
  const std::string when = stall.since_utc.empty() ? "" : fmt::format(" since {}", stall.since_utc);
  return fmt::format("{}, for {} {}", when, to_string(stall.waited),
                     present.live ? "now" : "up to the last record");
}

std::string part_words(const StalledCall& call) {
  std::string text;
  if (!call.left.empty())
    text += fmt::format("; {} {} left it already", rank_words(call.left),
                        plural(call.left.size(), "has", "have"));
  if (!call.not_recorded.empty())
    text += fmt::format("; of {} nothing is recorded that tells", rank_words(call.not_recorded));
  if (call.unnamed > 0 && !call.call.point_to_point)
    text += fmt::format("; {} {} not known", call.unnamed,
                        plural(static_cast<std::size_t>(call.unnamed), "member is", "members are"));
  return text;
}

std::string leg_words(const StalledCall& call) {
  return fmt::format("{} {} inside {} and {} for {}", rank_words(call.waiting),
                     plural(call.waiting.size(), "is", "are"), call_words(call.call),
                     plural(call.waiting.size(), "waits", "wait"), rank_words(call.missing));
}

std::string cycle_words(const Stall& stall, const Present& present) {
  std::string legs;
  constexpr std::size_t kMostLegs = 6;
  for (std::size_t i = 0; i < std::min(stall.calls.size(), kMostLegs); ++i)
    legs += (i > 0 ? ", " : "") + leg_words(stall.calls[i]);
  if (stall.calls.size() > kMostLegs)
    legs += fmt::format(", and {} more calls", stall.calls.size() - kMostLegs);
  const std::string when = since_words(stall, present);
  if (stall.kind == StallKind::WaitCycle) return fmt::format("ranks wait for each other{}: {}", when, legs);
  const std::string odd =
      stall.ranks.empty() ? ""
                          : fmt::format("; {} took another order than the others", rank_words(stall.ranks));
  return fmt::format("ranks called collectives of {} communicators in different orders{}: {}{}",
                     stall.calls.size(), when, legs, odd);
}

std::string missing_words(const Stall& stall, const Present& present) {
  const StalledCall& call = stall.calls.front();
  std::string text =
      fmt::format("{} {} missing in {}: {} {} there{}", rank_words(call.missing),
                  plural(call.missing.size(), "is", "are"), call_words(call.call), rank_words(call.waiting),
                  plural(call.waiting.size(), "waits", "wait"), since_words(stall, present));
  if (!stall.consequence && stall.ranks.size() < call.missing.size())
    text += fmt::format("; {} {} not wait elsewhere", rank_words(stall.ranks),
                        plural(stall.ranks.size(), "does", "do"));
  return text + part_words(call);
}

std::string entered_words(const Stall& stall, const Present& present) {
  const StalledCall& call = stall.calls.front();
  const bool none_left = call.left.empty();
  const std::string who = none_left ? "all entered and none left"
                                    : fmt::format("all entered; {} did not leave", rank_words(call.waiting));
  std::string text = fmt::format("{}: {}{}", call_words(call.call), who, since_words(stall, present));
  text += part_words(call);
  if (stall.kind == StallKind::AllEntered)
    return text + "; the transport or the library holds it, no rank is to blame";
  if (stall.kind == StallKind::Mismatch)
    return text + (stall.ranks.empty()
                       ? std::string("; members did not call it alike")
                       : fmt::format("; {} did not call it as the others did", rank_words(stall.ranks)));
  return text + fmt::format("; {} {} not go on inside", rank_words(stall.ranks),
                            plural(stall.ranks.size(), "does", "do"));
}

std::string state_words(const LastSeen& seen) {
  std::string where = seen.pid > 0 ? fmt::format("process {}", seen.pid) : "its process";
  if (!seen.host.empty()) where += " on " + seen.host;
  switch (seen.process) {
    case ProcessState::Unknown:
      return "the state of " + where + " is not known";
    case ProcessState::Ended:
      return where + " ended in order";
    case ProcessState::Silent:
      return where + " fell silent before the others: stopped or gone";
    case ProcessState::Gone:
      return where + " is gone";
    default:
      return fmt::format("{} {} {}", where,
                         seen.source == StateSource::Machine ? "is" : "was when last sampled",
                         name_of(seen.process));
  }
}

std::string value_words(const MismatchSide& side, MismatchKind kind) {
  switch (kind) {
    case MismatchKind::Operation:
    case MismatchKind::Order:
      return std::string(model::name_of(side.call.operation));
    case MismatchKind::Root:
      return side.root ? fmt::format("root {}", *side.root) : "no root";
    case MismatchKind::Count:
      return side.type_bytes && *side.type_bytes > 0
                 ? fmt::format("{} bytes ({} elements of {})", side.call.bytes.count(),
                               side.call.bytes.count() / *side.type_bytes, *side.type_bytes)
                 : fmt::format("{} bytes", side.call.bytes.count());
    case MismatchKind::TypeSize:
      return side.type_bytes ? fmt::format("elements of {} bytes", *side.type_bytes)
                             : "elements of no known size";
  }
  return {};
}

}  // namespace

std::string call_words(const CallName& call) {
  if (call.point_to_point) return fmt::format("a point-to-point call on {}", group_words(call));
  return fmt::format("{} {} of {} ({})", model::name_of(call.operation), call.seq, group_words(call),
                     to_string(call.bytes));
}

std::string rank_words(std::span<const Rank> ranks) {
  constexpr std::size_t kMostParts = 8;
  std::vector<Rank> sorted(ranks.begin(), ranks.end());
  std::sort(sorted.begin(), sorted.end());
  std::string text = sorted.size() == 1 ? "rank " : "ranks ";
  std::size_t parts = 0;
  for (std::size_t i = 0; i < sorted.size(); ++parts) {
    if (parts == kMostParts) return text + fmt::format(" and {} more", sorted.size() - i);
    std::size_t j = i;
    while (j + 1 < sorted.size() && sorted[j + 1].value() - sorted[j].value() == 1) ++j;
    if (parts > 0) text += ", ";
    text += j == i ? fmt::format("{}", sorted[i].value())
                   : fmt::format("{}-{}", sorted[i].value(), sorted[j].value());
    i = j + 1;
  }
  return text;
}

std::string last_seen_words(const LastSeen& seen, const Present& present) {
  std::string text = fmt::format("rank {}: ", seen.rank.value());
  if (seen.inside)
    text += fmt::format("inside {}", call_words(*seen.inside));
  else if (seen.last_call)
    text += fmt::format("its last call was {}", call_words(*seen.last_call));
  else
    text += "it finished no collective";
  if (!seen.phase.empty()) text += fmt::format(", it is in phase {}", seen.phase);
  if (seen.step) text += fmt::format(", step {}", seen.step->value());
  text += fmt::format("; nothing since for {}{}; {}", to_string(seen.idle),
                      present.live ? "" : " before the last record", state_words(seen));
  return text;
}

std::string stall_words(const Stall& stall, const Present& present) {
  std::string text;
  switch (stall.kind) {
    case StallKind::MissingRank:
      text = missing_words(stall, present);
      break;
    case StallKind::StuckInside:
    case StallKind::AllEntered:
    case StallKind::Mismatch:
      text = entered_words(stall, present);
      break;
    case StallKind::PeerWait: {
      const StalledCall& call = stall.calls.front();
      text = fmt::format("{} is inside {} with {}{}", rank_words(call.waiting), call_words(call.call),
                         rank_words(call.missing), since_words(stall, present));
      break;
    }
    case StallKind::OrderMismatch:
    case StallKind::WaitCycle:
      text = cycle_words(stall, present);
      break;
    case StallKind::NotRecorded: {
      const StalledCall& call = stall.calls.front();
      text = fmt::format("{} {} inside {}{}{}: who is missing cannot be told", rank_words(call.waiting),
                         plural(call.waiting.size(), "is", "are"), call_words(call.call),
                         since_words(stall, present), part_words(call));
      break;
    }
  }
  if (stall.consequence) text += "; who is missing waits elsewhere";
  if (!stall.hung) text += fmt::format(" (not unusual below {})", to_string(stall.bar));
  return text;
}

std::string mismatch_words(const Mismatch& mismatch) {
  std::string sides;
  for (const MismatchSide& side : mismatch.sides)
    sides += fmt::format("{}{} {}", sides.empty() ? "" : ", ", rank_words(side.ranks),
                         value_words(side, mismatch.kind));
  const CallName& call = mismatch.sides.empty() ? CallName{} : mismatch.sides.front().call;
  std::string where = mismatch.count > 1
                          ? fmt::format("{} operations of {}, first {}", mismatch.count, group_words(call),
                                        mismatch.first_seq)
                          : fmt::format("operation {} of {}", mismatch.first_seq, group_words(call));
  std::string_view what = "members call different operations";
  switch (mismatch.kind) {
    case MismatchKind::Operation:
      break;
    case MismatchKind::Order:
      what = "members call it and its neighbour in different orders";
      break;
    case MismatchKind::Root:
      what = "members name different roots";
      break;
    case MismatchKind::Count:
      what = "members give different sizes";
      break;
    case MismatchKind::TypeSize:
      what = "members give elements of different sizes";
      break;
  }
  const std::string odd = mismatch.ranks.empty()
                              ? "; no side is in the majority"
                              : fmt::format("; {} {} from the majority", rank_words(mismatch.ranks),
                                            plural(mismatch.ranks.size(), "differs", "differ"));
  return fmt::format("{}: {}: {}{}", where, what, sides, odd);
}

std::string ending_words(const Ending& ending) {
  if (ending.exit_status <= 0)
    return fmt::format("the log says that the job ended with status \"{}\"", ending.logged);
  std::string text = fmt::format("the job ended with status {}", ending.exit_status);
  const char* told = ending.told > 0 ? sigabbrev_np(ending.told) : nullptr;
  if (told != nullptr) {
    constexpr int kSoon = 5;  // seconds: all end about then
    if (ending.told_before_s >= kSoon) text += fmt::format(", {} s", ending.told_before_s);
    text += fmt::format("{} after somebody sent SIG{} to cox observe",
                        ending.told_before_s >= kSoon ? "" : ",", told);
    if (ending.first) text += fmt::format("; the record of rank {} ends before that", ending.first->value());
    return text;
  }
  const int signal = ending.signal > 0 ? ending.signal : ending.exit_status - 128;
  const char* name = signal > 0 ? sigabbrev_np(signal) : nullptr;
  if (name != nullptr) text += fmt::format(" ({}SIG{})", ending.signal > 0 ? "" : "as after ", name);
  if (ending.first && ending.first_status >= 0)
    text += fmt::format("; rank {} ended first, with status {}", ending.first->value(), ending.first_status);
  else if (ending.first && ending.first_cut)
    text += fmt::format("; rank {} ended first, without closing its record, as after a signal",
                        ending.first->value());
  else if (ending.first && !ending.absent_from)
    text += fmt::format("; the record of rank {} ends first", ending.first->value());
  else if (!ending.absent_from)
    text += "; which rank ended first is not recorded";
  if (ending.absent_from)
    text += fmt::format("; rank {} ended first, in order, before {}, in which {} waited to the end",
                        ending.first->value(), call_words(ending.absent_from->call),
                        rank_words(ending.absent_from->waiting));
  if (ending.only_closed)
    text += fmt::format(
        "; rank {} alone ended by itself, as after an exception or exit, and the others were cut off",
        ending.only_closed->value());
  if (ending.only_cut && !ending.first)
    text += fmt::format("; the record of rank {} alone is not closed", ending.only_cut->value());
  return text;
}

std::string trouble_words(const Trouble& trouble) {
  std::string text;
  const auto say = [&](std::string sentence) {
    if (sentence.empty()) return;
    if (sentence[0] >= 'a' && sentence[0] <= 'z') sentence[0] = static_cast<char>(sentence[0] & ~0x20);
    text += (text.empty() ? "" : " ") + sentence + '.';
  };
  const auto is_hung = [](const Stall& s) { return s.hung; };
  const auto first = std::find_if(trouble.stalls.begin(), trouble.stalls.end(), is_hung);
  if (first != trouble.stalls.end()) {
    say(first->text);
    if (!first->last_seen.empty()) say(first->last_seen.front().text);
    const auto more = std::count_if(first + 1, trouble.stalls.end(), is_hung);
    if (more > 0) say(fmt::format("{} more {} still", more, more == 1 ? "call stands" : "calls stand"));
  }
  // A dump holds nothing that came later: how long they have waited by then it does not say.
  const auto is_at_end = [](const Stall& s) {
    return s.kind == StallKind::MissingRank && s.waited == Duration::zero() && s.calls.size() == 1;
  };
  if (const auto last = std::find_if(trouble.stalls.begin(), trouble.stalls.end(), is_at_end);
      first == trouble.stalls.end() && !trouble.present.live && last != trouble.stalls.end()) {
    const StalledCall& call = last->calls.front();
    say(fmt::format("the record ends with {} inside {} and {} not; for how long it does not say",
                    rank_words(call.waiting), call_words(call.call), rank_words(call.missing)));
  }
  if (trouble.ending) say(trouble.ending->text);
  if (!trouble.mismatches.empty()) {
    say("members disagree: " + trouble.mismatches.front().text);
    if (trouble.mismatches.size() > 1)
      say(fmt::format("{} more such findings", trouble.mismatches.size() - 1));
  }
  return text;
}

std::string trouble_headline(const Trouble& trouble) {
  const auto first =
      std::find_if(trouble.stalls.begin(), trouble.stalls.end(), [](const Stall& s) { return s.hung; });
  if (first == trouble.stalls.end()) {
    if (trouble.mismatches.empty()) return {};
    const Mismatch& m = trouble.mismatches.front();
    if (m.ranks.empty()) return "Ranks disagree on a collective";
    std::string who = rank_words(m.ranks);
    who[0] = 'R';
    return fmt::format("{} {} from the others in a collective", who,
                       plural(m.ranks.size(), "differs", "differ"));
  }
  std::string who = first->ranks.empty() ? "" : rank_words(first->ranks);
  if (!who.empty()) who[0] = 'R';
  const auto one = first->ranks.size();
  switch (first->kind) {
    case StallKind::MissingRank:
      return fmt::format("{} {} missing in {}", who, plural(one, "is", "are"),
                         model::name_of(first->calls.front().call.operation));
    case StallKind::StuckInside:
      return fmt::format("{} {} not go on inside {}", who, plural(one, "does", "do"),
                         model::name_of(first->calls.front().call.operation));
    case StallKind::AllEntered:
      return fmt::format("{} hangs: all ranks are inside",
                         model::name_of(first->calls.front().call.operation));
    case StallKind::PeerWait:
      return fmt::format("{} {} a point-to-point call up", who, plural(one, "holds", "hold"));
    case StallKind::OrderMismatch:
      return "Ranks call collectives in different orders and wait for each other";
    case StallKind::WaitCycle:
      return "Ranks wait for each other";
    case StallKind::Mismatch:
      return who.empty() ? "Ranks called a collective differently"
                         : who + " called a collective unlike the others";
    case StallKind::NotRecorded:
      return "A call hangs; who is missing is not recorded";
  }
  return {};
}

void put_into_words(Trouble& trouble) {
  if (trouble.ending) trouble.ending->text = ending_words(*trouble.ending);
  for (Stall& stall : trouble.stalls) {
    for (LastSeen& seen : stall.last_seen) seen.text = last_seen_words(seen, trouble.present);
    stall.text = stall_words(stall, trouble.present);
  }
  for (Mismatch& mismatch : trouble.mismatches) mismatch.text = mismatch_words(mismatch);
  trouble.headline = trouble_headline(trouble);
}

}  // namespace cox::diagnose

// SPDX-License-Identifier: Apache-2.0
/// \file
/// Stalls and mismatches as sentences.
#pragma once

#include <span>
#include <string>

#include "cox/diagnose/stall.hpp"

namespace cox::diagnose {

/// `AllReduce 17 of "world" (4.00 MB)`, `a point-to-point call on "world"`.
[[nodiscard]] std::string call_words(const CallName& call);
/// `rank 3`, `ranks 0-3, 7`; beyond eight parts `and 12 more`.
[[nodiscard]] std::string rank_words(std::span<const Rank> ranks);
/// What a rank did last, one sentence.
[[nodiscard]] std::string last_seen_words(const LastSeen& seen, const Present& present);
/// What stands still, one or two sentences.
[[nodiscard]] std::string stall_words(const Stall& stall, const Present& present);
[[nodiscard]] std::string mismatch_words(const Mismatch& mismatch);
/// With which status, and who ended first.
[[nodiscard]] std::string ending_words(const Ending& ending);
/// Fills all texts.
void put_into_words(Trouble& trouble);
/// In a few words what hangs or disagrees; empty where nothing does. Public as `Trouble::headline`.
[[nodiscard]] std::string trouble_headline(const Trouble& trouble);
/// The first sentences of a verdict; empty where nothing hangs and nothing disagrees.
[[nodiscard]] std::string trouble_words(const Trouble& trouble);

}  // namespace cox::diagnose

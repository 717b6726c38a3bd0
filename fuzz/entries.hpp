// SPDX-License-Identifier: Apache-2.0
/// \file
/// What each fuzzer does with its input. The same functions replay the corpus in the test suite
/// (tests/property/replay_corpus.cpp). They abort where a reader breaks its word.
#pragma once

#include <string_view>

namespace cox::fuzz {

/// A `.coxraw` file: read, put into a Run, compacted and read back.
void raw(std::string_view bytes);
/// A `.cox` file, and the same bytes as the content of one of its blocks.
void compact(std::string_view bytes);
/// run.json.
void run_info(std::string_view bytes);
/// A scenario file: read, explained, written, and read back.
void scenario(std::string_view bytes);
/// A GOAL schedule, text or binary: read, run under eager and rendezvous, and run again from its binary form.
void goal_schedule(std::string_view bytes);
/// Measured times of collectives: read, or refused with a line; looked up at any size they are times.
void measured(std::string_view bytes);
/// A table to forecast from: own work or sizes and values, or refused with a line.
void forecast_table(std::string_view bytes);

/// Whether a corpus folder of this name is an imported format's; the others are the entries' above.
[[nodiscard]] bool is_imported(std::string_view reader);
/// Any imported file: `reader` is the name of the corpus folder, e.g. "kineto". Reads the bytes with that
/// reader whatever they look like, and checks that what comes out keeps the promises of a part.
void import(std::string_view reader, std::string_view bytes);

/// Whether a corpus folder is that of a format of several files (`paraver_files`).
[[nodiscard]] bool is_imported_with_companions(std::string_view folder);
/// The same for a file and what lies beside it: `.prv` with `.pcf` and `.row`, the files of an OTF2 archive, `.meta` with
/// its `.bin`. The input holds all of them, each behind a line `=== NAME`; other names are passed over.
void import_files(std::string_view reader, std::string_view bytes);

/// Figures of any form: read, or refused with a line; answered, also against themselves.
void figures(std::string_view bytes);

/// A study's file: read, or refused with a line.
void study(std::string_view bytes);
/// A pasted claim: judged, or said why not; what is printed is a line that a terminal can show.
void claim(std::string_view bytes);

/// A file of updates: read, or refused with a line; a learner follows it, and it is written as it was.
void updates(std::string_view bytes);

/// Settings of pacing as text: taken or refused as a whole, and within bounds a controller under them.
void pace_settings(std::string_view bytes);
/// A line of such text, then observations: bounds hold, and a second controller decides the same.
void pace_observations(std::string_view bytes);

}  // namespace cox::fuzz

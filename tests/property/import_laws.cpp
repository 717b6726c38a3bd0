// SPDX-License-Identifier: Apache-2.0
// What any file does to the readers of imported formats. `fuzz::import` holds the promises: an error with an
// id that is documented, or a part whose columns, orders and references are right.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cox/trace/import.hpp"

#include "fuzz/entries.hpp"
#include "support/make_run.hpp"

namespace cox::trace {
namespace {

namespace fs = std::filesystem;

struct Seed {
  std::string reader;
  std::string name;
  std::string bytes;
};

/// Files of the fuzzers' corpus, by reader and name.
const std::vector<Seed>& seeds() {
  static const std::vector<Seed> all_seeds = [] {
    std::vector<Seed> all;
    for (const auto& entry : fs::recursive_directory_iterator(COX_FUZZ_CORPUS)) {
      const std::string reader = entry.path().parent_path().filename().string();
      if (!entry.is_regular_file() || !fuzz::is_imported(reader)) continue;
      all.push_back({reader, entry.path().filename().string(), test::file_content(entry.path())});
    }
    std::sort(all.begin(), all.end(), [](const Seed& a, const Seed& b) {
      return std::pair(a.reader, a.name) < std::pair(b.reader, b.name);
    });
    return all;
  }();
  return all_seeds;
}

/// Any place below `n`, also in the first cases of a property, which draw small values otherwise.
std::size_t any_below(std::size_t n) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::size_t>(0, n));
}

std::string any_bytes() {
  return *rc::gen::container<std::string>(rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<char>()));
}

TEST(ImportLaws, EveryReaderHasSeeds) {
  std::vector<std::string> readers;
  for (const Seed& seed : seeds()) readers.push_back(seed.reader);
  readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
  EXPECT_EQ(readers.size(), 18U);
}

RC_GTEST_PROP(ImportLaws, AnyBytesAreAPartOrAnError, ()) {
  const std::string bytes = any_bytes();
  for (const Seed& seed : seeds()) fuzz::import(seed.reader, bytes);
}

/// Bytes that begin as the format does lead further in.
RC_GTEST_PROP(ImportLaws, AnyEndIsAPartOrAnError, ()) {
  const std::string rest = any_bytes();
  for (const Seed& seed : seeds())
    fuzz::import(seed.reader, seed.bytes.substr(0, any_below(seed.bytes.size() + 1)) + rest);
}

/// As a copy that stopped, or a writer that was killed, leaves it.
TEST(ImportLaws, ASeedCutAtAnyByteIsAPartOrAnError) {
  constexpr std::size_t kEveryByte = 600;  // of longer ones at most so many places
  for (const Seed& seed : seeds()) {
    SCOPED_TRACE(seed.reader + "/" + seed.name);
    const std::size_t step = 1 + seed.bytes.size() / kEveryByte;
    for (std::size_t n = 0; n < seed.bytes.size(); n += step)
      fuzz::import(seed.reader, std::string_view(seed.bytes).substr(0, n));
  }
}

/// Each place of each seed is changed to one value; which one differs from place to place.
TEST(ImportLaws, ASeedWithAnyByteChangedIsAPartOrAnError) {
  constexpr std::size_t kEveryByte = 300;
  constexpr unsigned kStride = 37;  // prime to 256: all values come up
  for (const Seed& seed : seeds()) {
    SCOPED_TRACE(seed.reader + "/" + seed.name);
    const std::size_t step = 1 + seed.bytes.size() / kEveryByte;
    for (std::size_t at = 0; at < seed.bytes.size(); at += step) {
      std::string bytes = seed.bytes;
      bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ (1 + (at * kStride) % 255));
      fuzz::import(seed.reader, bytes);
    }
  }
}

/// The same damage drawn: other bytes in a few places, and the end of another seed of the reader put in.
RC_GTEST_PROP(ImportLaws, ADamagedSeedIsAPartOrAnError, ()) {
  const std::string damage = any_bytes();
  for (std::size_t i = 0; i < seeds().size(); ++i) {
    const Seed& seed = seeds()[i];
    const Seed& next = seeds()[(i + 1) % seeds().size()];
    std::string bytes = seed.bytes;
    if (bytes.empty()) continue;
    for (const char value : damage) bytes[any_below(bytes.size())] = value;
    if (next.reader == seed.reader)
      bytes.insert(any_below(bytes.size()), next.bytes, any_below(next.bytes.size()), std::string::npos);
    fuzz::import(seed.reader, bytes);
  }
}

std::string gzip(std::string_view plain) {
  constexpr int kGzip = 15 + 16;  // largest window; +16: with the header and trailer of gzip
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&z, plain.size()), '\0');
  // zlib does not write to what it reads, but its interface of 1995 does not say so.
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));  // NOLINT
  z.avail_in = static_cast<uInt>(plain.size());
  z.next_out = reinterpret_cast<Bytef*>(packed.data());
  z.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  packed.resize(z.total_out);
  deflateEnd(&z);
  return packed;
}

Result<Imported> import_bytes(const fs::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
  return import_path(path, {.threads = 1, .progress = {}});
}

/// Also what lies beside a whole file of its format is put together with it, or left out and said to be.
RC_GTEST_PROP(ImportLaws, ADamagedFileBesideItsLikeIsPutTogetherOrNamed, ()) {
  const test::ScratchDir dir;
  const Seed& seed = seeds()[any_below(seeds().size())];
  std::string bytes = seed.bytes;
  for (const char value : any_bytes())
    if (!bytes.empty()) bytes[any_below(bytes.size())] = value;
  std::ofstream(dir.path() / "0-whole", std::ios::binary) << seed.bytes;
  std::ofstream(dir.path() / "1-damaged", std::ios::binary) << bytes;
  const auto out = import_path(dir.path(), {.threads = 1, .progress = {}});
  if (out)
    RC_ASSERT(out->sources.size() == 2U);
  else
    RC_ASSERT(out.error().id.starts_with("import-00"));
}

TEST(ImportLaws, APackedSeedReadsAsTheSeed) {
  const test::ScratchDir dir;
  const fs::path path = dir.path() / "input";  // one name for both: names are part of what is read
  int read = 0;
  for (const Seed& seed : seeds()) {
    SCOPED_TRACE(seed.reader + "/" + seed.name);
    if (seed.bytes.starts_with("\x1f\x8b")) continue;
    const auto plain = import_bytes(path, seed.bytes);
    const auto packed = import_bytes(path, gzip(seed.bytes));
    ASSERT_EQ(plain.has_value(), packed.has_value());
    if (!plain) {
      EXPECT_EQ(plain.error().id, packed.error().id);
      continue;
    }
    ++read;
    ASSERT_EQ(plain->jobs.size(), packed->jobs.size());
    for (std::size_t i = 0; i < plain->jobs.size(); ++i) {
      const trace::Run& a = plain->jobs[i].run;
      const trace::Run& b = packed->jobs[i].run;
      EXPECT_EQ(test::difference(a, b), "");
      EXPECT_EQ(a.names, b.names);
      EXPECT_EQ(plain->jobs[i].program.duration, packed->jobs[i].program.duration);
      EXPECT_TRUE(plain->jobs[i].program.needs == packed->jobs[i].program.needs);
      EXPECT_EQ(plain->jobs[i].program.names, packed->jobs[i].program.names);
      EXPECT_EQ(a.messages.send_begin, b.messages.send_begin);
      ASSERT_EQ(a.notes.size(), b.notes.size());
      for (std::size_t n = 0; n < a.notes.size(); ++n) EXPECT_EQ(a.notes[n].text, b.notes[n].text);
      for (std::size_t r = 0; r < a.ranks.size(); ++r)
        EXPECT_EQ(a.ranks[r].activities.begin, b.ranks[r].activities.begin);
    }
  }
  EXPECT_GE(read, 15);
}

}  // namespace
}  // namespace cox::trace

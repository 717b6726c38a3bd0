// SPDX-License-Identifier: Apache-2.0
#include "trace/import/tables/parquet.hpp"

#include <gtest/gtest.h>
#include <snappy.h>
#include <zlib.h>
#include <zstd.h>

#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <set>

#include "support/test_data.hpp"
#include "trace/import/tables/parquet_page.hpp"
#include "trace/import/tables/parquet_sample.hpp"
#include "trace/import/tables/parquet_thrift.hpp"

namespace cox::trace::parquet {
namespace {

constexpr std::uint64_t kLimit = std::uint64_t{64} << 20;

std::string snappy_of(const std::string& plain) {
  std::string out;
  snappy::Compress(plain.data(), plain.size(), &out);
  return out;
}
std::string zstd_of(const std::string& plain) {
  std::string out(ZSTD_compressBound(plain.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), plain.data(), plain.size(), 3));
  return out;
}
std::string gzip_of(const std::string& plain) {
  z_stream z{};
  deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&z, plain.size()) + 32, '\0');
  std::string in = plain;
  z.next_in = reinterpret_cast<Bytef*>(in.data());  // NOLINT
  z.avail_in = static_cast<uInt>(in.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());  // NOLINT
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(out.size() - z.avail_out);
  deflateEnd(&z);
  return out;
}
std::string pack(int codec, const std::string& plain) {
  return codec == 1 ? snappy_of(plain) : codec == 2 ? gzip_of(plain) : codec == 6 ? zstd_of(plain) : plain;
}

const std::vector<std::int32_t> kThree{7, -1, 2147483647};

SampleColumn plain_column(int codec) {
  const std::string plain = plain_values(kThree);
  return {.name = "x",
          .codec = codec,
          .pages = {{.values = 3,
                     .packed = pack(codec, plain),
                     .unpacked_bytes = static_cast<std::int64_t>(plain.size())}}};
}

std::string message_of(const std::string& bytes) {
  const auto file = File::open(bytes, kLimit);
  if (!file) return file.error().message;
  const auto column = file->read_integers(0);
  return column ? "" : column.error().message;
}

TEST(Parquet, ReadsPlainIntegersOfEveryCodec) {
  for (const int codec : {0, 1, 2, 6}) {
    const std::string bytes = make_parquet({plain_column(codec)}, 3);
    const auto file = File::open(bytes, kLimit);
    ASSERT_TRUE(file) << file.error().to_string();
    EXPECT_EQ(file->rows(), 3U);
    EXPECT_EQ(file->find("x"), 0);
    EXPECT_EQ(file->find("y"), -1);
    const auto x = file->read_integers(0);
    ASSERT_TRUE(x) << name_of_codec(codec) << ": " << x.error().to_string();
    EXPECT_EQ(x->values, (std::vector<std::int64_t>{7, -1, 2147483647}));
    EXPECT_EQ(x->present, (std::vector<std::uint8_t>{1, 1, 1}));
  }
}

TEST(Parquet, ReadsEveryTypeAsWhatItIs) {
  const auto column = [](std::string name, int type, std::string plain) {
    return SampleColumn{
        .name = std::move(name), .type = type, .pages = {{.values = 2, .packed = std::move(plain)}}};
  };
  const std::string bytes = make_parquet(
      {column("bool", 0, "\x02"), column("long", 2, plain_values(std::vector<std::int64_t>{1LL << 40, -5})),
       column("float", 4, plain_values(std::vector<float>{0.5F, 2})),
       column("double", 5, plain_values(std::vector<double>{0.25, 1e300})),
       column("text", 6, plain_values(std::vector<std::string>{"a", "bc"}))},
      2);
  const auto file = File::open(bytes, kLimit);
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_EQ(file->read_integers(0)->values, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(file->read_integers(1)->values, (std::vector<std::int64_t>{1LL << 40, -5}));
  EXPECT_EQ(file->read_reals(1)->values, (std::vector<double>{1099511627776.0, -5}));
  EXPECT_EQ(file->read_reals(2)->values, (std::vector<double>{0.5, 2}));
  EXPECT_EQ(file->read_reals(3)->values, (std::vector<double>{0.25, 1e300}));
  EXPECT_EQ(file->read_integers(2).error().message, "column float holds 0.5, expected whole numbers");
  const auto text = file->read_texts(4);
  ASSERT_TRUE(text);
  EXPECT_EQ(text->distinct, (std::vector<std::string>{"a", "bc"}));
  EXPECT_EQ(text->values, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(file->read_reals(4).error().message, "column text holds text, expected numbers");
  EXPECT_EQ(file->read_texts(3).error().message, "column double holds numbers, expected text");
}

/// Five rows, the second and third null, of a dictionary {"p", "q"}: q - - p q.
SampleColumn dictionary_column(int kind, int encoding) {
  const std::string levels = hybrid_run(1, 1, 1) + hybrid_run(2, 0, 1) + hybrid_run(2, 1, 1);
  // One bit per index, bit-packed: 1, 0, 1.
  const std::string indices = std::string("\x01") + "\x03" + "\x05";
  SamplePage page{.kind = kind, .values = 5, .encoding = encoding};
  if (kind == 3) {
    page.packed = levels + indices;
    page.definition_bytes = static_cast<std::int64_t>(levels.size());
  } else {
    page.packed = plain_values(std::vector<std::uint32_t>{static_cast<std::uint32_t>(levels.size())}) +
                  levels + indices;
  }
  return {
      .name = "t",
      .type = 6,
      .repetition = 1,
      .pages = {{.kind = 2, .values = 2, .packed = plain_values(std::vector<std::string>{"p", "q"})}, page}};
}

TEST(Parquet, ReadsDictionariesAndNullsOfBothPageVersions) {
  for (const int kind : {0, 3})
    for (const int encoding : {2, 8}) {
      const std::string bytes = make_parquet({dictionary_column(kind, encoding)}, 5);
      const auto file = File::open(bytes, kLimit);
      ASSERT_TRUE(file) << file.error().to_string();
      EXPECT_TRUE(file->columns()[0].is_optional);
      const auto t = file->read_texts(0);
      ASSERT_TRUE(t) << t.error().to_string();
      EXPECT_EQ(t->present, (std::vector<std::uint8_t>{1, 0, 0, 1, 1}));
      EXPECT_EQ(t->distinct, (std::vector<std::string>{"p", "q"}));
      EXPECT_EQ(t->values, (std::vector<std::uint32_t>{1, 0, 0, 0, 1}));
    }
}

TEST(Parquet, ReadsCompressedPagesOfVersionTwo) {
  const std::string plain = plain_values(kThree);
  SampleColumn c{.name = "x",
                 .codec = 1,
                 .pages = {{.kind = 3,
                            .values = 3,
                            .packed = snappy_of(plain),
                            .unpacked_bytes = static_cast<std::int64_t>(plain.size()),
                            .is_compressed = true}}};
  EXPECT_EQ(message_of(make_parquet({c}, 3)), "");
  c.pages[0].is_compressed = false;
  EXPECT_EQ(message_of(make_parquet({c}, 3)), "a UNCOMPRESSED page of column x cannot be unpacked");
}

TEST(Parquet, ReadsRunLengthBooleans) {
  const std::string run = hybrid_run(3, 1, 1);
  const SampleColumn c{
      .name = "x",
      .type = 0,
      .pages = {{.kind = 3,
                 .values = 3,
                 .encoding = 3,
                 .packed = plain_values(std::vector<std::uint32_t>{static_cast<std::uint32_t>(run.size())}) +
                           run}}};
  const std::string bytes = make_parquet({c}, 3);
  EXPECT_EQ(File::open(bytes, kLimit)->read_integers(0)->values, (std::vector<std::int64_t>{1, 1, 1}));
}

TEST(Parquet, WholeNumbersStoredAsReals) {
  const SampleColumn c{
      .name = "x",
      .type = 5,
      .pages = {{.values = 2,
                 .packed = plain_values(std::vector<double>{3, std::numeric_limits<double>::quiet_NaN()})}}};
  const std::string bytes = make_parquet({c}, 2);
  const auto x = File::open(bytes, kLimit)->read_integers(0);
  ASSERT_TRUE(x);
  EXPECT_EQ(x->values[0], 3);
  EXPECT_EQ(x->present, (std::vector<std::uint8_t>{1, 0}));
}

TEST(Parquet, RefusesByName) {
  SampleColumn c = plain_column(0);
  c.codec = 4;
  EXPECT_EQ(message_of(make_parquet({c}, 3)), "codec BROTLI of column x");
  c = plain_column(0);
  c.pages[0].encoding = 5;
  EXPECT_EQ(message_of(make_parquet({c}, 3)), "encoding DELTA_BINARY_PACKED of column x");
  c = plain_column(0);
  c.nested_children = 2;
  EXPECT_EQ(message_of(make_parquet({c}, 3)), "nested column x");
  c = plain_column(0);
  c.repetition = 2;
  EXPECT_EQ(message_of(make_parquet({c}, 3)), "repeated column x");
  c = plain_column(0);
  c.type = 3;
  EXPECT_EQ(message_of(make_parquet({c}, 3)), "INT96 column x");
  c = plain_column(0);
  c.is_encrypted = true;
  EXPECT_EQ(message_of(make_parquet({c}, 3)), "encrypted column x");
  std::string bytes = make_parquet({plain_column(0)}, 3);
  bytes.replace(bytes.size() - 4, 4, "PARE");
  EXPECT_EQ(message_of(bytes), "encrypted Parquet file");
}

TEST(Parquet, ANestedColumnDoesNotHideTheOthers) {
  SampleColumn nested = plain_column(0);
  nested.name = "n";
  nested.nested_children = 2;
  const std::string bytes = make_parquet({nested, plain_column(0)}, 3);
  const auto file = File::open(bytes, kLimit);
  ASSERT_TRUE(file) << file.error().to_string();
  const auto x = file->read_integers(file->find("x"));
  ASSERT_TRUE(x) << x.error().to_string();
  EXPECT_EQ(x->values[0], 7);
}

TEST(Parquet, RefusesAbsurdLengths) {
  EXPECT_EQ(File::open(make_parquet({plain_column(0)}, std::int64_t{1} << 40), kLimit).error().id,
            "import-004");
  EXPECT_EQ(message_of(make_parquet({plain_column(0)}, 4)), "column x has 3 values, expected 4");
  SampleColumn c = plain_column(0);
  c.pages[0].values = std::int64_t{1} << 30;
  EXPECT_NE(message_of(make_parquet({c}, 3)), "");
  // A run of a billion values in five bytes.
  c = dictionary_column(0, 8);
  c.pages[1].packed.back() = '\x7f';
  EXPECT_NE(message_of(make_parquet({c}, 5)), "");
}

TEST(Parquet, RefusesBombs) {
  const std::string zeros(std::size_t{48} << 20, '\0');
  for (const int codec : {2, 6}) {
    SampleColumn c = plain_column(0);
    c.codec = codec;
    c.pages[0].packed = pack(codec, zeros);
    c.pages[0].unpacked_bytes = static_cast<std::int64_t>(zeros.size());
    const std::string bytes = make_parquet({c}, 3);
    const auto limited = File::open(bytes, 1 << 20)->read_integers(0);
    EXPECT_EQ(limited.error().id, "import-004");
  }
  // Snappy that claims a gigabyte.
  SampleColumn c = plain_column(1);
  c.pages[0].packed = std::string("\x80\x80\x80\x80\x04") + "xx";
  c.pages[0].unpacked_bytes = std::int64_t{1} << 30;
  const std::string bytes = make_parquet({c}, 3);
  EXPECT_FALSE(File::open(bytes, std::uint64_t{1} << 40)->read_integers(0));
}

TEST(Parquet, EveryCutIsAnErrorAndNoChangeIsACrash) {
  const std::string whole = make_parquet({plain_column(1), dictionary_column(3, 8)}, 3);
  const auto touch = [](const std::string& bytes) {
    const auto file = File::open(bytes, kLimit);
    if (!file) return false;
    bool all = true;
    for (int c = 0; c < static_cast<int>(file->columns().size()); ++c) {
      all = file->read_integers(c).has_value() && all;
      all = file->read_texts(c).has_value() && all;
      all = file->read_reals(c).has_value() && all;
    }
    return all;
  };
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(touch(whole.substr(0, size))) << size;
  std::mt19937 random(11);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = whole;
    for (unsigned k = 0; k <= random() % 3; ++k) bytes[random() % bytes.size()] = static_cast<char>(random());
    touch(bytes);
  }
}

TEST(Hybrid, MixesRunsAndPackedGroups) {
  std::vector<std::uint32_t> out;
  // Three times 5, then 0..7 in three bits each (the example of the format's own description).
  const std::string bytes = hybrid_run(3, 5, 1) + "\x03\x88\xc6\xfa";
  ASSERT_TRUE(decode_hybrid(bytes, 3, 11, out));
  EXPECT_EQ(out, (std::vector<std::uint32_t>{5, 5, 5, 0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_FALSE(decode_hybrid(bytes, 3, 12, out));
  EXPECT_FALSE(decode_hybrid(hybrid_run(0, 5, 1), 3, 1, out));
  EXPECT_TRUE(decode_hybrid("", 0, 3, out));
  EXPECT_EQ(out, (std::vector<std::uint32_t>{0, 0, 0}));
}

TEST(Thrift, DeepNestingEndsInsteadOfRecursing) {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += '\x1c';  // a structure in a structure
  ThriftReader in(deep);
  in.skip(ThriftType::Struct);
  EXPECT_FALSE(in.ok());
  ThriftReader list("\xfc\xff\xff\xff\xff\x7f");
  list.skip(ThriftType::List);
  EXPECT_FALSE(list.ok());
}

TEST(ParquetData, FixtureHasItsRowsAndColumns) {
  COX_NEED_DATA(path, "traces/bytedance-st/trace-ST.parquet");
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const auto file = File::open(bytes, kLimit);
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_EQ(file->rows(), 6784U);
  for (const char* name :
       {"dp_rank", "stage", "rank", "step", "optype", "start_ts", "duration", "seq_id", "mc"})
    EXPECT_GE(file->find(name), 0) << name;
  const auto types = file->read_texts(file->find("optype"));
  ASSERT_TRUE(types) << types.error().to_string();
  // The dictionary holds one more that no row uses.
  EXPECT_EQ(std::set<std::uint32_t>(types->values.begin(), types->values.end()).size(), 13U);
}

}  // namespace
}  // namespace cox::trace::parquet

// SPDX-License-Identifier: Apache-2.0
#include "cox/base/units_text.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <optional>

#include "cox/base/power.hpp"
#include "cox/base/unknown_unit.hpp"

namespace cox {
namespace {

using namespace cox::literals;

std::int64_t ps(std::string_view text) {
  const auto d = parse_duration(text);
  EXPECT_TRUE(d) << text << ": " << (d ? "" : d.error().to_string());
  return d ? d->count() : -1;
}
std::int64_t bytes(std::string_view text) {
  const auto b = parse_bytes(text);
  EXPECT_TRUE(b) << text << ": " << (b ? "" : b.error().to_string());
  return b ? b->count() : -1;
}
double rate(std::string_view text) {
  const auto w = parse_bandwidth(text);
  EXPECT_TRUE(w) << text << ": " << (w ? "" : w.error().to_string());
  return w ? w->in_bytes_per_s() : -1;
}

TEST(ParseBytes, TellsPowersOf1000FromPowersOf1024) {
  EXPECT_EQ(bytes("25MB"), 25'000'000);
  EXPECT_EQ(bytes("25MiB"), 26'214'400);
  EXPECT_EQ(bytes("0B"), 0);
  EXPECT_EQ(bytes("1kB"), 1'000);
  EXPECT_EQ(bytes("1KiB"), 1'024);
  EXPECT_EQ(bytes("3GB"), 3'000'000'000);
  EXPECT_EQ(bytes("3GiB"), std::int64_t{3} << 30);
  EXPECT_EQ(bytes("2TB"), 2'000'000'000'000);
  EXPECT_EQ(bytes("2TiB"), std::int64_t{2} << 40);
  EXPECT_EQ(bytes("2PB"), 2'000'000'000'000'000);
  EXPECT_EQ(bytes("2PiB"), std::int64_t{2} << 50);
}

TEST(ParseBytes, FractionsMustComeOutWhole) {
  EXPECT_EQ(bytes("1.5kB"), 1'500);
  EXPECT_EQ(bytes("0.5KiB"), 512);
  EXPECT_EQ(bytes("1.000B"), 1);
  EXPECT_FALSE(parse_bytes("1.5B"));
  EXPECT_FALSE(parse_bytes("0.0001kB"));
  EXPECT_FALSE(parse_bytes("0.1KiB"));  // 102.4
}

TEST(ParseBytes, LargeCountsStayExact) {
  // Both have no double of their own.
  EXPECT_EQ(bytes("9007199254740993B"), 9'007'199'254'740'993);
  EXPECT_EQ(bytes("9007199254740.993kB"), 9'007'199'254'740'993);
  EXPECT_EQ(bytes("9223372036854775807B"), std::numeric_limits<std::int64_t>::max());
}

TEST(ParseBytes, OverflowIsAnError) {
  for (const char* text :
       {"9223372036854775808B", "8192PiB", "9224PB", "99999999999999999999999999999999999999999B"}) {
    const auto b = parse_bytes(text);
    ASSERT_FALSE(b) << text;
    EXPECT_NE(b.error().message.find("out of range"), std::string::npos) << b.error().message;
  }
  EXPECT_EQ(bytes("8191PiB"), std::int64_t{8191} << 50);
}

TEST(ParseDuration, ReadsEveryUnit) {
  EXPECT_EQ(ps("7ps"), 7);
  EXPECT_EQ(ps("7ns"), 7'000);
  EXPECT_EQ(ps("10us"), 10'000'000);
  EXPECT_EQ(ps("10\u00b5s"), 10'000'000);
  EXPECT_EQ(ps("10\u03bcs"), 10'000'000);
  EXPECT_EQ(ps("1.5 ms"), 1'500'000'000);
  EXPECT_EQ(ps("2s"), 2'000'000'000'000);
  EXPECT_EQ(ps("3min"), 180'000'000'000'000);
  EXPECT_EQ(ps("2h"), 7'200'000'000'000'000);
  EXPECT_EQ(ps("1d"), 86'400'000'000'000'000);
}

TEST(ParseDuration, IsDecimalAllTheWay) {
  EXPECT_EQ(ps("0.1s"), 100'000'000'000);
  EXPECT_EQ(ps("0.3us"), 300'000);
  EXPECT_EQ(ps("1.000000000001s"), 1'000'000'000'001);
  EXPECT_EQ(ps("9223372.036854775807s"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(ps("0.4ps"), 0);
  EXPECT_EQ(ps("0.5ps"), 1);
  EXPECT_FALSE(parse_duration("9223372.036854775808s"));
  EXPECT_FALSE(parse_duration("107d"));
  EXPECT_FALSE(parse_duration("0.1234567890123456789s"));
}

TEST(ParseBandwidth, TellsBitsFromBytes) {
  EXPECT_EQ(rate("100Gbps"), 12.5e9);
  EXPECT_EQ(rate("100GB/s"), 100e9);
  EXPECT_EQ(rate("1GiB/s"), 1073741824.0);
  EXPECT_EQ(rate("8bps"), 1.0);
  EXPECT_EQ(rate("8kbps"), 1e3);
  EXPECT_EQ(rate("8Mbps"), 1e6);
  EXPECT_EQ(rate("1.6Tbps"), 200e9);
  EXPECT_EQ(rate("3B/s"), 3.0);
  EXPECT_EQ(rate("3kB/s"), 3e3);
  EXPECT_EQ(rate("3MB/s"), 3e6);
  EXPECT_EQ(rate("3TB/s"), 3e12);
  EXPECT_EQ(rate("3KiB/s"), 3072.0);
  EXPECT_EQ(rate("3MiB/s"), 3145728.0);
  EXPECT_EQ(rate("3TiB/s"), 3298534883328.0);
}

TEST(ParseBandwidth, RoundsOnce) {
  EXPECT_EQ(rate("0.1GB/s"), 0.1e9);
  EXPECT_EQ(rate("12.3456789GB/s"), 12.3456789e9);
  EXPECT_EQ(rate("0.3B/s"), 0.3);
}

TEST(ParseBandwidth, NeverInfinite) {
  EXPECT_FALSE(parse_bandwidth(std::string(400, '9') + "GB/s"));
}

TEST(ParseAny, SpacesAreOptional) {
  EXPECT_EQ(ps("10 us"), ps("10us"));
  EXPECT_EQ(ps("  10   us "), ps("10us"));
  EXPECT_EQ(bytes("25 MB"), 25'000'000);
  EXPECT_EQ(rate(" 100 Gbps"), 12.5e9);
}

TEST(ParseAny, ABareNumberListsTheSpellings) {
  const auto b = parse_bytes("25");
  ASSERT_FALSE(b);
  EXPECT_EQ(b.error().id, "base-001");
  EXPECT_EQ(b.error().code, Errc::InvalidInput);
  EXPECT_EQ(b.error().message, "25 has no unit, expected a size such as 25MB");
  for (const char* unit : {"B ", "kB", "MB", "GB", "TB", "PB", "KiB", "MiB", "GiB", "TiB", "PiB"})
    EXPECT_NE(b.error().hint.find(unit), std::string::npos) << unit;
  ASSERT_FALSE(parse_duration("25"));
  for (const char* unit : {"ps", "ns", "us", "µs", "ms", " s ", "min", " h ", " d"})
    EXPECT_NE(parse_duration("25").error().hint.find(unit), std::string::npos) << unit;
  ASSERT_FALSE(parse_bandwidth("25"));
  for (const char* unit : {"bps", "Gbps", "B/s", "TB/s", "KiB/s", "TiB/s"})
    EXPECT_NE(parse_bandwidth("25").error().hint.find(unit), std::string::npos) << unit;
}

TEST(ParseAny, EverythingElseIsRefusedWithTheSameId) {
  for (const char* text : {"",       " ",    "B",      "MB",     "-1MB",   "+1MB",   "1e3B", "0x10B",
                           "1.B",    ".5kB", "1..5kB", "1,5kB",  "25mb",   "25M",    "25KB", "25 MB x",
                           "1MB1MB", "nanB", "infB",   "1_000B", "25\tMB", "1 0 MB", "25Mb"}) {
    const auto b = parse_bytes(text);
    ASSERT_FALSE(b) << text;
    EXPECT_EQ(b.error().id, "base-001") << text;
  }
  for (const char* text : {"1m", "1M", "1S", "1sec", "-1s", "1 s s", "s", "1\xb5s", "1\xc2s"})
    EXPECT_FALSE(parse_duration(text)) << text;
  for (const char* text : {"1Gb/s", "1GBps", "1gbps", "1Gbit", "-1Gbps", "infGbps", "1e9bps"})
    EXPECT_FALSE(parse_bandwidth(text)) << text;
}

TEST(ParseAny, MessagesStayShortAndPrintable) {
  const auto bad = parse_bytes(std::string("7") + '\0' + "\x1b[31m\xff" + std::string(5000, 'x'));
  ASSERT_FALSE(bad);
  EXPECT_LT(bad.error().message.size(), 120U);
  for (const char c : bad.error().message) EXPECT_TRUE(c >= ' ' && c <= '~');
}

TEST(DurationText, ThreeSignificantDigits) {
  EXPECT_EQ(to_string(Duration::zero()), "0 s");
  EXPECT_EQ(to_string(340_ps), "340 ps");
  EXPECT_EQ(to_string(Duration{1200ns}), "1.20 µs");
  EXPECT_EQ(to_string(Duration{12300us}), "12.3 ms");
  EXPECT_EQ(to_string(Duration{999ns}), "999 ns");
  EXPECT_EQ(to_string(Duration{5s}), "5.00 s");
  EXPECT_EQ(to_string(Duration{90s}), "90.0 s");
  EXPECT_EQ(to_string(Duration{150s}), "2.50 min");
  EXPECT_EQ(to_string(Duration{3h}), "3.00 h");
  EXPECT_EQ(to_string(Duration{72h}), "3.00 d");
  EXPECT_EQ(to_string(-Duration{1200ns}), "-1.20 µs");
}

TEST(DurationText, RoundingCarriesIntoTheNextUnit) {
  EXPECT_EQ(to_string(999'499_ps), "999 ns");
  EXPECT_EQ(to_string(999'500_ps), "1.00 µs");
  EXPECT_EQ(to_string(9'995_ps), "10.0 ns");
  EXPECT_EQ(to_string(99'950_ps), "100 ns");
  EXPECT_EQ(to_string(Duration{119'499ms}), "119 s");
  EXPECT_EQ(to_string(Duration{119'500ms}), "2.00 min");
  EXPECT_EQ(to_string(Duration{7170s}), "2.00 h");
  EXPECT_EQ(to_string(Duration{172'620s}), "2.00 d");
  EXPECT_EQ(to_string(Duration{172'619s}), "47.9 h");
}

TEST(DurationText, TheEndsOfTheRangePrint) {
  EXPECT_EQ(to_string(Duration::max()), "107 d");
  EXPECT_EQ(to_string(Duration::min()), "-107 d");
}

TEST(BytesText, DecimalUnits) {
  EXPECT_EQ(to_string(0_B), "0 B");
  EXPECT_EQ(to_string(340_B), "340 B");
  EXPECT_EQ(to_string(999_B), "999 B");
  EXPECT_EQ(to_string(1_kB), "1.00 kB");
  EXPECT_EQ(to_string(25_MB), "25.0 MB");
  EXPECT_EQ(to_string(25_MiB), "26.2 MB");
  EXPECT_EQ(to_string(999'500_B), "1.00 MB");
  EXPECT_EQ(to_string(25_MB * -1), "-25.0 MB");
  EXPECT_EQ(to_string(Bytes{std::numeric_limits<std::int64_t>::max()}), "9223 PB");
  EXPECT_EQ(to_string(Bytes{std::numeric_limits<std::int64_t>::min()}), "-9223 PB");
}

TEST(BandwidthText, DecimalBytesPerSecond) {
  EXPECT_EQ(to_string(Bandwidth{}), "0 B/s");
  EXPECT_EQ(to_string(Bandwidth::gbit_per_s(100)), "12.5 GB/s");
  EXPECT_EQ(to_string(Bandwidth::gbyte_per_s(100)), "100 GB/s");
  EXPECT_EQ(to_string(Bandwidth::bytes_per_s(1)), "1.00 B/s");
  EXPECT_EQ(to_string(Bandwidth::bytes_per_s(999.6)), "1.00 kB/s");
  EXPECT_EQ(to_string(Bandwidth::bytes_per_s(-2e6)), "-2.00 MB/s");
  EXPECT_EQ(to_string(Bandwidth::bytes_per_s(0.25)), "0.25 B/s");
  EXPECT_EQ(to_string(10_B / Duration::zero()), "inf TB/s");
}

TEST(ParseSeconds, IsNotRoundedToPicoseconds) {
  EXPECT_EQ(parse_seconds("25us")->count(), 25e-6);
  EXPECT_EQ(parse_seconds("0.25ps")->count(), 0.25e-12);
  EXPECT_EQ(parse_seconds("10\u00b5s")->count(), 10e-6);
  EXPECT_EQ(parse_seconds("10\u03bcs")->count(), 10e-6);
  EXPECT_EQ(parse_seconds("0 s")->count(), 0);
  EXPECT_EQ(parse_seconds("1.5 ms")->count(), 1.5e-3);
  EXPECT_EQ(parse_seconds("2min")->count(), 120);
  EXPECT_EQ(parse_seconds("3h")->count(), 10800);
  EXPECT_EQ(parse_seconds("1000d")->count(), 86400e3) << "beyond the range of a Duration";
  for (const char* text : {"", "5", "-1us", "1e3us", "us", "1 usx", "1m"}) {
    const auto bad = parse_seconds(text);
    ASSERT_FALSE(bad) << text;
    EXPECT_EQ(bad.error().id, "base-001");
  }
  EXPECT_FALSE(parse_seconds(std::string(400, '9') + "s"));
}

TEST(ParseTimePerByte, ReadsItsUnits) {
  EXPECT_EQ(parse_time_per_byte("20ps/B")->in_seconds_per_byte(), 20e-12);
  EXPECT_EQ(parse_time_per_byte("0.02 ns/B")->in_seconds_per_byte(), 0.02e-9);
  EXPECT_EQ(parse_time_per_byte("1us/B")->in_seconds_per_byte(), 1e-6);
  const auto bad = parse_time_per_byte("20ps");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message, "unknown unit ps, expected a time per byte such as 20ps/B");
}

TEST(ParseFlops, ReadsItsUnits) {
  EXPECT_EQ(parse_flop_rate("312TFLOP/s")->in_flops_per_s(), 312e12);
  EXPECT_EQ(parse_flop_rate("1.98 PFLOP/s")->in_flops_per_s(), 1.98e15);
  EXPECT_EQ(parse_flop_rate("7FLOP/s")->in_flops_per_s(), 7);
  EXPECT_FALSE(parse_flop_rate("312TFLOP"));
  EXPECT_FALSE(parse_flop_rate("312TFLOPS"));
  EXPECT_EQ(parse_flop_rate("312").error().message,
            "312 has no unit, expected a rate of operations such as 312TFLOP/s");
}

TEST(SecondsText, ThreeSignificantDigits) {
  EXPECT_EQ(to_string(Seconds{0}), "0 s");
  EXPECT_EQ(to_string(Seconds{12.3e-3}), "12.3 ms");
  EXPECT_EQ(to_string(Seconds{340e-12}), "340 ps");
  EXPECT_EQ(to_string(Seconds{1.256e-12}), "1.26 ps");
  EXPECT_EQ(to_string(Seconds{0.34e-12}), "0.34 ps");
  EXPECT_EQ(to_string(Seconds{-1.2e-6}), "-1.20 µs");
  EXPECT_EQ(to_string(Seconds{86400.0 * 1000}), "1000 d");
  EXPECT_EQ(to_string(Seconds{std::numeric_limits<double>::infinity()}), "inf s");
  EXPECT_EQ(to_string(Seconds{-std::numeric_limits<double>::infinity()}), "-inf s");
  EXPECT_EQ(to_string(Seconds{std::numeric_limits<double>::quiet_NaN()}), "nan s");
}

TEST(FlopsText, ThreeSignificantDigits) {
  EXPECT_EQ(to_string(FlopRate::flops_per_s(312e12)), "312 TFLOP/s");
  EXPECT_EQ(to_string(FlopRate::flops_per_s(989.4e12)), "989 TFLOP/s");
  EXPECT_EQ(to_string(FlopRate::flops_per_s(999.6e12)), "1.00 PFLOP/s");
  EXPECT_EQ(to_string(FlopRate{}), "0 FLOP/s");
  EXPECT_EQ(to_string(Flops{3.14e23}), "314 ZFLOP");
  EXPECT_EQ(to_string(TimePerByte::seconds_per_byte(20e-12)), "20.0 ps/B");
}

TEST(Spelled, ReadsAsPeopleWriteIt) {
  EXPECT_EQ(spelled(Seconds{25e-6}), "25us");
  EXPECT_EQ(spelled(Seconds{0}), "0s");
  EXPECT_EQ(spelled(Seconds{0.25e-12}), "0.25ps");
  EXPECT_EQ(spelled(Seconds{86400}), "86400s");
  EXPECT_EQ(spelled(Seconds{1.35e-6}), "1.35us");
  EXPECT_EQ(spelled(256_MiB), "256MiB");
  EXPECT_EQ(spelled(25_MB), "25MB");
  EXPECT_EQ(spelled(1536_KiB), "1536KiB");
  EXPECT_EQ(spelled(0_B), "0B");
  EXPECT_EQ(spelled(Bandwidth::gbyte_per_s(12.5)), "12.5GB/s");
  EXPECT_EQ(spelled(Bandwidth{}), "0B/s");
  EXPECT_EQ(spelled(TimePerByte::seconds_per_byte(20e-12)), "20ps/B");
  EXPECT_EQ(spelled(TimePerByte{}), "0s/B");
  EXPECT_EQ(spelled(FlopRate::flops_per_s(312e12)), "312TFLOP/s");
  EXPECT_EQ(spelled(Flops{3.14e23}), "314ZFLOP");
}

TEST(UnitsText, AnIntervalIsInTheUnitOfItsValue) {
  EXPECT_EQ(with_half_width(Seconds{25.9729 * 3600}, Seconds{53.6687 * 60}, 6), "25.9729 ± 0.8945 h");
  EXPECT_EQ(with_half_width(Seconds{0.0029}, Seconds{0.0012345}, 6), "2.90 ± 1.2345 ms");
  EXPECT_EQ(with_half_width(Seconds{0.0029}, Seconds{1.5}, 6), "2.90 ± 1500 ms");
  EXPECT_EQ(with_half_width(Seconds{2}, Seconds{}, 6), "2.00 ± 0 s");
  EXPECT_EQ(with_half_width(Seconds{}, Seconds{}, 6), "0 s ± 0 s");
}

TEST(UnitsText, MoreDigitsWhereTheyAreAskedForAndNotZeros) {
  EXPECT_EQ(to_string(Seconds{1.10886e-3}, 6), "1.10886 ms");
  EXPECT_EQ(to_string(Seconds{1.2115e-3}, 6), "1.2115 ms");
  EXPECT_EQ(to_string(Seconds{0.01}, 6), "10.0 ms");
  EXPECT_EQ(to_string(Seconds{-171.953e-6}, 6), "-171.953 µs");
  EXPECT_EQ(to_string(Seconds{1.0001414e-6}, 6), "1.00014 µs");
  EXPECT_EQ(to_string(Seconds{0.9999999}, 6), "1.00 s");
  EXPECT_EQ(to_string(Seconds{119.5}, 6), "119.5 s");
  EXPECT_EQ(to_string(Seconds{125.25}, 6), "2.0875 min");
  EXPECT_EQ(to_string(Seconds{7199.9999}, 6), "2.00 h");
  EXPECT_EQ(to_string(Seconds{86400 * 1234.5}, 6), "1234.5 d");
  EXPECT_EQ(to_string(Seconds{3.4e-13}, 6), "0.34 ps");
  EXPECT_EQ(to_string(Seconds{0}, 6), "0 s");
  EXPECT_EQ(to_string(Seconds{std::numeric_limits<double>::infinity()}, 6), "inf s");
}

TEST(UnknownUnit, TimesAreNumbersOfUnitsWhileItLives) {
  {
    const UnknownUnit unit(Seconds(1e-3));
    EXPECT_EQ(to_string(Duration(0)), "0 units");
    EXPECT_EQ(to_string(duration_from_seconds(0.0296)), "29.6 units");
    EXPECT_EQ(to_string(Seconds(1.234)), "1 234 units");
    EXPECT_EQ(to_string(Seconds(1.234), 6), "1 234 units");
    EXPECT_EQ(to_string(Seconds(2000.006)), "2 000 006 units");
    EXPECT_EQ(to_string(Seconds(98000.0)), "98 000 000 units");
    EXPECT_EQ(to_string(Seconds(2e-8)), "0.00002 units");
    EXPECT_EQ(to_string(Seconds(0.001)), "1.00 units");
    EXPECT_EQ(to_string(Seconds(-5e-4)), "-0.5 units");
    const UnknownUnit none(std::nullopt);
    EXPECT_EQ(to_string(Seconds(1.5)), "1.50 s");
  }
  EXPECT_EQ(to_string(Seconds(1.5)), "1.50 s");
}

TEST(Power, ReadsAndWrites) {
  EXPECT_EQ(parse_power("8.4kW")->in_watts(), 8400);
  EXPECT_EQ(parse_power("700 W")->in_watts(), 700);
  EXPECT_EQ(parse_power("700").error().message, "700 has no unit, expected a power such as 700W");
  EXPECT_FALSE(parse_power("1e3W"));
  EXPECT_EQ(to_string(Power::watts(8400)), "8.40 kW");
  EXPECT_EQ(to_string(Power{}), "0 W");
  EXPECT_EQ(to_string(Power::watts(8400) * Seconds{1000}), "8.40 MJ");
  EXPECT_EQ(spelled(Power::watts(7752)), "7.752kW");
  EXPECT_EQ(spelled(Power{}), "0W");
}

}  // namespace
}  // namespace cox

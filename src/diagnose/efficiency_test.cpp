// SPDX-License-Identifier: Apache-2.0
#include "cox/diagnose/efficiency.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "cox/trace/import.hpp"

#include "diagnose/efficiency_json.hpp"
#include "diagnose/synthetic_job.hpp"
#include "tests/support/test_data.hpp"

namespace cox::diagnose {
namespace {

using namespace testing;

/// Rows of a published table: name, then one value per size.
std::map<std::string, std::vector<double>> read_table(const std::filesystem::path& path) {
  std::map<std::string, std::vector<double>> table;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    std::istringstream cells(line);
    std::string name;
    std::getline(cells, name, ';');
    for (std::string cell; std::getline(cells, cell, ';');) table[name].push_back(std::stod(cell));
  }
  return table;
}

/// Whether `value` is the published one to a thousandth, or to what the table prints.
void expect_published(const std::map<std::string, std::vector<double>>& table, const char* row,
                      std::size_t column, double value, double scale, double tolerance = 1e-3) {
  const auto at = table.find(row);
  ASSERT_NE(at, table.end()) << row;
  ASSERT_LT(column, at->second.size()) << row;
  EXPECT_NEAR(value * scale / at->second[column], 1, tolerance) << row << ", column " << column;
}

TEST(Efficiency, EpochHasItsPublishedFactors) {
  COX_NEED_DATA(dir, "traces/epoch-paraver");
  const auto table = read_table(dir / "modelfactors-1-2-4.csv");
  std::vector<Efficiencies> measured;
  for (const int n : {4, 1, 2}) {
    const auto imported = trace::import_path(dir / ("epoch_" + std::to_string(n) + "proc.prv.gz"));
    ASSERT_TRUE(imported) << imported.error().to_string();
    const auto e = measure_efficiencies(imported->runs.front());
    ASSERT_TRUE(e);
    measured.push_back(*e);
  }
  const auto scaling = compare_sizes(measured);
  ASSERT_TRUE(scaling);
  ASSERT_EQ(scaling->sizes.size(), 3U);
  for (std::size_t c = 0; c < 3; ++c) {
    const SizeEfficiencies& s = scaling->sizes[c];
    const auto expect = [&](const char* row, double value, double scale, double tolerance = 1e-3) {
      expect_published(table, row, c, value, scale, tolerance);
    };
    expect("Number of processes", static_cast<double>(s.at.ranks), 1, 0);
    expect("Parallel efficiency", s.at.parallel, 100, 1e-7);
    expect("Load balance", s.at.load_balance, 100, 1e-7);
    expect("Communication efficiency", s.at.communication, 100, 1e-7);
    ASSERT_TRUE(s.at.serialisation && s.at.transfer && s.at.counters && s.instruction_scaling);
    expect("Serialization efficiency", *s.at.serialisation, 100, 1e-7);
    expect("Transfer efficiency", *s.at.transfer, 100, 1e-7);
    expect("Computation scalability", s.computation_scaling, 100, 1e-7);
    expect("Global efficiency", s.global, 100, 1e-7);
    expect("IPC scalability", *s.ipc_scaling, 100);
    expect("Instruction scalability", *s.instruction_scaling, 100);
    expect("Frequency scalability", *s.frequency_scaling, 100);
    expect("Speedup", s.speed_up, 1, 1e-6);
    expect("Average IPC", s.at.counters->ipc, 1);
    expect("Average frequency (GHz)", static_cast<double>(s.at.counters->frequency_hz), 1e-9);
    expect("Runtime (us)", in_seconds(s.at.runtime), 1e6, 1e-9);
    expect("Runtime (ideal)", in_seconds(*s.at.ideal_runtime), 1e6, 1e-9);
    expect("Useful duration (average)", in_seconds(s.at.useful_average), 1e6, 1e-9);
    expect("Useful duration (maximum)", in_seconds(s.at.useful_maximum), 1e6, 1e-9);
    expect("Useful duration (ideal, max)", in_seconds(*s.at.ideal_useful_maximum), 1e6, 1e-9);
    expect("Useful instructions (total)", static_cast<double>(s.at.counters->instructions), 1);
    expect("Useful cycles (total)", static_cast<double>(s.at.counters->cycles), 1);
    EXPECT_NEAR(s.computation_scaling, *s.instruction_scaling * *s.ipc_scaling * *s.frequency_scaling, 1e-8);
    EXPECT_EQ(s.at.source, UsefulSource::States);
    EXPECT_LE(efficiency_lines(s.at).size(), 8U);
  }
}

}  // namespace
}  // namespace cox::diagnose

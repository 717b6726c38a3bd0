// SPDX-License-Identifier: Apache-2.0
#include "report/simulated.hpp"

#include <gtest/gtest.h>

#include <string>

#include <nlohmann/json.hpp>

namespace cox::report {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

simulate::LinkLoad link(std::string name, std::int64_t bytes, double ratio) {
  return {.name = std::move(name), .bytes = Bytes{bytes}, .utilisation_ratio = ratio};
}

TEST(SimulatedSection, NamesEngineProtocolAndNotesEscaped) {
  simulate::Outcome o;
  o.engine = model::EngineKind::Flow;
  o.closure = true;
  o.notes = {"a <b> & c"};
  o.not_modelled = {"<i> of experts"};
  const std::string page = simulated_section(o);
  EXPECT_NE(page.find("Simulated by the flow engine, protocol rendezvous; collectives by identities"),
            std::string::npos)
      << page;
  EXPECT_NE(page.find("<li>a &lt;b&gt; &amp; c</li>"), std::string::npos) << page;
  EXPECT_NE(page.find("<li>Not modelled: &lt;i&gt; of experts</li>"), std::string::npos) << page;
  EXPECT_EQ(page.find("<b>"), std::string::npos);
}

TEST(SimulatedSection, SaysNothingOfLinksThatCarriedNothing) {
  simulate::Outcome o;
  EXPECT_EQ(simulated_section(o).find("load of the links"), std::string::npos);
  o.links = {link("n0->leaf0", 0, 0), link("leaf0->n0", 0, 0)};
  const std::string page = simulated_section(o);
  EXPECT_EQ(page.find("load of the links"), std::string::npos) << page;
  EXPECT_EQ(count(page, "<i style"), 0U);
}

TEST(SimulatedSection, EscapesNamesOfLinks) {
  simulate::Outcome o;
  o.links = {link("<script>alert('1')</script>\"->n0", 10, 0.5)};
  const std::string page = simulated_section(o);
  EXPECT_EQ(page.find("<script"), std::string::npos) << page;
  EXPECT_EQ(count(page, "&lt;script&gt;"), 4U) << "heading, label, cell and table: " << page;
  EXPECT_EQ(count(page, "title=\"&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot;-&gt;n0: 50 %"), 1U);
}

TEST(SimulatedSection, ACellOfManyLinksShowsTheBusiestAndStaysInRange) {
  simulate::Outcome o;
  for (int i = 0; i < 4096; ++i)
    o.links.push_back(link("n" + std::to_string(i) + "->leaf0", 1, i == 2049 ? 1.5 : 0.25));
  o.links.push_back(link("leaf0->n0", 0, 0));
  const std::string page = simulated_section(o);
  EXPECT_EQ(count(page, "<i style"), 1024U);
  EXPECT_EQ(count(page, "; busiest of 4\""), 1024U);
  EXPECT_NE(page.find("--shade:1.000\" title=\"n2049-&gt;leaf0: 150 %"), std::string::npos);
  EXPECT_NE(page.find("<h3>n-&gt;leaf: 4 096 links, mean 25 %, busiest 150 %</h3>"), std::string::npos);
  EXPECT_EQ(page.find("<h3>leaf-&gt;n"), std::string::npos) << "a tier that carried nothing";
  EXPECT_EQ(count(page, "<th scope=\"row\">"), 10U) << "the busiest only";
}

TEST(ScalingSection, ComparesWithTheSmallestSize) {
  const simulate::SizeOutcome small{.nodes = 1, .ranks = 8, .step = {.mean = Seconds{0.5}, .replicas = 1}};
  const simulate::SizeOutcome large{
      .nodes = 2, .ranks = 16, .step = {.mean = Seconds{1}, .half_width_95 = Seconds{0.25}, .replicas = 9}};
  EXPECT_EQ(scaling_section(std::vector{small}), "");
  const std::vector points{small, large};
  const std::string page = scaling_section(points);
  EXPECT_NE(page.find(">50 %<"), std::string::npos) << page;
  EXPECT_EQ(count(page, " \xC2\xB1 250 ms"), 1U) << page;
  const auto data = scaling_data(points);
  EXPECT_EQ(data["ranks"].dump(), "[8,16]");
  EXPECT_EQ(data["low_s"].dump(), "[0.5,0.75]");
  EXPECT_EQ(data["high_s"].dump(), "[0.5,1.25]");
}

TEST(ScalingSection, SaysWhatItsEfficiencyIsOfAFixedBatch) {
  const simulate::SizeOutcome small{
      .nodes = 1, .ranks = 8, .step = {.mean = Seconds{1}, .replicas = 1}, .fixed_batch = true};
  simulate::SizeOutcome large = small;
  large.nodes = 2;
  large.ranks = 16;
  large.step.mean = Seconds{0.625};
  const std::string page = scaling_section(std::vector{small, large});
  EXPECT_NE(page.find("the same batch at every size"), std::string::npos) << page;
  EXPECT_NE(page.find(">80 %<"), std::string::npos) << page;
}

}  // namespace
}  // namespace cox::report

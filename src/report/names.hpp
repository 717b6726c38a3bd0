// SPDX-License-Identifier: Apache-2.0
/// \file
/// Names of hosts, programs, paths, jobs and groups as the page shows them: as recorded, or replaced.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cox/report/report.hpp"

namespace cox::report {

/// The one place through which every recorded name passes on its way to the page.
///
/// With Anonymize::Yes equal names get equal replacements (`host-1`), so the reader can still tell what
/// belongs together; the numbering follows the Run's own order. Held by: src/report/report_test.cpp
class Names {
 public:
  Names(const trace::Run& run, Anonymize anonymize);

  [[nodiscard]] bool anonymous() const { return anonymous_; }
  [[nodiscard]] std::string host(NodeId node) const;
  [[nodiscard]] std::string program(const std::string& path) const;
  [[nodiscard]] std::string run() const;
  [[nodiscard]] std::string command() const;
  [[nodiscard]] std::string job() const;
  [[nodiscard]] std::string group(const std::string& name) const;
  [[nodiscard]] std::string file(const std::string& name) const;
  /// Sentences of other rooms: known names and whatever looks like a path or an address are replaced.
  [[nodiscard]] std::string text(std::string_view sentence) const;

 private:
  void learn(const std::string& secret, const std::string& alias);
  std::string alias(const std::string& kind, const std::string& secret);
  [[nodiscard]] std::string lookup(const std::string& kind, const std::string& secret) const;

  bool anonymous_;
  const trace::Run* run_;
  std::map<std::pair<std::string, std::string>, std::string> aliases_;  ///< (kind, secret) to replacement
  std::map<std::string, int> used_;                                     ///< kind to numbers given out
  std::vector<std::pair<std::string, std::string>> known_;  ///< secret, replacement; longest first
};

}  // namespace cox::report

// SPDX-License-Identifier: Apache-2.0
#include "cli/command_table.hpp"

#include "cli/completion_command.hpp"
#include "cli/help_command.hpp"
#include "cli/manual_command.hpp"
#include "cli/verbs/bench_command.hpp"
#include "cli/verbs/collect_command.hpp"
#include "cli/verbs/compact_command.hpp"
#include "cli/verbs/detach_command.hpp"
#include "cli/verbs/diagnose_command.hpp"
#include "cli/verbs/doctor_command.hpp"
#include "cli/verbs/explain_command.hpp"
#include "cli/verbs/export_command.hpp"
#include "cli/verbs/forecast_command.hpp"
#include "cli/verbs/learn_command.hpp"
#include "cli/verbs/observe_command.hpp"
#include "cli/verbs/pace_command.hpp"
#include "cli/verbs/report_command.hpp"
#include "cli/verbs/simulate_command.hpp"
#include "cli/verbs/study_command.hpp"
#include "cli/verbs/train_command.hpp"
#include "cli/verbs/version_command.hpp"

namespace cox::cli {

const std::vector<const Command*>& commands() {
  static const std::vector<const Command*> all = {
      &observe_command(),  &diagnose_command(),   &report_command(),  &pace_command(),   &simulate_command(),
      &forecast_command(), &learn_command(),      &train_command(),   &study_command(),  &bench_command(),
      &export_command(),   &collect_command(),    &compact_command(), &detach_command(), &doctor_command(),
      &explain_command(),  &completion_command(), &version_command(), &help_command(),   &complete_command(),
      &man_command(),      &docs_command(),
  };
  return all;
}

const Command* find_command(std::string_view name) {
  for (const Command* command : commands())
    if (command->spec.name == name) return command;
  return nullptr;
}

std::vector<std::string> verb_names() {
  std::vector<std::string> names;
  for (const Command* command : commands())
    if (!command->spec.hidden) names.emplace_back(command->spec.name);
  return names;
}

}  // namespace cox::cli

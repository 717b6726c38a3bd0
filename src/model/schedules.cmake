# SPDX-License-Identifier: Apache-2.0
# Collectives as data, their costs and closed forms.
list(APPEND COX_MODEL_SOURCES names.cpp schedule.cpp phases.cpp list_rounds.cpp closed_form.cpp entries.cpp goal.cpp iteration.cpp nccl_cost.cpp)
list(APPEND COX_MODEL_HEADERS schedule.hpp message_cost.hpp closed_form.hpp goal.hpp iteration.hpp nccl_cost.hpp scenario.hpp)
list(APPEND COX_MODEL_TESTS message_cost_test.cpp schedule_test.cpp closed_form_test.cpp goal_test.cpp iteration_test.cpp nccl_cost_test.cpp
     collectives_page_test.cpp)
set_source_files_properties(collectives_page_test.cpp PROPERTIES
  COMPILE_DEFINITIONS COX_COLLECTIVES_PAGE="${PROJECT_SOURCE_DIR}/docs/reference/collectives.md")

# SPDX-License-Identifier: Apache-2.0
# Collectives as data, their costs and closed forms.
list(APPEND COX_MODEL_SOURCES names.cpp schedule.cpp phases.cpp list_rounds.cpp closed_form.cpp entries.cpp goal.cpp)
list(APPEND COX_MODEL_HEADERS schedule.hpp message_cost.hpp closed_form.hpp goal.hpp scenario.hpp)
list(APPEND COX_MODEL_TESTS schedule_test.cpp closed_form_test.cpp goal_test.cpp)

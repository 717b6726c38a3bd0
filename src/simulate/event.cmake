# SPDX-License-Identifier: Apache-2.0
list(APPEND COX_SIMULATE_SOURCES event_engine.cpp goal.cpp goal_blocked.cpp goal_image.cpp goal_reader.cpp
     loggops_costs.cpp message_matcher.cpp)
list(APPEND COX_SIMULATE_HEADERS event.hpp goal.hpp)

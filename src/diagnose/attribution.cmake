# SPDX-License-Identifier: Apache-2.0
# Included by CMakeLists.txt.
list(APPEND diagnose_sources attribution.cpp attribution_activities.cpp attribution_charge.cpp attribution_json.cpp
                             attribution_messages.cpp
                             attribution_roles.cpp attribution_timeline.cpp attribution_validity.cpp
                             fabric.cpp fabric_json.cpp fabric_locate.cpp fabric_measure.cpp
                             time_structure.cpp time_structure_json.cpp time_structure_levels.cpp
                             time_structure_return.cpp)
list(APPEND diagnose_headers attribution.hpp fabric.hpp time_structure.hpp)
list(APPEND diagnose_tests attribution_test.cpp fabric_test.cpp time_structure_test.cpp)

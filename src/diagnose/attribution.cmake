# SPDX-License-Identifier: Apache-2.0
# Included by CMakeLists.txt.
list(APPEND diagnose_sources attribution.cpp attribution_activities.cpp attribution_charge.cpp attribution_json.cpp
                             attribution_roles.cpp attribution_timeline.cpp attribution_validity.cpp)
list(APPEND diagnose_headers attribution.hpp)
list(APPEND diagnose_tests attribution_test.cpp)

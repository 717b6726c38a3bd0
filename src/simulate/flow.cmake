# SPDX-License-Identifier: Apache-2.0
# The fabrics and the flow engine. No fused multiply-add: the bits are the same everywhere.
set(COX_FLOW_SOURCES network.cpp routes.cpp graph_routes.cpp fair_shares.cpp max_min.cpp flow_rounds.cpp flow_engine.cpp
    flow_ways.cpp flow_memo.cpp)
set_source_files_properties(${COX_FLOW_SOURCES} PROPERTIES COMPILE_OPTIONS -ffp-contract=off)
list(APPEND COX_SIMULATE_SOURCES ${COX_FLOW_SOURCES})
list(APPEND COX_SIMULATE_HEADERS network.hpp flow.hpp)
list(APPEND COX_SIMULATE_TESTS network_test.cpp fair_shares_test.cpp flow_test.cpp)

# SPDX-License-Identifier: Apache-2.0
# The fabrics and the flow engine.
list(APPEND COX_SIMULATE_SOURCES
  network.cpp routes.cpp graph_routes.cpp fair_shares.cpp max_min.cpp flow_rounds.cpp flow_engine.cpp flow_ways.cpp
  flow_memo.cpp)
list(APPEND COX_SIMULATE_HEADERS network.hpp flow.hpp outcome.hpp noise.hpp)
list(APPEND COX_SIMULATE_TESTS network_test.cpp fair_shares_test.cpp flow_test.cpp)

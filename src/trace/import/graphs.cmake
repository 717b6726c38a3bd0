# SPDX-License-Identifier: Apache-2.0
# Sources and tests of one family of readers; included by CMakeLists.txt.
list(APPEND import_sources chakra.cpp chakra_graph.cpp chakra_json_stream.cpp chakra_messages.cpp chakra_nodes.cpp
     pytorch_et.cpp pytorch_et_node.cpp goal.cpp
     goal_text.cpp)
list(APPEND import_tests chakra_graph_test.cpp chakra_test.cpp goal_test.cpp pytorch_et_test.cpp)

# SPDX-License-Identifier: Apache-2.0
# Scenarios as TOML. Only toml/document.cpp sees the TOML library, headers only: see there why.
find_path(COX_TOMLPLUSPLUS_INCLUDE toml++/toml.h REQUIRED)  # Debian: in the default path
cox_room(model_toml
  ROOM model
  SOURCES toml/check.cpp toml/derive.cpp toml/document.cpp toml/explain.cpp toml/keys.cpp toml/presets.cpp toml/reference.cpp
          toml/scenario_reader.cpp toml/schema.cpp toml/values.cpp toml/words.cpp
  HEADERS toml.hpp
  DEPENDS model pace
  LINK fmt::fmt nlohmann_json::nlohmann_json
  TESTS toml/check_test.cpp toml/derive_test.cpp toml/document_test.cpp toml/examples_test.cpp toml/explain_test.cpp
        toml/presets_test.cpp toml/reference_test.cpp toml/scenario_reader_test.cpp toml/schema_test.cpp
  TEST_LINK fmt::fmt nlohmann_json::nlohmann_json)
if(TARGET model_toml_test)
  target_compile_definitions(model_toml_test PRIVATE COX_TREE="${PROJECT_SOURCE_DIR}")
endif()

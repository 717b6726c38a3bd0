# SPDX-License-Identifier: Apache-2.0
# Scenarios as TOML. Only toml/document.cpp sees the TOML library, headers only: see there why.
find_path(COX_TOMLPLUSPLUS_INCLUDE toml++/toml.h REQUIRED)  # Debian: in the default path
cox_room(model_toml
  ROOM model
  SOURCES toml/check.cpp toml/derive.cpp toml/document.cpp toml/explain.cpp toml/keys.cpp toml/presets.cpp
          toml/scenario_reader.cpp toml/schema.cpp toml/values.cpp toml/words.cpp
  HEADERS toml.hpp
  DEPENDS model
  LINK fmt::fmt nlohmann_json::nlohmann_json
  TESTS toml/document_test.cpp toml/scenario_reader_test.cpp
  TEST_LINK fmt::fmt nlohmann_json::nlohmann_json)

# SPDX-License-Identifier: Apache-2.0
# Sources and tests of one family of readers; included by CMakeLists.txt.
list(APPEND import_sources operation_csv.cpp operation_events.cpp operation_parquet.cpp operation_table.cpp parquet.cpp
     parquet_metadata.cpp parquet_page.cpp parquet_thrift.cpp)
list(APPEND import_tests operation_table_test.cpp parquet_test.cpp)

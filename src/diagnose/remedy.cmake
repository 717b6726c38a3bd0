# SPDX-License-Identifier: Apache-2.0
# Included by CMakeLists.txt.
list(APPEND diagnose_sources)
list(APPEND diagnose_headers)
list(APPEND diagnose_tests)

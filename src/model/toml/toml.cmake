# SPDX-License-Identifier: Apache-2.0
# Scenarios as TOML.

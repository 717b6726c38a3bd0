// SPDX-License-Identifier: Apache-2.0
#include "diagnose/ideal_network.hpp"

#include <gtest/gtest.h>

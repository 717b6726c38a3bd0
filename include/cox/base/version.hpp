// SPDX-License-Identifier: Apache-2.0
/// \file
/// Version of Coxswain; CMake reads it from here.
#pragma once

#define COX_VERSION_MAJOR 0
#define COX_VERSION_MINOR 1
#define COX_VERSION_PATCH 0
#define COX_VERSION "0.1.0"

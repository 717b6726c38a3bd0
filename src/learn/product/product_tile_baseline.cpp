// SPDX-License-Identifier: Apache-2.0
#define COX_ROWS 2
#define COX_FLOATS 4
#define COX_TILE kBaselineTile
#include "learn/product/product_tile.inc"

// SPDX-License-Identifier: Apache-2.0
#define COX_ROWS 12
#define COX_FLOATS 16
#define COX_TILE kAvx512Tile
#include "learn/product/product_tile.inc"

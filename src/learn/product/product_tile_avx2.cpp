// SPDX-License-Identifier: Apache-2.0
#define COX_ROWS 6
#define COX_FLOATS 8
#define COX_TILE kAvx2Tile
#include "learn/product/product_tile.inc"

// SPDX-License-Identifier: Apache-2.0
/// \file
/// What each random stream of a problem is for, so that no two purposes share draws. Step: the sample's number (or 0).
#pragma once

#include <cstdint>

namespace cox::learn {

enum Stream : std::uint32_t {
  kNoise = 0x6c0001,  ///< of gradients and labels
  kFeatures,          ///< of samples
  kTruth,             ///< what produces the labels
  kOffsets,           ///< of workers' optima
  kBasis,             ///< reflections
  kWeights,           ///< where training begins
  kHeldOut,           ///< features of samples that are not trained on
  kHeldOutNoise,      ///< what their labels see
  kPlaces,            ///< of patterns in images, and whose they are; kinds of tokens
  kHeldOutPlaces,     ///< of those that are not trained on
};

}  // namespace cox::learn

// SPDX-License-Identifier: Apache-2.0
#include "trace/import/part/reader.hpp"

namespace cox::trace {

std::span<const Reader* const> all_readers() {
  // What has a magic number first, JSON by its keys next, plain text last.
  static constexpr std::array<const Reader*, 18> kReaders{&kOperationParquetReader,
                                                          &kOtf2Reader,
                                                          &kDumpiReader,
                                                          &kFlightRecorderPickleReader,
                                                          &kParaverReader,
                                                          &kKinetoReader,
                                                          &kPytorchEtReader,
                                                          &kChakraJsonReader,
                                                          &kFlightRecorderJsonReader,
                                                          &kNcclInspectorReader,
                                                          &kNcclProfilerReader,
                                                          &kSpanLinesReader,
                                                          &kChakraProtobufReader,
                                                          &kMlperfReader,
                                                          &kGoalReader,
                                                          &kOperationCsvReader,
                                                          &kStepTableReader,
                                                          &kStepLogReader};
  return kReaders;
}

}  // namespace cox::trace

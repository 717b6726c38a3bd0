// SPDX-License-Identifier: Apache-2.0
// Compiles as it stands. With one of the macros it must not, and the compiler
// must say why; see CMakeLists.txt.
#include "cox/base/ids.hpp"

using namespace cox;

void slow_down(Rank, StepId);

void ids() {
  const Rank rank{3};
  const StepId step{100};
  const CommId comm{1};
  slow_down(rank, step);
  (void)(rank == Rank{4});
  (void)(rank.value() + 1);
  (void)comm;

#if defined(SWAPPED_ARGUMENTS)
  slow_down(step, rank);
#elif defined(RANK_PLUS_ONE)
  (void)(rank + 1);
#elif defined(RANK_PLUS_RANK)
  (void)(rank + rank);
#elif defined(INCREMENTED_RANK)
  Rank next = rank;
  ++next;
#elif defined(COMM_EQUALS_RANK)
  (void)(comm == rank);
#elif defined(INT_AS_RANK)
  slow_down(3, step);
#elif defined(RANK_AS_INT)
  const int index = rank;
  (void)index;
#elif defined(LOCAL_RANK_AS_RANK)
  slow_down(LocalRank{3}, step);
#elif defined(RANK_EQUALS_NUMBER)
  (void)(rank == 3);
#endif
}

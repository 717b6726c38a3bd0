/* SPDX-License-Identifier: Apache-2.0 */
/* A C program that marks what it does. Not observed here, so each mark must do nothing. */
#include "cox/abi/observe.h"

int main(void) {
  const int32_t ranks[] = {0, 1};
  cox_rank(0, 2);
  const cox_communicator pair = cox_define_communicator(ranks, 2, 0, "pair");
  cox_step(0);
  const cox_span phase = cox_phase_begin(COX_PHASE_FORWARD);
  cox_phase_end(phase);
  const cox_span collective = cox_collective_begin(COX_ALL_REDUCE, pair, 4096);
  cox_collective_end(collective);
  return pair == 0 && !phase && !collective ? 0 : 1;
}

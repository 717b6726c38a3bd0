/* SPDX-License-Identifier: Apache-2.0 */
/* Two ranks that, once they have begun, may make no call of the network any more, on no thread: such a call ends them. */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cox/abi/observe.h"

enum { kRanks = 2 };

static int no_network(void) {
  struct sock_filter lines[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, SYS_socket, 0, 2),
      /* all of the network's numbers lie between */
      BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, SYS_getsockopt, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog filter = {sizeof lines / sizeof *lines, lines};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) != 0;
}

static int rank_of(int32_t rank) {
  const int32_t members[kRanks] = {0, 1};
  cox_rank(rank, kRanks);
  const cox_communicator all = cox_define_communicator(members, kRanks, rank, "all");
  const struct timespec pause = {0, 10000000};
  for (int i = 0; i < 300; ++i) {
    cox_collective_end(cox_collective_begin(COX_ALL_REDUCE, all, 4096));
    if (i == 100 && no_network()) return 77;
    nanosleep(&pause, NULL);
  }
  return 0;
}

int main(void) {
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    const pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0) _exit(rank_of(rank));
  }
  int worst = 0;
  for (int i = 0; i < kRanks; ++i) {
    int status = 0;
    wait(&status);
    if (status > worst) worst = status;
  }
  return WIFEXITED(worst) ? WEXITSTATUS(worst) : 1;
}

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# coexist_test.sh BUILD SOURCE LIBRARY: an MPI job under other tools and under us: its output, theirs and its exit status
# are as without us, and we record everything, or say what we could not.
. "$(dirname "$0")/shell.sh"
library=$1
here=$source_dir/tests/e2e
need mpirun."$library" mpicc."$library" /usr/bin/python3
program=$build/examples/mpi_train.$library
[ -x "$program" ] || skip "${program##*/} was not built"
cd "$work"
for tool in one two; do
  mpicc."$library" -w -O1 -shared -fPIC -DTOOL="\"tool $tool\"" -o "tool_$tool.so" "$here/pmpi_tool.c"
done
mpicc."$library" -w -O1 -shared -fPIC -o io_tool.so "$here/io_tool.c" -ldl
mpicc."$library" -w -O1 -DTOOL='"tool inside"' -o order_sum_inside "$here/order_sum.c" "$here/pmpi_tool.c"
mpirun=(timeout 60 mpirun."$library" -n 2)
[ "$library" = mpich ] || mpirun+=(--oversubscribe --mca mpi_yield_when_idle 1)
job=("${mpirun[@]}" "$program" --steps 10)
n=0

# observed NAME PRELOAD JOB...: plain and observed, with PRELOAD as the user would set it; sets run
observed() {
  local name=$1 preload=$2
  shift 2
  run=$work/run-$((n += 1))
  equal "$(LD_PRELOAD=$preload status "$@")" 0 "exit status without us ($name)"
  cp out plain
  equal "$(LD_PRELOAD=$preload status "$cox" observe -q -o "$run" -- "$@")" 0 "exit status under us ($name)"
  # Times differ from run to run, and so does whose line comes first; everything else does not.
  diff <(grep -v ' ms' plain | sort) <(grep -v ' ms' out | sort) || fail "the output differs ($name)"
}
# complete NAME: everything that the program counted was recorded, and nothing was missed
complete() {
  cp out printed
  equal "$(status "$cox" diagnose "$run" --json)" 0 "exit status of diagnose ($1)"
  cp out diagnosis.json
  /usr/bin/python3 "$here/mpi_counts.py" diagnosis.json printed 2 >counted || fail "counts ($1): $(cat counted)"
  equal "$(json diagnosis.json 'd["warnings"]')" "[]" "warnings ($1)"
}

observed "no other tool" "" "${job[@]}"
complete "no other tool"
observed "two PMPI tools" "$work/tool_one.so:$work/tool_two.so" "${job[@]}"
grep -q '^tool one: [1-9]' out || fail "the other tool saw nothing: $(cat out)"
complete "two PMPI tools"
observed "an I/O tool" "$work/io_tool.so" "${job[@]}"
grep -q 'io_tool: counted' err || fail "the I/O tool did not report: $(cat err)"
complete "an I/O tool"
faketime=/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1
if [ -e "$faketime" ]; then
  export FAKETIME=+3d
  observed "faketime" "$faketime" "${job[@]}"
  unset FAKETIME
  complete "faketime"
else
  echo "faketime is not here: its case is left out"
fi

# a program under the address sanitizer, which ends programs that have a preload it does not know
export ASAN_OPTIONS=detect_leaks=0
if ! mpicc."$library" -w -fsanitize=address -o sum_asan "$here/order_sum.c" 2>/dev/null ||
  [ "$(status "${mpirun[@]}" ./sum_asan)" != 0 ]; then
  echo "an MPI program under the address sanitizer does not run here: its case is left out"
else
  observed "the address sanitizer" "" "${mpirun[@]}" ./sum_asan
  grep -q '"ranks_seen": 2' <("$cox" diagnose "$run" --json) || fail "not recorded under the address sanitizer"
fi
unset ASAN_OPTIONS

# a tool that was put before us: it keeps its calls from us, and that is said
cat >before.sh <<SH
LD_PRELOAD=$work/tool_one.so:\$LD_PRELOAD exec ${job[*]}
SH
observed "a PMPI tool before us" "" sh before.sh
equal "$(status "$cox" diagnose "$run")" 0 "exit status of diagnose (a tool before us)"
grep -q 'the guest says: calls of MPI_.* other MPI functions reach .*tool_one.so before us' err ||
  fail "not said who stands before us: $(cat err)"

# a tool linked into the program: no call of MPI_Allreduce ever leaves the program
observed "a PMPI tool in the program" "" "${mpirun[@]}" ./order_sum_inside
"$cox" diagnose "$run" >out 2>err || true
grep -q 'the guest says: calls of MPI_.*order_sum_inside before us' err ||
  fail "not said that the program's own tool keeps calls from us: $(cat err)"

# two plugins opened privately, one with the library and one with a stand-in of the same names (as MUMPS's libmpiseq):
# each reaches its own, in whatever order they come and go
cat >seq.c <<'C'
#include <string.h>
int MPI_Initialized(int* yes) { return *yes = 1, 0; }
int MPI_Comm_size(int comm, int* size) { return *size = 1, 0; }
int MPI_Allreduce(const void* from, void* to, int n, int type, int op, int comm) { return memcpy(to, from, sizeof(int)), 0; }
C
cat >plugin.c <<'C'
#ifdef SEQ
typedef int MPI_Comm;
enum { MPI_COMM_WORLD, MPI_INT, MPI_SUM };
int MPI_Initialized(int*);
int MPI_Comm_size(MPI_Comm, int*);
int MPI_Allreduce(const void*, void*, int, int, int, int);
#else
#include <mpi.h>
#endif
int sum_of_ones(void) {
  int ready = 0, one = 1, sum = 0;
  MPI_Initialized(&ready);
#ifndef SEQ
  if (!ready) MPI_Init(0, 0);
#endif
  for (int i = 0; i < 10; ++i) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}
void finish(void) {
#ifndef SEQ
  MPI_Finalize();
#endif
}
C
cat >host.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char** argv) {
  char said[999] = "";
  void (*finish)(void) = 0;
  for (int i = 1; i < argc; ++i)  // all are bound before Open MPI makes itself everybody's, but for those that are closed again
    if (argv[i][0] != '-') dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
  for (int i = 1; i < argc; ++i) {
    const int closes = argv[i][0] == '-';
    const char* name = argv[i] + closes;
    void* plugin = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (plugin == 0) return fprintf(stderr, "%s\n", dlerror()), 1;
    const int sum = ((int (*)(void))dlsym(plugin, "sum_of_ones"))();
    sprintf(said + strlen(said), "%s: %d\n", name, sum);
    if (strstr(name, "real") != 0) finish = (void (*)(void))dlsym(plugin, "finish");
    if (closes) dlclose(plugin);
  }
  write(1, said, strlen(said));
  if (finish != 0) finish();
  return 0;
}
C
gcc -w -O1 -shared -fPIC -o libseq_mpi.so seq.c
gcc -w -O1 -shared -fPIC -DSEQ -o plugin_seq.so plugin.c -L. -lseq_mpi -Wl,-rpath,"$work"
mpicc."$library" -w -O1 -shared -fPIC -o plugin_real.so plugin.c
gcc -w -O1 -o host host.c -ldl
real=./plugin_real.so seq=./plugin_seq.so
for order in "$seq $real $seq $real" "$real $seq $real $seq" "-$seq -$seq $real $real"; do
  # shellcheck disable=SC2086
  observed "plugins $order" "" "${mpirun[@]}" ./host $order
  cp out printed
  equal "$(grep -o 'seq.so: 1' printed | wc -l) $(grep -o 'real.so: 2' printed | wc -l)" \
    "$(grep -o seq <<<"$order$order" | wc -l) $(grep -o real <<<"$order$order" | wc -l)" "each its own ($order)"
  equal "$(status "$cox" diagnose "$run" --json)" 0 "exit status of diagnose ($order)"
  equal "$(json out 'sorted(x["collectives"] for x in r["ranks"])')" \
    "[$((10 * $(grep -o real <<<"$order" | wc -l))), $((10 * $(grep -o real <<<"$order" | wc -l)))]" "collectives ($order)"
done

# a library whose constructor waits for a thread that makes its first call of a function: the loader is held meanwhile
cat >waits.c <<'C'
#include <mpi.h>
#include <pthread.h>
static void* call(void* nothing) {
  int one = 1, sum = 0;
  MPI_Barrier(MPI_COMM_SELF);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
  return nothing;
}
__attribute__((constructor)) static void begin(void) {
  pthread_t thread;
  pthread_create(&thread, 0, call, 0);
  pthread_join(thread, 0);
}
C
cat >opens.c <<'C'
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main(void) {
  int given;
  MPI_Init_thread(0, 0, MPI_THREAD_MULTIPLE, &given);
  if (given != MPI_THREAD_MULTIPLE) return puts("no threads"), MPI_Finalize();
  if (dlopen("./waits.so", RTLD_NOW) == 0) return fprintf(stderr, "%s\n", dlerror()), 1;
  // one write: MPICH takes the buffer from stdout, and then puts makes two, between which another rank's text may come
  if (write(1, "opened\n", 7) != 7) return 1;
  return MPI_Finalize();
}
C
mpicc."$library" -w -O1 -shared -fPIC -o waits.so waits.c -lpthread
mpicc."$library" -w -O1 -o opens opens.c -ldl
observed "a constructor that waits for a thread" "" "${mpirun[@]}" ./opens
equal "$(sort -u out)" opened "the library was opened"
equal "$(status "$cox" diagnose "$run" --json)" 0 "exit status of diagnose (a constructor)"
equal "$(json out 'sorted(x["collectives"] for x in r["ranks"])')" "[2, 2]" "collectives (a constructor)"
COX_DISABLE=1 observed "a constructor, switched off" "" "${mpirun[@]}" ./opens

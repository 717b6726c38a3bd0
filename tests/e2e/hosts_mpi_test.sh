#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Open MPI over two hosts, in both orders: `mpirun ... cox observe -- prog` and `cox observe -- mpirun ... prog`.
. "$(dirname "$0")/shell.sh"
. "$source_dir/tests/support/lab/lab.sh"
need mpirun.openmpi python3
[ -x "$build/examples/mpi_train.openmpi" ] || skip "mpi_train was not built (package libopenmpi-dev)"
lab_available || skip "$lab_reason"
lab_up 2
job=("$build/examples/mpi_train.openmpi" --steps 40)
mpirun=("${lab_openmpi[@]}" -np 4 --map-by ppr:2:node)

# check FOLDER NAME: four ranks on two hosts, as the launcher placed them, and everything they did.
check() {
  equal "$(status "$cox" diagnose "$1" --json)" 0 "exit status of diagnose ($2)"
  cp "$work/out" "$work/diagnosis.json"
  equal "$(json "$work/diagnosis.json" 'r["coverage"]')" 1.0 "coverage ($2)"
  equal "$(json "$work/diagnosis.json" '[x["rank"] for x in r["ranks"]]')" "[0, 1, 2, 3]" "ranks ($2)"
  equal "$(json "$work/diagnosis.json" 'd["warnings"]')" "[]" "warnings ($2)"
  "$build/list_processes" "$1" >"$work/processes"
  equal "$(sed 's/ node.*//' "$work/processes")" "rank 0 of 4 local 0 of 2 host cxh0
rank 1 of 4 local 1 of 2 host cxh0
rank 2 of 4 local 0 of 2 host cxh1
rank 3 of 4 local 1 of 2 host cxh1" "processes ($2)"
  equal "$(grep -o 'job .*' "$work/processes" | sort -u | wc -l)" 1 "jobs ($2)"
}

# inner order, one folder for all
code=$(status timeout 60 "$LAB/rsh" cxh0 "cd $work && ${mpirun[*]} $cox observe -o shared -- ${job[*]}")
cat "$work/err"
equal "$code" 0 "exit status, inner order"
equal "$(grep -c '^cox:' "$work/err")" 2 "lines of ours: only rank 0 speaks"
equal "$(find "$work/shared" -name '*.cox' | wc -l)" 4 "compact files"
equal "$(find "$work/shared" -type f | wc -l)" 5 "files in all"
check "$work/shared" "inner order"

# the same folder again is another job: refused, and what is there stays
before=$(cd "$work/shared" && find . -type f -exec sha256sum {} + | sort)
code=$(status timeout 60 "$LAB/rsh" cxh0 "cd $work && ${mpirun[*]} $cox observe -o shared -- ${job[*]}")
[ "$code" != 0 ] || fail "a second job got into the folder of the first one"
grep -q 'observe-001' "$work/err" || fail "no reason was given: $(cat "$work/err")"
equal "$(cd "$work/shared" && find . -type f -exec sha256sum {} + | sort)" "$before" "the first job's files"

# a rank that fails: its exit status is mpirun's
code=$(status timeout 60 "$LAB/rsh" cxh0 "cd $work && ${mpirun[*]} $cox observe -o failing -- sh -c 'exit 7'")
equal "$code" 7 "exit status of a job that fails"

# inner order, each host a folder of its own, put together afterwards
code=$(status timeout 60 "$LAB/rsh" cxh0 "cd $work && ${mpirun[*]} sh -c 'exec $cox observe -o of-\$(hostname) -- ${job[*]}'")
equal "$code" 0 "exit status, a folder per host"
equal "$(find "$work/of-cxh0" "$work/of-cxh1" -name '*.cox' | wc -l)" 4 "compact files"
equal "$(status "$cox" collect "$work/of-cxh0" "$work/of-cxh1" -o "$work/collected")" 0 "exit status of collect"
check "$work/collected" "collected"

# outer order: the remote shell forwards nothing, Open MPI forwards what it is told
code=$(status timeout 60 "$LAB/rsh" cxh0 "cd $work && $cox observe -o outer -- ${mpirun[*]} ${job[*]}")
cat "$work/err"
equal "$code" 0 "exit status, outer order"
check "$work/outer" "outer order"

# outer order where the user forwards with -x: Open MPI would abort a job that has both ways, so nothing is added there
code=$(status timeout 60 "$LAB/rsh" cxh0 "cd $work && FOO=bar $cox observe -o own -- ${mpirun[*]} -x FOO ${job[*]}")
equal "$code" 0 "exit status, with -x"
grep -q 'recorded 2 of 4 ranks' "$work/err" || fail "not said that ranks are missing: $(cat "$work/err")"
grep -q 'cox: hint: .*behind it' "$work/err" || fail "no hint: $(cat "$work/err")"

# MPICH's hydra forwards by itself; in inner order ranks of two hosts find one folder although the job has no id
command -v mpiexec.mpich >/dev/null || exit 0
hydra=(timeout 60 mpiexec.mpich -launcher rsh -launcher-exec "$LAB/rsh" -iface eth0 -hosts cxh0,cxh1 -ppn 1 -n 2)
seen='echo "$PMI_RANK $(hostname) ${COX_DIR##*/} ${COX_JOB:+named} $(echo "$LD_PRELOAD" | grep -c libcox-preload)"'
code=$(status lab_on cxh0 env -C "$work" "$cox" observe -q -o hydra -- "${hydra[@]}" sh -c "$seen")
equal "$code" 0 "exit status under hydra: $(cat "$work/err")"
equal "$(sort "$work/out")" "0 cxh0 hydra named 1
1 cxh1 hydra named 1" "what hydra's ranks see"
code=$(status lab_on cxh0 env -C "$work" "${hydra[@]}" "$cox" observe -q -o hydra-inner -- sh -c "$seen")
equal "$code" 0 "exit status under hydra, inner order: $(cat "$work/err")"
equal "$(sort "$work/out")" "0 cxh0 hydra-inner  1
1 cxh1 hydra-inner  1" "what hydra's ranks see, inner order"
grep -q '"launch": "mpich"' "$work/hydra-inner/run.json" || fail "run.json: $(cat "$work/hydra-inner/run.json")"

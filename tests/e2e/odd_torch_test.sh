#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A PyTorch that lacks most of what we know: what is lost is said once each, the rest is recorded.
. "$(dirname "$0")/shell.sh"
need python3
unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE
equal "$(status "$cox" observe -o "$work/run" -- "$build/odd_torch")" 0 "exit status under cox"
equal "$(status "$cox" diagnose "$work/run" --json)" 0 "exit status of diagnose"
/usr/bin/python3 - "$work/out" <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
said = [str(w) for w in d["warnings"]]
for loss in ("which process group a Gloo context belongs to", "the store prefix of a process group",
             "the number of an operation: submissions are not recorded", "where collectives are submitted",
             "DDP's forward passes: steps are not marked", "when gradients are ready",
             "none of 1.13 to 2.14: optimizer, data loading, evaluation and fully_shard's passes are not"):
    assert sum(loss in w for w in said) == 1, (loss, said)
for kept in ("as they execute", "where DDP waits"):
    assert not any(kept in w for w in said), (kept, said)
c = [x for x in d["result"]["communicators"] if x["collectives"]]
assert [(x["size"], x["collectives"], x["bytes"]) for x in c] == [(1, 5, 320)], c
print(len(said), "things said once; five all-reduces recorded")
PY

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Predicted against measured: ring all-reduces of Gloo and Open MPI between hosts that are namespaces of this machine,
over an emulated network of 100 Mbit/s and 0.5 ms a cable (or as said), and over one whose uplink is oversubscribed.

usage: live_accuracy.py BUILD [gloo|openmpi|all|CASE] [--repetitions N] [--mbit RATE] [--delay-us DELAY] [--json FILE]

Nothing is fitted to what is predicted. Latency is from ICMP echoes, bandwidth from a TCP stream between two hosts; of an oversubscribed uplink, from as many streams as hosts share it. The rest is the library's protocol:
  Gloo      A message waits for the receiver's notice: one round trip. A rank's chunk goes in two halves, two of which
            are under way (gloo/allreduce.cc), so that beside the transfer of a chunk only max(round trip - x, half a
            round trip) shows, where x is the transfer of one half; in the first step of each phase, the round trip.
  Open MPI  ob1 over TCP without PUT, eager limit 64 KiB: half a round trip up to there, one and a half beyond.
Needs root, ip, chrt, TAP devices, and the programs fabric, live_predict and cox-bench-net-* of BUILD.
Exit 0: the bars hold (median error 10 %, worst 25 %, per library and host count). 1: not. 77: cannot run here.
"""
import json
import os
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

SIZES = [4096, 16384, 65536, 262144, 1048576, 4194304]
SPINE_DELAY_US = 100
# name, library, hosts, hosts a leaf (fewer than hosts: two leaves, whose uplinks are as fast as one host's cable)
CASES = [
    ("gloo-4", "gloo", 4, 4),
    ("gloo-8", "gloo", 8, 8),
    ("gloo-8-oversubscribed", "gloo", 8, 4),
    ("openmpi-2", "openmpi", 2, 2),
    ("openmpi-4", "openmpi", 4, 4),
    ("openmpi-4-oversubscribed", "openmpi", 4, 2),
]
EAGER_LIMIT_BYTES = 65536
MEDIAN_BAR, WORST_BAR = 0.10, 0.25
REAL_TIME = "chrt -r 10"
source = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


# --- on the hosts -----------------------------------------------------------------------------------------------

def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


def ping(address, count=41):
    """Median round trip of ICMP echoes with 56 bytes, in seconds."""
    link = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    link.settimeout(1)
    trips = []
    for i in range(count):
        head = struct.pack("!BBHHH", 8, 0, 0, os.getpid() & 0xFFFF, i)
        sum_of = checksum(head + bytes(56))
        packet = struct.pack("!BBHHH", 8, 0, sum_of, os.getpid() & 0xFFFF, i) + bytes(56)
        begin = time.perf_counter()
        link.sendto(packet, (address, 0))
        link.recv(2048)
        trips.append(time.perf_counter() - begin)
        time.sleep(0.01)
    return statistics.median(trips)


def send_stream(peer, port, start, seconds=2.5):
    """Sends to `peer` from `start` of the machine's clock on."""
    time.sleep(max(0, start - time.monotonic()))
    out, chunk = socket.create_connection((peer, port)), bytes(65536)
    while time.monotonic() < start + seconds:
        out.sendall(chunk)


def receive_stream(own, port, start):
    """Bytes per second that arrive from 0.5 s to 2 s after `start`."""
    link, _ = socket.create_server((own, port)).accept()
    got, first, last = 0, None, None
    while part := link.recv(262144):
        got += len(part)
        since = time.monotonic() - start
        if first is None and since > 0.5:
            first = (since, got)
        elif since < 2.0:
            last = (since, got)
    return (last[1] - first[1]) / (last[0] - first[0])


# --- in the lab -------------------------------------------------------------------------------------------------

def on(host, line, **more):
    return subprocess.Popen([os.environ["LAB"] + "/rsh", f"cxh{host}", line], stdout=subprocess.PIPE, text=True, **more)


def finish(processes, what):
    texts = [p.communicate(timeout=120)[0] for p in processes]
    if any(p.returncode for p in processes):
        sys.exit(f"live_accuracy: {what} failed")
    return texts


def measured_network(order, hosts, per_leaf):
    """Round trip between neighbours of the ring, stream of a host's cable, streams that share the uplink."""
    me = f"{sys.executable} {os.path.realpath(__file__)}"
    neighbour = order[1]
    trip = float(finish([on(0, f"{REAL_TIME} {me} --ping 10.77.0.{neighbour + 1}")], "ping")[0])

    def streams(pairs):
        line, start = f"{REAL_TIME} {me}", time.monotonic() + 1.0
        into = [on(b, f"{line} --receive 10.77.0.{b + 1} {5100 + k} {start}") for k, (_, b) in enumerate(pairs)]
        out = [on(a, f"{line} --send 10.77.0.{b + 1} {5100 + k} {start}") for k, (a, b) in enumerate(pairs)]
        finish(out, "stream")
        return sum(float(t) for t in finish(into, "stream"))

    cable = streams([(0, 1)])
    uplink = streams([(i, i + per_leaf) for i in range(per_leaf)]) if hosts > per_leaf else None
    return {"round_trip_s": trip, "cable_bytes_per_s": cable, "uplink_bytes_per_s": uplink}


def all_reduces(library, build, order, repetitions):
    sizes = " ".join(map(str, SIZES))
    if library == "gloo":
        with tempfile.TemporaryDirectory(prefix="cox-live.") as store:
            words = f"{len(order)} {store} eth0 --repetitions {repetitions} --pause 0.1 allreduce {sizes}"
            jobs = [on(h, f"{REAL_TIME} {build}/cox-bench-net-gloo {r} {words}") for r, h in enumerate(order)]
            text = "".join(finish(jobs, "the Gloo job"))
    else:
        hosts = ",".join(f"cxh{h}" for h in order)
        with open(os.environ["LAB"] + "/ordered", "w") as f:
            f.writelines(f"cxh{h} slots=1\n" for h in order)
        launch = os.environ["LAB_OPENMPI"].replace("/hostfile", "/ordered")
        pinned = ("--mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_allreduce_algorithm 4 "
                  f"--mca btl_tcp_flags send --mca btl_tcp_eager_limit {EAGER_LIMIT_BYTES}")
        line = (f"{launch} {pinned} -np {len(order)} {REAL_TIME} {build}/cox-bench-net-openmpi "
                f"--repetitions {repetitions} --pause 0.1 allreduce {sizes}")
        text = finish([on(order[0], line)], f"the Open MPI job on {hosts}")[0]
    spans = {}
    for line in text.splitlines():
        if line.startswith("allreduce "):
            _, _, size, repetition, begin, end = line.split()
            spans.setdefault((int(size), int(repetition)), []).append((float(begin), float(end)))
    times = {size: [] for size in SIZES}
    for (size, _), ranks in spans.items():
        if len(ranks) != len(order):
            sys.exit("live_accuracy: a rank's times are missing")
        times[size].append(max(e for _, e in ranks) - max(b for b, _ in ranks))
    return times


def inside(build, case, repetitions):
    _, library, hosts, per_leaf = next(c for c in CASES if c[0] == case)
    # Oversubscribed: neighbours in the ring are on different leaves, so that each message crosses the uplink.
    order = list(range(hosts)) if per_leaf == hosts else [h for i in range(per_leaf) for h in (i, i + per_leaf)]
    network = measured_network(order, hosts, per_leaf)
    times = all_reduces(library, build, order, repetitions)
    print(json.dumps({"case": case, "network": network, "times_s": times}))


# --- outside ----------------------------------------------------------------------------------------------------

def engine(build, hosts, per_leaf, network, size, latency):
    words = [f"{build}/live_predict", str(hosts), str(size), repr(latency), repr(network["cable_bytes_per_s"]),
             str(per_leaf), repr(network["uplink_bytes_per_s"] or 0.0)]
    seconds, name = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
    return float(seconds), name


def latency_of(build, library, hosts, per_leaf, network, size):
    """What of a step's protocol is not transfer. None of it is from a measured all-reduce."""
    trip = network["round_trip_s"]
    if library == "openmpi":
        return trip / 2 if -(-size // hosts) < EAGER_LIMIT_BYTES else 1.5 * trip
    # Two halves of a chunk are under way: while one's notices pass, the other is transferred; where transfers fill the
    # cable, a notice waits behind half a chunk that its host sends. The first step of each of the two phases has nothing
    # beside it. The engines take one latency, so the mean over the steps.
    half = engine(build, hosts, per_leaf, network, size, 0.0)[0] / (2 * (hosts - 1)) / 2
    return (trip + (hosts - 2) * max(trip - half, trip / 2)) / (hosts - 1)


def predict(build, library, hosts, per_leaf, network, size):
    latency = latency_of(build, library, hosts, per_leaf, network, size)
    return engine(build, hosts, per_leaf, network, size, latency)


def main(build, which, repetitions, mbit, delay_us, json_file):
    fabric = os.path.join(build, "fabric")
    results, failed = [], False
    for case, library, hosts, per_leaf in CASES:
        if which not in ("all", library, case):
            continue
        lab = [os.path.join(source, "tests/support/lab/shaped.sh"), fabric, str(hosts), str(per_leaf), mbit,
               delay_us, mbit, str(SPINE_DELAY_US), "--", sys.executable, os.path.realpath(__file__),
               "--inside", build, case, str(repetitions)]
        load = os.getloadavg()[0]
        done = subprocess.run(["timeout", "300", *lab], stdout=subprocess.PIPE, text=True)
        if done.returncode == 77:
            sys.exit(77)
        if done.returncode:
            sys.exit(f"live_accuracy: {case}: exit {done.returncode}")
        result = json.loads(done.stdout.splitlines()[-1])
        network = result["network"]
        up = network["uplink_bytes_per_s"]
        print(f"{case}: round trip {network['round_trip_s'] * 1e3:.3f} ms, cable "
              f"{network['cable_bytes_per_s'] * 8e-6:.1f} Mbit/s" + (f", uplink {up * 8e-6:.1f} Mbit/s" if up else "")
              + f", load {load:.1f}")
        errors = []
        for size in SIZES:
            times = sorted(result["times_s"][str(size)])
            measured = statistics.median(times)
            predicted, engine_name = predict(build, library, hosts, per_leaf, network, size)
            errors.append(predicted / measured - 1)
            print(f"  {size:>8} B  {engine_name:>8} {predicted * 1e3:8.2f} ms  measured {measured * 1e3:8.2f} ms "
                  f"({times[0] * 1e3:.2f} to {times[-1] * 1e3:.2f}, n = {len(times)})  {errors[-1] * 100:+6.1f} %",
                  flush=True)
        sizes = [abs(e) for e in errors]
        middle, worst = statistics.median(sizes), max(sizes)
        holds = middle <= MEDIAN_BAR and worst <= WORST_BAR
        failed |= not holds
        print(f"  median {middle * 100:.1f} %, worst {worst * 100:.1f} %: {'within' if holds else 'NOT within'} "
              f"{MEDIAN_BAR * 100:.0f} % and {WORST_BAR * 100:.0f} %", flush=True)
        results.append({**result, "load": load, "errors_ratio": errors})
    if json_file:
        with open(json_file, "w") as f:
            json.dump(results, f, indent=1)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    words = sys.argv[1:]
    if words[:1] == ["--ping"]:
        print(ping(words[1]))
    elif words[:1] == ["--send"]:
        send_stream(words[1], int(words[2]), float(words[3]))
    elif words[:1] == ["--receive"]:
        print(receive_stream(words[1], int(words[2]), float(words[3])))
    elif words[:1] == ["--inside"]:
        inside(words[1], words[2], int(words[3]))
    elif not words or words[0].startswith("-"):
        sys.exit(__doc__)
    else:
        take = {words[i]: words[i + 1] for i in range(len(words) - 1) if words[i].startswith("--")}
        chosen = words[1] if len(words) > 1 and not words[1].startswith("--") else "all"
        main(os.path.realpath(words[0]), chosen, int(take.get("--repetitions", 7)), take.get("--mbit", "100"),
             take.get("--delay-us", "500"), take.get("--json"))

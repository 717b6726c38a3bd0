#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Published series of sizes: the smaller sizes are given to `cox forecast`, the larger ones are what it has to say.

usage: published_scaling.py COX DATA [--check] [--write FILE]

DATA  a folder with maxtext_dev.csv, mlperf_scaling_dev.csv, llmfoundry_dev.csv
A series is one job of one source on one kind of accelerator, three sizes or more; which, is decided by `series_of` before anything is
forecast. Half of the sizes (three at least, or all but one) are given. Sources change batch and layout with the size: that is in their
numbers and in nothing that is given.
--check  exit 1 where fewer than four in five of the sizes that are told lie inside the spread
--write  put the table between its marks into FILE
Exit 0: printed. 1: the bar does not hold. 77: the data are not here.
"""
import collections
import csv
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

BEGIN, END = "<!-- published scaling: written by bench/published_scaling.py -->", "<!-- /published scaling -->"
FILES = ["maxtext_dev.csv", "mlperf_scaling_dev.csv", "llmfoundry_dev.csv"]
LEAST = 3
BAR = 0.8


def rows(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as f:
        return list(csv.DictReader(f))


def series_of(folder):
    """Name to {accelerators: throughput}; of several rows of one size the first counts. In the order of the files."""
    out = collections.OrderedDict()

    def add(name, size, value):
        if size and value:
            out.setdefault(name, {}).setdefault(int(size), float(value))

    for r in rows(folder, "maxtext_dev.csv"):
        add(f"MaxText {r['model']}, {r['accelerator']}", r["chips"], r["mfu_percent"] and float(r["mfu_percent"]) * int(r["chips"]))
    for r in rows(folder, "mlperf_scaling_dev.csv"):
        card = re.search(r"[A-Z]*[0-9]+", r["accelerator"].replace("NVIDIA ", ""))
        add(f"MLPerf {r['round']} {r['submitter']}, {r['benchmark']}, {card.group() if card else r['accelerator']}"
            f"{' PCIe' if 'PCIe' in r['accelerator'] else ''}{' 80 GB' if '80GB' in r['accelerator'] and 'A100' in r['accelerator'] else ''}",
            r["chips"], r["train_samples_per_s"])
    for r in rows(folder, "llmfoundry_dev.csv"):
        if r["sequence_length_tokens"] == "2048" and r["precision"] == "amp_bf16" and r["mixed_precision_mode"] == "DEFAULT":
            add(f"llm-foundry {r['model']}, {r['accelerator'].split('_')[0].upper()}", r["gpus"], r["throughput_tokens_per_s"])
    distinct = collections.OrderedDict()
    for name, sizes in out.items():
        if len(sizes) >= LEAST and sizes not in distinct.values():
            distinct[name] = sizes  # a later round that hands in the same runs is no new series
    return distinct


def parted(sizes):
    """The smaller half, three of them where there are more, and those that are asked."""
    order = sorted(sizes)
    given = max(min(LEAST, len(order) - 1), len(order) // 2)
    return order[:given], order[given:]


def forecast(cox, folder, sizes, given, asked):
    table = os.path.join(folder, "sizes.csv")
    with open(table, "w", encoding="utf-8") as f:
        f.write("ranks,throughput_per_s\n" + "".join(f"{n},{sizes[n]:.6g}\n" for n in given))
    text = subprocess.run([cox, "forecast", table, "--to", ",".join(map(str, asked)), "--json", "-q"], check=True,
                          capture_output=True, text=True, timeout=60).stdout
    return json.loads(text)["result"]["curve"]


def percent(x):
    return f"{100 * x:+.1f} %"


def report(cox, folder):
    lines = ["| series | given | asked | forecast / published | spread / published | held | plain fits |",
             "|---|---|---:|---:|---:|---|---|"]
    errors, held, told, plain, refused = [], 0, 0, collections.defaultdict(list), 0
    with tempfile.TemporaryDirectory() as work:
        for name, sizes in series_of(folder).items():
            given, asked = parted(sizes)
            curve = forecast(cox, work, sizes, given, asked)
            for point in curve["sizes"]:
                truth = sizes[point["size"]]
                fits = []
                for model, value in zip(curve["models"], point["by_model"]):
                    if value:
                        fits.append(f"{model['name']} {percent(value / truth - 1)}")
                        plain[model["name"]].append(abs(value / truth - 1))
                row = [name, ", ".join(map(str, given)), str(point["size"])]
                if point["refused"]:
                    refused += 1
                    row += ["refused", "", "", "; ".join(fits)]
                else:
                    inside = point["low"] <= truth <= point["high"]
                    told, held = told + 1, held + inside
                    errors.append(abs(point["value"] / truth - 1))
                    row += [f"{point['value'] / truth:.3f}", f"{point['low'] / truth:.2f} to {point['high'] / truth:.2f}",
                            "yes" if inside else "no", "; ".join(fits)]
                lines.append("| " + " | ".join(row) + " |")
    lines += ["", f"{told} sizes told: median error {100 * statistics.median(errors):.1f} %, worst {100 * max(errors):.1f} %, "
              f"{held} inside the spread; {refused} refused. Plain fits at all sizes, median and worst error: " +
              "; ".join(f"{model} {100 * statistics.median(e):.1f} / {100 * max(e):.0f} % ({len(e)})"
                        for model, e in plain.items()) + "."]
    return "\n".join(lines), held >= BAR * told


def main(argv):
    write = argv[argv.index("--write") + 1] if "--write" in argv else None
    if len(argv) < 3 or not all(os.path.exists(os.path.join(argv[2], f)) for f in FILES):
        print("the data are not here", file=sys.stderr)
        return 77
    text, holds = report(argv[1], argv[2])
    print(text)
    if write:
        with open(write, encoding="utf-8") as f:
            page = f.read()
        head, rest = page.split(BEGIN)
        with open(write, "w", encoding="utf-8") as f:
            f.write(head + BEGIN + "\n" + text + "\n" + END + rest.split(END)[1])
    return 1 if "--check" in argv and not holds else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))

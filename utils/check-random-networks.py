#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only

"""Runs AllReduces on random networks and checks what the programs claim about them.

Usage: check-random-networks.py [--networks=500] [--first=1] [--jobs=1] [--out=DIR] [--run=build/bin/allreduce-run]

Network number S is drawn with S as the seed: 2 to 40 servers, log-uniform; direct (a tree of servers and more links), switched
(racks with an oversubscription of 1 to 8, one or two spines) or rails (boxes with a fast switch, a NIC or more for each
server). One to four rates between 1 and 3,600 Gb/s, which a network mixes, and one or two delays between 0.1 and 100 us,
all log-uniform. The size is log-uniform between 1 KiB and 1 GiB, cut so that no run simulates more than about MOST_FRAMES
frames of 9,000 bytes over a link.

On each network it runs
- one scheduler, transport and sync, drawn, with --chunks-per-server=auto and with 1, 2, 4, 8, 16 and 32 chunks for each
  of the servers' mean ports, as far as plans have no more than MOST_WORKLOADS workloads;
- another drawn scheduler with auto over each of raw, udp and tcp, one sync each.

It checks that
- no run ends before the ideal, and none fails;
- a network and a size have one ideal;
- nothing is dropped over raw and udp;
- predicted over measured is within 5 % (raw, udp) and 10 % (tcp) at the 95th percentile, for chunks from 64 KiB;
- auto is within 5 % of the best measured number of chunks on 95 % of the networks.

It prints a summary and the worst cases with their commands, and ends with 1 if a target is missed. The files stay in
--out, with all rows in rows.jsonl.
"""

import argparse
import concurrent.futures
import json
import math
import os
import random
import subprocess
import sys
import time

GBPS = 1e9
MOST_FRAMES = 15_000
MOST_WORKLOADS = 5_000
FRAME = 9000
SCHEDULERS = ("greedy", "forest", "hrl", "ring-aware", "multi-ring")
TRANSPORTS = ("raw", "udp", "tcp")
SYNCS = ("barrier", "dependency")
TIMES = (1, 2, 4, 8, 16, 32)
LEAST_CHUNK = 64 * 1024
TARGETS = {"raw": 0.05, "udp": 0.05, "tcp": 0.10}
AUTO_WITHIN = 0.05
AUTO_SHARE = 0.95
RUN_SECONDS = 300


def draw_log(rng, least, most):
    return math.exp(rng.uniform(math.log(least), math.log(most)))


class Network:
    """A random network; the same seed gives the same one."""

    def __init__(self, seed):
        rng = random.Random(seed)
        self.seed = seed
        self.rates = [draw_log(rng, 1, 3600) for _ in range(rng.choice((1, 2, 3, 4)))]
        self.delays = [draw_log(rng, 0.1, 100) for _ in range(rng.choice((1, 2)))]
        self.kind = rng.choice(("direct", "switched", "rails"))
        self.servers = round(draw_log(rng, 2, 40))
        self.switches = 0
        self.links = []
        {"direct": self.draw_direct, "switched": self.draw_switched, "rails": self.draw_rails}[self.kind](rng)
        self.bytes = int(draw_log(rng, 1 << 10, 1 << 30))
        hops = {"direct": 1.5, "switched": 3.5, "rails": 3}[self.kind]
        most = int(MOST_FRAMES * FRAME / (2 * (self.servers - 1) * hops))
        self.bytes = max(1024, min(self.bytes, most))
        self.settings = self.draw_settings(rng)

    def add(self, a, b, rate, delay):
        """Links are unique: a second one between the same nodes is left out."""
        if a != b and not any({a, b} == {link[0], link[1]} for link in self.links):
            # Whole Mb/s and ns, as files have them.
            self.links.append([a, b, f"{max(1, round(1000 * rate))}Mbps", f"{max(1, round(1000 * delay))}ns"])

    def draw_direct(self, rng):
        for server in range(1, self.servers):
            self.add(rng.randrange(server), server, rng.choice(self.rates), rng.choice(self.delays))
        for _ in range(rng.randint(0, 2 * self.servers)):
            a, b = rng.randrange(self.servers), rng.randrange(self.servers)
            self.add(a, b, rng.choice(self.rates), rng.choice(self.delays))

    def draw_switched(self, rng):
        n_racks = rng.randint(1, max(1, self.servers // 2))
        n_spines = rng.choice((1, 1, 2)) if n_racks > 1 else 0
        self.switches = n_racks + n_spines
        per_rack = -(-self.servers // n_racks)
        oversubscription = draw_log(rng, 1, 8)
        slow = rng.randrange(self.servers) if rng.random() < 0.3 else None
        is_mixed = rng.random() < 0.5
        for rack in range(n_racks):
            rate = rng.choice(self.rates)
            total = 0
            for server in range(rack * per_rack, min(self.servers, (rack + 1) * per_rack)):
                own = rng.choice(self.rates) if is_mixed else rate
                own = own / 2 if server == slow else own
                total += own
                self.add(server, self.servers + rack, max(1, own), self.delays[0])
            for spine in range(n_spines):
                up = min(3600, max(1, (total or rate) / oversubscription / n_spines))
                self.add(self.servers + rack, self.servers + n_racks + spine, up, self.delays[-1])

    def draw_rails(self, rng):
        per_box = rng.choice((2, 4, 8))
        n_boxes = max(1, self.servers // per_box)
        self.servers = max(2, n_boxes * per_box)
        per_box = self.servers // n_boxes
        fast, slow = max(self.rates), min(self.rates)
        n_nics = rng.choice((1, 1, 2))
        self.switches = n_boxes + per_box * n_nics + 1
        first_rail = self.servers + n_boxes
        for server in range(self.servers):
            self.add(server, self.servers + server // per_box, fast, self.delays[0])
            for nic in range(n_nics):
                self.add(server, first_rail + nic * per_box + server % per_box, slow, self.delays[-1])
        for rail in range(per_box * n_nics):
            self.add(first_rail + rail, self.servers + self.switches - 1,
                     min(3600, max(1, slow * n_boxes / rng.choice((1, 2, 4)))), self.delays[-1])

    def draw_settings(self, rng):
        """(scheduler, transport, sync, chunks per server), with None for auto."""
        n_ports = sum(end < self.servers for link in self.links for end in link[:2])
        ports = max(1, (n_ports + self.servers // 2) // self.servers)
        scheduler, transport, sync = rng.choice(SCHEDULERS), rng.choice(TRANSPORTS), rng.choice(SYNCS)
        settings = [(scheduler, transport, sync, None)]
        for times in TIMES:
            m = times * ports
            if times == 1 or 2 * (self.servers - 1) * self.servers * m <= MOST_WORKLOADS:
                settings.append((scheduler, transport, sync, m))
        other = rng.choice(SCHEDULERS)
        for transport in TRANSPORTS:
            settings.append((other, transport, rng.choice(SYNCS), None))
        return list(dict.fromkeys(settings))

    def write(self, folder):
        path = os.path.join(folder, f"{self.seed}.json")
        with open(path, "w", encoding="ascii") as file:
            json.dump({"name": f"{self.kind}-{self.seed}", "servers": self.servers, "switches": self.switches,
                       "links": self.links}, file)
        return path


def make_command(program, path, size, setting):
    scheduler, transport, sync, m = setting
    return [program, f"--topology=file:{path}", f"--scheduler={scheduler}", f"--bytes={size}",
            f"--transport={transport}", f"--sync={sync}", f"--chunks-per-server={m or 'auto'}"]


def run_network(seed, program, folder):
    """@return the rows of a network's runs"""
    network = Network(seed)
    path = network.write(folder)
    rows = []
    for setting in network.settings:
        command = make_command(program, path, network.bytes, setting)
        row = {"seed": seed, "kind": network.kind, "asked": setting[3] or "auto",
               "swept": setting[:3] == network.settings[0][:3], "command": " ".join(command)}
        begin = time.monotonic()
        try:
            done = subprocess.run(command + ["--format=json"], capture_output=True, text=True, check=False,
                                  timeout=RUN_SECONDS)
            row.update(json.loads(done.stdout)[0] if done.stdout.strip() else {})
            if done.returncode != 0:
                row.setdefault("failure", done.stderr.strip())
        except subprocess.TimeoutExpired:
            row["failure"] = f"not over after {RUN_SECONDS} s"
        except (ValueError, IndexError) as error:
            row["failure"] = f"no row: {error}"
        row.pop("round_s", None)
        row["seconds"] = time.monotonic() - begin
        rows.append(row)
    return rows


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)] if ordered else 0


class Report:
    """Prints results and remembers whether a target was missed."""

    def __init__(self, most):
        self.most = most
        self.n_missed = 0

    def check(self, name, is_met, detail):
        self.n_missed += not is_met
        print(f"{'ok    ' if is_met else 'MISSED'} {name}: {detail}")

    def show(self, cases):
        """@param cases (text, command), the worst first"""
        for text, command in cases[:self.most]:
            print(f"         {text}\n           {command}")

    def check_none(self, name, bad, n_all):
        self.check(name, not bad, f"{len(bad)} of {n_all}")
        self.show(bad)


def check_facts(report, rows):
    done = [row for row in rows if "failure" not in row]
    failed = [(row["failure"][:200], row["command"]) for row in rows if "failure" in row]
    report.check_none("runs that failed", failed, len(rows))
    early = sorted((row["measured_s"] / row["ideal_s"], row["command"]) for row in done
                   if row["measured_s"] < row["ideal_s"] * (1 - 1e-6))
    report.check_none("runs below the ideal", [(f"{ratio:.4f} of it", command) for ratio, command in early], len(done))
    ideals = {}
    for row in done:
        ideals.setdefault(row["seed"], []).append((row["ideal_s"], row["command"]))
    several = [(f"ideals from {min(found)[0]:.4g} to {max(found)[0]:.4g} s", min(found)[1])
               for found in ideals.values() if max(found)[0] > min(found)[0] * (1 + 1e-9)]
    report.check_none("networks with several ideals", several, len(ideals))
    datagrams = [row for row in done if row["transport"] != "tcp"]
    drops = sorted(((row["dropped"], row["command"]) for row in datagrams if row["dropped"]), reverse=True)
    report.check_none("runs over raw and udp with drops",
                      [(f"{n} dropped", command) for n, command in drops], len(datagrams))
    n_tcp = sum(row["dropped"] > 0 for row in done if row["transport"] == "tcp")
    print(f"       runs over tcp with drops: {n_tcp} of {len(done) - len(datagrams)}")


def get_error(row):
    return row["predicted_s"] / row["measured_s"] - 1


def check_predictions(report, rows):
    large = [row for row in rows if "failure" not in row
             and row["bytes"] / (row["chunks_per_server"] * row["servers"]) >= LEAST_CHUNK]
    for transport in TRANSPORTS:
        for sync in SYNCS:
            errors = [get_error(row) for row in large if row["transport"] == transport and row["sync"] == sync]
            shown = ", ".join(f"p{100 * share:.0f} {100 * percentile(errors, share):+.1f}"
                              for share in (0.02, 0.05, 0.5, 0.95, 0.98))
            print(f"       {transport} {sync}: {len(errors)} runs, error in %: {shown}")
    for transport in TRANSPORTS:
        found = [row for row in large if row["transport"] == transport]
        worst = percentile([abs(get_error(row)) for row in found], 0.95)
        report.check(f"prediction over {transport}", worst <= TARGETS[transport],
                     f"|error| at p95 {100 * worst:.1f} %, target {100 * TARGETS[transport]:.0f} %, {len(found)} runs")
        found.sort(key=lambda row: -abs(get_error(row)))
        report.show([(f"{100 * get_error(row):+.1f} %, predicted {1e3 * row['predicted_s']:.4g} ms, m "
                      f"{row['chunks_per_server']:.0f}, {row['dropped']} dropped", row["command"]) for row in found])


def check_auto(report, rows):
    sweeps = {}
    for row in rows:
        if row["swept"] and "failure" not in row:
            sweeps.setdefault(row["seed"], []).append(row)
    losses = []
    for found in sweeps.values():
        chosen = [row for row in found if row["asked"] == "auto"]
        if chosen and len(found) > 1:
            best = min((row for row in found if row["asked"] != "auto"), key=lambda row: row["measured_s"])
            losses.append((chosen[0]["measured_s"] / best["measured_s"] - 1, chosen[0], best))
    losses.sort(key=lambda loss: -loss[0])
    for transport in TRANSPORTS:
        own = [loss for loss, row, _ in losses if row["transport"] == transport]
        print(f"       auto over {transport}: {sum(loss <= AUTO_WITHIN for loss in own)} of {len(own)} within "
              f"{100 * AUTO_WITHIN:.0f} %, p95 {100 * percentile(own, 0.95):+.1f} %")
    n_good = sum(loss <= AUTO_WITHIN for loss, _, _ in losses)
    share = n_good / max(1, len(losses))
    report.check("auto", share >= AUTO_SHARE, f"{n_good} of {len(losses)} networks within {100 * AUTO_WITHIN:.0f} % of "
                 f"the best m ({100 * share:.1f} %, target {100 * AUTO_SHARE:.0f} %)")
    report.show([(f"{100 * loss:+.1f} %: m {row['chunks_per_server']:.0f} predicted {1e3 * row['predicted_s']:.4g}, "
                  f"measured {1e3 * row['measured_s']:.4g} ms; m {best['chunks_per_server']:.0f} predicted "
                  f"{1e3 * best['predicted_s']:.4g}, measured {1e3 * best['measured_s']:.4g} ms", row["command"])
                 for loss, row, best in losses])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", type=int, default=500, help="how many")
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--jobs", type=int, default=1, help="networks at a time")
    parser.add_argument("--out", default="build/random-networks", help="folder for networks and rows")
    parser.add_argument("--run", default="build/bin/allreduce-run", help="the program")
    parser.add_argument("--worst", type=int, default=5, help="how many of the worst cases to show")
    parser.add_argument("--rows", help="check the rows of this file instead of running")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    if options.rows:
        with open(options.rows, encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
    else:
        seeds = range(options.first, options.first + options.networks)
        rows = []
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool, \
                open(os.path.join(options.out, "rows.jsonl"), "w", encoding="utf-8") as file:
            for found in pool.map(lambda seed: run_network(seed, options.run, options.out), seeds):
                rows += found
                file.writelines(json.dumps(row) + "\n" for row in found)
                file.flush()
    report = Report(options.worst)
    check_facts(report, rows)
    check_predictions(report, rows)
    check_auto(report, rows)
    print(f"{report.n_missed} targets missed")
    return 1 if report.n_missed else 0


if __name__ == "__main__":
    sys.exit(main())

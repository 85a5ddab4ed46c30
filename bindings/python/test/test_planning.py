# SPDX-License-Identifier: GPL-2.0-only
"""Topologies, plans, proofs, bounds and policies. ALLREDUCE_PLAN names the program that gives the same plans."""

import ast
import json
import os
import pathlib
import subprocess
import tempfile
import threading
import unittest

import numpy as np

import allreduce_env as ar
from random_networks import draw_topology

PROGRAM = os.environ.get("ALLREDUCE_PLAN")


def plan_by_program(spec, scheduler, *options, policy=None):
    """What allreduce-plan says of a plan."""
    environment = dict(os.environ, **({"ALLREDUCE_POLICY": str(policy)} if policy else {}))
    command = [PROGRAM, f"--topology={spec}", f"--scheduler={scheduler}", "--format=json", *options]
    rows = json.loads(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)
    return rows[0] if isinstance(rows, list) else rows


class TopologyTest(unittest.TestCase):
    def test_specs_links_and_files_agree(self):
        network = ar.Topology("bcube:3,1", degrade="0.1,2", mixed="0.3,4")
        rows = [[int(link["a"]), int(link["b"]), int(link["capacity"])] for link in network.links]
        again = ar.topology_from_links(network.n_servers, network.n_switches, rows)
        read = ar.Topology.from_json(network.to_json())
        for other in (again, read):
            self.assertEqual((other.n_servers, other.n_switches), (network.n_servers, network.n_switches))
            for field in ("a", "b", "capacity"):
                np.testing.assert_array_equal(other.links[field], network.links[field])

    def test_links_may_be_an_array(self):
        star = ar.topology_from_links(3, 1, np.array([[0, 3], [1, 3], [2, 3]]), "star")
        self.assertEqual((star.name, star.n_servers, len(star.links)), ("star", 3, 3))

    def test_refusals_name_the_thing(self):
        for what, call in {
            "bcube": lambda: ar.Topology("bcube:1000,9"),
            "nonsense": lambda: ar.Topology("nonsense"),
            "no-such-file": lambda: ar.Topology("file:no-such-file.json"),
            "0-7": lambda: ar.topology_from_links(3, 1, [[0, 7], [1, 3], [2, 3]]),
            "mine": lambda: ar.topology_from_links(3, 1, [[0, object()]], "mine"),
            "much": lambda: ar.Topology("bcube:4,1", degrade="much"),
        }.items():
            with self.assertRaisesRegex(ar.InputError, what):
                call()


class PlanTest(unittest.TestCase):
    def test_all_schedulers_verify_and_keep_the_bound(self):
        network = ar.Topology("dcell:3,1")
        for name in ar.schedulers():
            plan = ar.plan(network, name)
            self.assertEqual(plan.flaw(), "")
            self.assertGreaterEqual(plan.rounds, ar.bound(network).rounds)
            self.assertEqual(len(plan.workloads), len(plan.paths))

    def test_arrays_say_all_of_a_plan(self):
        random = np.random.default_rng(1)
        for _ in range(20):
            plan = ar.plan(draw_topology(random), "greedy")
            rows = plan.workloads
            self.assertEqual(plan.contributors, {})
            again = ar.Schedule(plan.topology, plan.roots, rows["round"], rows["chunk"], rows["kind"], plan.paths)
            self.assertEqual(again.hash, plan.hash)
            lengths = (plan.paths >= 0).sum(axis=1)
            np.testing.assert_array_equal(rows["sender"], plan.paths[:, 0])
            np.testing.assert_array_equal(rows["receiver"], plan.paths[np.arange(len(rows)), lengths - 1])

    def test_the_verifier_finds_what_is_missing(self):
        plan = ar.plan(ar.Topology("bcube:3,1"), "greedy")
        rows, paths = plan.workloads, plan.paths
        for lost in (0, len(rows) // 2, len(rows) - 1):
            kept = np.arange(len(rows)) != lost
            less = ar.Schedule(
                plan.topology,
                plan.roots,
                rows["round"][kept],
                rows["chunk"][kept],
                rows["kind"][kept],
                paths[kept],
            )
            self.assertNotEqual(less.flaw(), "")
            with self.assertRaisesRegex(ar.InputError, "is not correct"):
                less.verify()

    def test_files(self):
        plan = ar.plan(ar.Topology("bcube:3,1"), "ring")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "plan.json")
            plan.save(path)
            self.assertEqual(ar.Schedule.load(path).hash, plan.hash)
            path.write_text(path.read_text()[:-9])
            with self.assertRaisesRegex(ar.InputError, "plan.json"):
                ar.Schedule.load(path)
            with self.assertRaisesRegex(ar.InputError, "none.json"):
                ar.Schedule.load(pathlib.Path(folder, "none.json"))
            with self.assertRaisesRegex(ar.InputError, "is a folder"):
                ar.Schedule.load(folder)

    def test_refusals_name_the_thing(self):
        network = ar.Topology("bcube:3,1")
        rows = np.zeros(2, int)
        for what, call in {
            "nobody": lambda: ar.plan(network, "nobody"),
            "Nothing": lambda: ar.plan(network, "greedy", attributes={"Nothing": 1}),
            "Samples": lambda: ar.plan(network, "hrl", attributes={"Samples": "many"}),
            "none.json": lambda: ar.plan(network, "hrl", attributes={"Checkpoint": "none.json"}),
            "chunks_per_server": lambda: ar.plan(network, chunks_per_server=2**40),
            "scorer": lambda: ar.plan(network, "greedy", scorer=lambda head, rows: rows[:, 0]),
            "chunk root 99": lambda: ar.Schedule(network, [99], rows, rows, rows, np.zeros((2, 2), int)),
            "kinds, row 0": lambda: ar.Schedule(network, [0], rows, rows, rows + 2, np.zeros((2, 2), int)),
            "paths": lambda: ar.Schedule(network, [0], rows, rows, rows, rows),
            "of the same length": lambda: ar.Schedule(network, [0], rows, rows, rows[:1], np.zeros((2, 2), int)),
        }.items():
            with self.assertRaisesRegex(ar.InputError, what):
                call()
        for network in ("bcube:3,1", None):
            with self.assertRaises(TypeError):
                ar.plan(network)

    def test_threads_may_plan_at_once(self):
        network = ar.Topology("bcube:3,1")
        hashes = []
        threads = [threading.Thread(target=lambda: hashes.append(ar.plan(network, "hrl").hash)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(set(hashes)), 1)
        self.assertEqual(len(hashes), 4)


class ScorerTest(unittest.TestCase):
    def test_the_shipped_weights_through_python_give_the_same_plan(self):
        policy = ar.Policy.shipped()
        network = ar.Topology("bcube:3,1", degrade="0.1,3")
        for more in ({}, {"Samples": 3}, {"Online": True}):
            attributes = {"Middles": 4, "SearchEffort": 0, **more}
            plan = ar.plan(network, "hrl", attributes=attributes, scorer=policy.score)
            self.assertEqual(plan.hash, ar.plan(network, "hrl", attributes=attributes).hash)

    def test_what_a_scorer_does_wrong_is_raised(self):
        network = ar.Topology("bcube:3,1")

        def fail(head, rows):
            raise KeyError("mine")

        for samples in (1, 3):
            with self.assertRaisesRegex(KeyError, "mine"):
                ar.plan(network, "hrl", attributes={"Samples": samples}, scorer=fail)
        for answer in ([1.0], np.nan, None, "high", object()):
            with self.assertRaisesRegex(ar.InputError, "scores"):
                ar.plan(network, "hrl", scorer=lambda head, rows: answer)
        with self.assertRaisesRegex(ar.InputError, "finite"):
            ar.plan(network, "hrl", scorer=lambda head, rows: np.full(len(rows), np.nan))
        with self.assertRaisesRegex(ar.InputError, "called by a scorer"):
            ar.plan(network, "hrl", scorer=lambda head, rows: ar.plan(network))


class PolicyTest(unittest.TestCase):
    def test_weights_and_files(self):
        policy = ar.Policy.untrained(7)
        for head in ar.HEADS:
            policy.set_weights(head, policy.get_weights(head) * 2)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mine.json")
            policy.save(path, {"episodes": 3})
            again = ar.Policy.load(path)
            self.assertEqual(json.loads(pathlib.Path(path).read_text())["training"], {"episodes": 3})
        for head in ar.HEADS:
            np.testing.assert_array_equal(again.get_weights(head), policy.get_weights(head))

    def test_scores_are_those_of_the_layers(self):
        policy = ar.Policy.shipped()
        random = np.random.default_rng(1)
        for head in ar.HEADS:
            n = len(ar.features(head))
            layers = policy.layers(head)
            flat = [part.ravel() for layer in layers for part in layer]
            np.testing.assert_array_equal(np.concatenate(flat), policy.get_weights(head))
            rows = x = random.random((9, n), np.float32)
            for i, (weights, biases) in enumerate(layers):
                x = x @ weights + biases
                x = x if i == 2 else np.where(x > 0, x, ar.LEAK * x)
            np.testing.assert_allclose(policy.score(head, rows), x[:, 0], rtol=1e-3, atol=1e-4)

    def test_refusals_name_the_thing(self):
        policy = ar.Policy.untrained()
        for what, call in {
            "nobody": lambda: policy.get_weights("nobody"),
            '"port"': lambda: policy.set_weights("port", [1, 2]),
            "finite": lambda: policy.set_weights("port", policy.get_weights("port") * np.nan),
            '"tree"': lambda: policy.score("tree", np.zeros((3, 2))),
            "none.json": lambda: ar.Policy.load("/none.json"),
            "no/such": lambda: policy.save("/no/such/folder.json"),
        }.items():
            with self.assertRaisesRegex(ar.InputError, what):
                call()
        with self.assertRaises(TypeError):
            policy.save("mine.json", {"episodes": object()})


class StubTest(unittest.TestCase):
    def test_the_stub_has_what_there_is(self):
        tree = ast.parse(pathlib.Path(ar.__file__).with_suffix(".pyi").read_text())
        names = {node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
        constants = {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign)}
        self.assertEqual(names | constants, set(ar.__all__))
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and node.name != "InputError":
                methods = {part.name for part in node.body if isinstance(part, ast.FunctionDef)} - {"__init__"}
                there = {name for name in vars(getattr(ar, node.name)) if not name.startswith("_")}
                self.assertEqual(methods, there, node.name)

    def test_all_is_documented(self):
        for name in ar.__all__:
            thing = getattr(ar, name)
            if not callable(thing):
                continue
            self.assertTrue(thing.__doc__, name)
            for member, value in vars(thing).items() if isinstance(thing, type) else ():
                if not member.startswith("_"):
                    self.assertTrue(value.__doc__, f"{name}.{member}")


@unittest.skipUnless(PROGRAM, "ALLREDUCE_PLAN is not set")
class ProgramTest(unittest.TestCase):
    """The same plans as allreduce-plan."""

    def test_schedulers(self):
        for spec in ("bcube:3,1", "jellyfish:6,3,1"):
            for name in ar.schedulers():
                plan = ar.plan(ar.Topology(spec), name)
                row = plan_by_program(spec, name)
                self.assertEqual((plan.rounds, plan.hash), (row["rounds"], row["plan_hash"]))
                self.assertEqual(ar.bound(ar.Topology(spec)).rounds, row["bound"])

    def test_policies(self):
        policies = {
            "untrained": ar.Policy.untrained(3),
            "rule": ar.Policy.rule_of_thumb(3),
            "shipped": ar.Policy.shipped(),
        }
        random = np.random.default_rng(5)
        policies["random"] = ar.Policy.untrained(1)
        for head in ar.HEADS:
            weights = policies["random"].get_weights(head)
            policies["random"].set_weights(head, random.normal(size=weights.size))
        with tempfile.TemporaryDirectory() as folder:
            for name, policy in policies.items():
                path = os.path.join(folder, name + ".json")
                policy.save(path)
                for spec, attributes in (("bcube:2,1", {}), ("bcube:2,1", {"Online": True}), ("dcell:3,1", {})):
                    plan = ar.plan(ar.Topology(spec), "hrl", attributes=attributes, scorer=policy.score)
                    online = ["--online"] * len(attributes)
                    row = plan_by_program(spec, "hrl", *online, policy=path)
                    self.assertEqual((plan.rounds, plan.hash), (row["rounds"], row["plan_hash"]), (spec, name, online))


if __name__ == "__main__":
    unittest.main()

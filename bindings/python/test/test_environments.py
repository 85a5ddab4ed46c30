# SPDX-License-Identifier: GPL-2.0-only
"""Both levels' decisions as environments. ALLREDUCE_EPISODES: how many are played at random."""

import os
import threading
import unittest

import numpy as np

import allreduce_env as ar
from random_networks import draw_task

EPISODES = int(os.environ.get("ALLREDUCE_EPISODES", "200"))


def draw_action(env, level, random):
    mask = env.action_masks()
    if level == "upper":
        return random.integers(0, 2, mask.size) * mask
    return random.choice(np.flatnonzero(mask))


def play(env, choose, seed=1):
    """Plays an episode. Returns what is seen last, the sum of rewards and the number of steps."""
    observation, info = env.reset(seed=seed)
    total, n_steps, terminated = 0.0, 0, not observation["mask"].any()
    while not terminated:
        observation, reward, terminated, truncated, info = env.step(choose(observation))
        assert not truncated
        total += reward
        n_steps += 1
    return info, total, n_steps


def make_env(level, task, partner=None):
    if level == "joint":
        return ar.JointEnv(task)
    make = ar.LowerEnv if level == "lower" else ar.UpperEnv
    return make(task, partner) if partner else make(task)


def choose_as_policy(policy, level):
    """What a policy would choose, seen from outside."""

    def choose(observation):
        head = ar.HEADS[observation["head"]]
        n_rows = 1 if head == "tree" and level == "joint" else observation["mask"].sum()
        rows = observation["rows"][:n_rows, : len(ar.features(head))]
        scores = policy.score(head, rows)
        if head != "tree":
            return int(np.argmax(scores))
        bits = np.zeros(observation["mask"].size, int)
        bits[:n_rows] = scores >= 0
        return bits if level == "upper" else int(bits[0])

    return choose


class RandomPlayTest(unittest.TestCase):
    def test_masks_allow_what_the_state_takes_and_nothing_else(self):
        random = np.random.default_rng(1)
        task, envs = None, {}
        for episode in range(EPISODES):
            if episode % 10 == 0:
                task = draw_task(random)
                envs = {level: make_env(level, task) for level in ("lower", "upper", "joint")}
            level = ("lower", "upper", "joint")[episode % 3]
            env = envs[level]
            observation, info = env.reset(seed=episode)
            terminated = not observation["mask"].any()
            while not terminated:
                mask = observation["mask"]
                n = mask.sum()
                self.assertTrue(mask[:n].all())
                self.assertTrue((observation["choices"][: 1 if level == "joint" else n] >= 0).all())
                self.assertFalse(observation["rows"][n:].any())
                if random.random() < 0.01:
                    self.refuse(env, level, n, mask.size)
                action = draw_action(env, level, random)
                observation, reward, terminated, truncated, info = env.step(action)
            plan = env.plan()
            self.assertEqual(plan.flaw(), "")
            self.assertGreaterEqual(plan.rounds, task.bound)

    def refuse(self, env, level, n, size):
        wrong = [-1, n, size]
        if level == "upper":
            wrong = [np.full(size, 2), -np.ones(size, int)] + ([np.ones(size, int)] if n < size else [])
        for action in wrong:
            with self.assertRaisesRegex(ar.InputError, "action"):
                env.step(action)


class PolicyPlayTest(unittest.TestCase):
    def test_levels_fit_together(self):
        """What a policy does at one level with itself at the other is what it does at both."""
        random = np.random.default_rng(2)
        for _ in range(5):
            task = draw_task(random)
            for policy in (ar.Policy.shipped(), ar.Policy.untrained(1)):
                plans = []
                for level in ("lower", "joint"):
                    env = make_env(level, task, policy)
                    play(env, choose_as_policy(policy, level))
                    plans.append(env.plan().hash)
                self.assertEqual(plans[0], plans[1])

    def test_a_seed_gives_the_same_plan(self):
        task = ar.Task(ar.Topology("dcell:3,1", degrade="0.1,3"))
        env = ar.UpperEnv(task)

        def play_twice(seed):
            plans = []
            for again in (seed, None):
                observation, _ = env.reset(seed=again)
                while not env.step(observation["mask"].astype(int) * 0)[2]:
                    pass
                plans.append(env.plan().hash)
            return plans

        self.assertEqual(play_twice(3), play_twice(3))
        self.assertNotEqual(*play_twice(3))

    def test_the_shipped_policy_is_better_than_chance(self):
        random = np.random.default_rng(3)
        task = ar.Task(ar.Topology("dcell:3,1"), kind="mirrored")
        env = ar.LowerEnv(task)
        info, _, _ = play(env, choose_as_policy(ar.Policy.shipped(), "lower"))
        rounds = [play(env, lambda seen: random.choice(np.flatnonzero(seen["mask"])), i)[0]["rounds"] for i in range(9)]
        self.assertLess(info["rounds"], min(rounds))

    def test_rewards_say_what_was_lost(self):
        """Of two episodes the one that took more rounds earned less."""
        random = np.random.default_rng(4)
        env = ar.LowerEnv(ar.Task(ar.Topology("dcell:3,1")))
        best, worst = [
            play(env, choose)[:2]
            for choose in (
                choose_as_policy(ar.Policy.shipped(), "lower"),
                lambda seen: random.choice(np.flatnonzero(seen["mask"])),
            )
        ]
        self.assertLess(best[0]["rounds"], worst[0]["rounds"])
        self.assertGreater(best[1], worst[1])


class VectorTest(unittest.TestCase):
    def test_same_as_one_by_one(self):
        random = np.random.default_rng(5)
        tasks = [draw_task(random) for _ in range(6)]
        for level in ("lower", "upper", "joint"):
            vector = ar.VectorEnv(tasks, level, threads=3)
            alone = [make_env(level, task) for task in tasks]
            seen, _ = vector.reset(seed=range(6))
            rows = seen["rows"]
            for i, env in enumerate(alone):
                env.reset(seed=i)
            for _ in range(300):
                actions = np.zeros(vector.action_space.shape, int)
                for i, env in enumerate(alone):
                    action = draw_action(env, level, random)
                    actions.reshape(6, -1)[i, : action.size] = action
                seen, rewards, terminated, truncated, info = vector.step(actions)
                self.assertIs(seen["rows"], rows)
                for i, env in enumerate(alone):
                    action = actions[i] if level != "upper" else actions[i, : env.action_space.n]
                    single, reward, over, _, single_info = env.step(action)
                    self.assertEqual((reward, over), (rewards[i], terminated[i]))
                    if over:
                        self.assertEqual(single_info["rounds"], info["rounds"][i])
                        self.assertEqual(env.plan().hash, vector.plan(i).hash)
                        single, _ = env.reset()
                    n = single["mask"].size
                    np.testing.assert_array_equal(single["mask"], seen["mask"][i, :n])
                    np.testing.assert_array_equal(single["rows"], seen["rows"][i, :n])

    def test_nothing_is_copied(self):
        env = ar.VectorEnv([ar.Task(ar.Topology("bcube:3,1"))] * 4)
        first, _ = env.reset()
        addresses = [array.__array_interface__["data"] for array in first.values()]
        later = env.step(np.zeros(4, int))[0]
        self.assertEqual(addresses, [array.__array_interface__["data"] for array in later.values()])
        rows = later["rows"]
        del env, first, later
        self.assertTrue(np.isfinite(rows).all())  # the array keeps what it needs

    def test_a_wrong_action_steps_none(self):
        env = ar.VectorEnv([ar.Task(ar.Topology("bcube:3,1"))] * 3)
        before = env.reset()[0]["rows"].copy()
        with self.assertRaisesRegex(ar.InputError, "environment 1: action 9999"):
            env.step([0, 9999, 0])
        np.testing.assert_array_equal(env.observations["rows"], before)

    def test_threads_of_python_do_not_meet(self):
        env = ar.VectorEnv([ar.Task(ar.Topology("dcell:3,1"))] * 32)
        env.reset()
        unexpected = []

        def hammer():
            for _ in range(50):
                try:
                    env.step(np.zeros(32, int))
                except ar.InputError as error:
                    if "another thread" not in str(error):
                        unexpected.append(error)

        threads = [threading.Thread(target=hammer) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(unexpected, [])


class ConventionTest(unittest.TestCase):
    def test_spaces_contain_what_is_seen(self):
        task = ar.Task(ar.Topology("bcube:3,1"))
        for level in ("lower", "upper", "joint"):
            env = make_env(level, task)
            observation, _ = env.reset(seed=1)
            for key in env.observation_space.spaces:
                self.assertIn(key, repr(env.observation_space))
            self.assertNotIn("None", repr(env.observation_space))
            self.assertEqual(set(observation), set(env.observation_space.spaces))
            for key, value in observation.items():
                self.assertEqual(np.shape(value), env.observation_space[key].shape or np.shape(value), key)
                self.assertTrue(env.observation_space[key].contains(value.astype(np.int8) if key == "mask" else value))
            env.step(env.action_space.sample(env.action_masks().astype(np.int8)))

    def test_refusals_name_the_thing(self):
        task = ar.Task(ar.Topology("bcube:3,1"))
        env = ar.LowerEnv(task)
        for what, call in {
            "expected reset": lambda: env.step(0),
            "options": lambda: env.reset(options={"colour": 1}),
            "no plan": env.plan,
            "shape": lambda: env.step([0, 1]),
            "kind": lambda: ar.Task(task.topology, kind="sideways"),
            "partner": lambda: ar.LowerEnv(task, "nobody"),
            "level": lambda: ar.VectorEnv([task], "middle"),
            "tasks": lambda: ar.VectorEnv([]),
            "None": lambda: ar.LowerEnv(None),
            "chunks": lambda: ar.Task(ar.Topology("fattree:16"), 60),
            "seeds": lambda: ar.VectorEnv([task]).reset(seed=[1, 2]),
            "environment 7": lambda: ar.VectorEnv([task]).plan(7),
        }.items():
            with self.assertRaisesRegex(ar.InputError, what):
                call()
        for call in (lambda: ar.Task(None), lambda: ar.LowerEnv("bcube:3,1")):
            with self.assertRaises(TypeError):
                call()

    def test_a_closed_environment(self):
        for env in (ar.LowerEnv(ar.Task(ar.Topology("bcube:3,1"))), ar.VectorEnv([ar.Task(ar.Topology("bcube:3,1"))])):
            env.reset()
            env.close()
            env.close()
            for call in (env.reset, lambda: env.step(env.action_space.sample()), env.action_masks):
                with self.assertRaisesRegex(ar.InputError, "closed"):
                    call()


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: GPL-2.0-only
"""The decisions of the two policies as environments with Gymnasium's calling convention.

An episode plans one AllReduce, a Task, and ends with a plan that the C++ verifier has passed. What may be done, and
what it earns, is decided by the C++ classes that --scheduler=hrl and allreduce-train use.
"""

import numpy as np

from . import _allreduce_env as _core
from .spaces import Box, Dict, Discrete, Env, MultiBinary, MultiDiscrete

OBSERVATION = ("rows", "mask", "choices", "head", "state")


def _make_games(level, tasks, partner, threads, auto_reset):
    """The C++ side of an environment. partner: who makes the decisions that are not the agent's."""
    kinds = {"lower": ("rule", "all", "random", "shipped"), "upper": ("rule", "random", "shipped"), "joint": ()}
    if level not in kinds:
        raise _core.InputError(f"level {level!r}: expected lower, upper or joint")
    policy, kind = None, "best"
    if isinstance(partner, _core.Policy):
        policy = partner
    elif partner == "shipped":
        policy = _core.Policy.shipped()
    elif partner == "rule" and level == "upper":
        policy = _core.Policy.rule_of_thumb()
    elif isinstance(partner, str) and (partner in kinds[level] or level == "joint"):
        kind = partner
    else:
        raise _core.InputError(f"partner {partner!r}: expected a Policy or one of {', '.join(kinds[level])}")
    return _core._Games(tasks, level, policy, kind, threads, auto_reset)


def _make_observation_space(games, shape):
    return Dict(
        {
            "rows": Box(-np.inf, np.inf, (*shape, games.n_choices, games.n_features)),
            "mask": MultiBinary((*shape, games.n_choices) if shape else games.n_choices),
            "choices": Box(-1, 2**31 - 1, (*shape, games.n_choices), np.int32),
            "head": MultiDiscrete([len(_core.HEADS)] * shape[0]) if shape else Discrete(len(_core.HEADS)),
            "state": Box(-np.inf, np.inf, (*shape, games.n_state_features)),
        }
    )


class DecisionEnv(Env):
    """One task, planned decision by decision. Use LowerEnv, UpperEnv or JointEnv.

    An observation is a dict of arrays, copied at each step:
      rows     features of each choice, then rows of zeros; features(HEADS[head]) names the columns in use
      mask     which choices there are
      choices  what they stand for: the directed link into a port, a sender, an item (chunk, or n_chunks + chunk for a
               partial sum), or a chunk with its tree; -1 where there is none
      head     which network of the policies would decide, by its index in HEADS
      state    what the critic of the policies sees, at the beginning of the round
    """

    def __init__(self, task, level, partner):
        self._games = _make_games(level, [task], partner, 1, False)
        self._arrays = self._games.arrays
        self._task = task
        self._episodes = 0
        self._seed = 1
        self.observation_space = _make_observation_space(self._games, ())
        n = self._games.n_choices
        self.action_space = MultiBinary(n) if level == "upper" else Discrete(n)

    def reset(self, *, seed=None, options=None):
        """Begin an episode. A seed begins a series of episodes, each of which has a seed of its own."""
        if options:
            raise _core.InputError(f"options {list(options)}: expected none")
        if seed is not None:
            self._seed, self._episodes = seed, 0
        self._games.reset([(self._seed + 0x9E3779B97F4A7C15 * self._episodes) % 2**64])
        self._episodes += 1
        return self._observe(), {"bound": self._task.bound}

    def step(self, action):
        """Decide. Returns observation, reward, terminated, truncated (never) and info: at the end the number of rounds."""
        actions = np.asarray(action)
        if actions.shape != self.action_space.shape:
            raise _core.InputError(f"action: shape {actions.shape}, expected {self.action_space.shape}")
        self._games.step(actions.reshape(-1))
        terminated = bool(self._arrays["terminated"][0])
        info = {"bound": self._task.bound}
        if terminated:
            info["rounds"] = int(self._arrays["rounds"][0])
        return self._observe(), float(self._arrays["rewards"][0]), terminated, False, info

    def action_masks(self):
        """Which choices there are: a copy of the observation's mask."""
        self._games.check()
        return self._arrays["mask"][0].copy()

    def plan(self):
        """The plan of the last episode that ended, verified."""
        return self._games.plan(0)

    def close(self):
        """Give up the environment: all else then raises InputError."""
        self._games.close()

    def _observe(self):
        return {key: self._arrays[key][0].copy() for key in OBSERVATION}


class LowerEnv(DecisionEnv):
    """Chooses the workloads of each round: a port, then who sends to it, then what is sent.

    An action is the number of a choice. upper selects the trees that come first: rule, all, random, shipped or a Policy.
    """

    def __init__(self, task, upper="rule"):
        super().__init__(task, "lower", upper)


class UpperEnv(DecisionEnv):
    """Selects the trees that come first, once in each round.

    An action has 1 or 0 for each choice. lower chooses the workloads: rule (of thumb), random, shipped or a Policy.
    """

    def __init__(self, task, lower="shipped"):
        super().__init__(task, "upper", lower)


class JointEnv(DecisionEnv):
    """Makes all decisions. A tree is a choice between 0 (no) and 1 (yes), with one row; trees come one after another."""

    def __init__(self, task):
        super().__init__(task, "joint", "best")


class VectorEnv:
    """Several tasks, one environment for each, stepped together in C++ threads.

    Observations, rewards, terminated and rounds are the same arrays at each step, written in place: copy what is to be
    kept. An environment whose plan is complete says so (terminated, rounds) and begins anew at once: what is observed
    is the new episode. The arguments upper and lower are those of LowerEnv and UpperEnv.
    """

    def __init__(self, tasks, level="lower", *, upper="rule", lower="shipped", threads=2):
        tasks = list(tasks)
        partner = {"lower": upper, "upper": lower}.get(level, "best")
        self._games = _make_games(level, tasks, partner, threads, True)
        self._arrays = self._games.arrays
        self.num_envs = len(tasks)
        self.tasks = tasks
        self.observations = {key: self._arrays[key] for key in OBSERVATION}
        self.truncated = np.zeros(self.num_envs, bool)
        self.bounds = np.array([task.bound for task in tasks])
        n = self._games.n_choices
        self.single_observation_space = _make_observation_space(self._games, ())
        self.single_action_space = MultiBinary(n) if level == "upper" else Discrete(n)
        self.observation_space = _make_observation_space(self._games, (self.num_envs,))
        self.action_space = (
            MultiBinary((self.num_envs, n)) if level == "upper" else MultiDiscrete([n] * self.num_envs)
        )

    def reset(self, *, seed=1, options=None):
        """Begin all episodes. seed: one number, from which those of the environments follow, or one for each."""
        if options:
            raise _core.InputError(f"options {list(options)}: expected none")
        seeds = [seed + i for i in range(self.num_envs)] if np.ndim(seed) == 0 else seed
        self._games.reset([int(s) % 2**64 for s in seeds])
        return self.observations, self._info()

    def step(self, actions):
        """Decide in all environments; in none if an action is wrong."""
        actions = np.asarray(actions)
        if actions.shape != self.action_space.shape:
            raise _core.InputError(f"actions: shape {actions.shape}, expected {self.action_space.shape}")
        self._games.step(actions)
        arrays = self._arrays
        return self.observations, arrays["rewards"], arrays["terminated"], self.truncated, self._info()

    def action_masks(self):
        """Which choices there are: the observation's mask, not copied."""
        self._games.check()
        return self._arrays["mask"]

    def plan(self, index):
        """The plan of the last episode of an environment that ended, verified."""
        return self._games.plan(index)

    def close(self):
        """Give up the environments: all else then raises InputError."""
        self._games.close()

    def _info(self):
        return {"rounds": self._arrays["rounds"], "bound": self.bounds}

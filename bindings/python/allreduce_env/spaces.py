# SPDX-License-Identifier: GPL-2.0-only
"""Gymnasium's spaces where it is installed, and light equivalents where it is not."""

import numpy as np

try:
    from gymnasium import Env
    from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete
except ImportError:

    class Env:
        """The methods of an environment that need nothing else."""

        metadata = {"render_modes": []}
        render_mode = None

        @property
        def unwrapped(self):
            return self

        def render(self):
            return None

    class Space:
        """The values that an action or an observation may have."""

        def __init__(self, shape, dtype):
            self.shape = shape
            self.dtype = None if dtype is None else np.dtype(dtype)
            self._random = np.random.default_rng()

        def seed(self, seed=None):
            self._random = np.random.default_rng(seed)

        def __repr__(self):
            return f"{type(self).__name__}({self.shape}, {self.dtype})"

    class Discrete(Space):
        """0 to n - 1."""

        def __init__(self, n):
            super().__init__((), np.int64)
            self.n = n

        def sample(self, mask=None):
            choices = np.arange(self.n) if mask is None else np.flatnonzero(mask)
            return self._random.choice(choices)

        def contains(self, x):
            return np.ndim(x) == 0 and 0 <= int(x) < self.n

    class MultiBinary(Space):
        """n times 0 or 1; n may be a shape."""

        def __init__(self, n):
            super().__init__((n,) if np.ndim(n) == 0 else tuple(n), np.int8)
            self.n = n

        def sample(self, mask=None):
            bits = self._random.integers(0, 2, self.shape).astype(self.dtype)
            return bits if mask is None else bits * np.asarray(mask, self.dtype)

        def contains(self, x):
            return np.shape(x) == self.shape and np.isin(x, (0, 1)).all()

    class MultiDiscrete(Space):
        """Each number from 0 to its own limit - 1."""

        def __init__(self, nvec):
            self.nvec = np.asarray(nvec, np.int64)
            super().__init__(self.nvec.shape, np.int64)

        def sample(self, mask=None):
            return self._random.integers(0, self.nvec)

        def contains(self, x):
            return np.shape(x) == self.shape and ((0 <= x) & (x < self.nvec)).all()

    class Box(Space):
        """Arrays between two numbers."""

        def __init__(self, low, high, shape, dtype=np.float32):
            super().__init__(shape, dtype)
            self.low = low
            self.high = high

        def sample(self, mask=None):
            low, high = max(self.low, -1), min(self.high, 1)
            return self._random.uniform(low, high, self.shape).astype(self.dtype)

        def contains(self, x):
            return np.shape(x) == self.shape and ((self.low <= x) & (x <= self.high)).all()

    class Dict(Space):
        """A space for each key."""

        def __init__(self, spaces):
            super().__init__(None, None)
            self.spaces = dict(spaces)

        def __repr__(self):
            return "Dict(" + ", ".join(f"{key!r}: {space}" for key, space in self.spaces.items()) + ")"

        def __getitem__(self, key):
            return self.spaces[key]

        def sample(self, mask=None):
            return {key: space.sample() for key, space in self.spaces.items()}

        def contains(self, x):
            return set(x) == set(self.spaces) and all(
                space.contains(x[key]) for key, space in self.spaces.items()
            )

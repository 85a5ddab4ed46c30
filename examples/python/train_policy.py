#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Trains the lower policy with PyTorch (PPO): train_policy.py [CHECKPOINT [ITERATIONS [SEED]]].
Then, for example: ALLREDUCE_POLICY=CHECKPOINT allreduce-run --scheduler=hrl --topology=dcell:4,1"""
import sys

import numpy as np
import torch
from torch import nn

import allreduce_env as ar

path, *numbers = sys.argv[1:] + ["own-policy.json", 40, 1][len(sys.argv) - 1 :]
iterations, seed = map(int, numbers)
STEPS, GAMMA, LAMBDA, CLIP, LOWER = 64, 0.97, 0.95, 0.2, ar.HEADS[:3]  # port, sender, item


def make_net(layers):
    """A network as checkpoints have it."""
    net = nn.Sequential()
    for weights, biases in layers:
        net.append(nn.Linear(*weights.shape)).append(nn.LeakyReLU(ar.LEAK))
        net[-2].weight.data, net[-2].bias.data = torch.from_numpy(weights.T.copy()), torch.from_numpy(biases)
    return net[:-1]


def decide(seen):
    """The probabilities of the choices, and the value of the state."""
    scores = torch.full(seen["mask"].shape, -torch.inf)
    for number, head in enumerate(LOWER):
        rows = (seen["head"] == number)[:, None] & seen["mask"]
        scores[rows] = nets[head](seen["rows"][rows][:, : len(ar.features(head))]).squeeze(-1)
    return torch.distributions.Categorical(logits=scores), nets["value"](seen["state"]).squeeze(-1)


def see(observations):
    return {key: torch.from_numpy(value).clone() for key, value in observations.items()}


@torch.no_grad()
def evaluate(tasks):
    """By task: rounds over the bound, when the best choice is always taken."""
    env, rounds = ar.VectorEnv(tasks), np.zeros(len(tasks))
    seen, _ = env.reset(seed=1)
    while not rounds.all():
        seen, _, terminated, _, info = env.step(decide(see(seen))[0].logits.argmax(1).numpy())
        rounds = np.where(terminated & (rounds == 0), info["rounds"], rounds)
    return rounds / env.bounds


def make_tasks(first):
    specs = ("bcube:3,1", "dcell:3,1", "bcube:2,2", "jellyfish:8,3,2")
    networks = [ar.Topology(spec, degrade=f"0.1,{first + i}") for i in range(4) for spec in specs]
    return [ar.Task(network, kind=kind) for network in networks for kind in ("forward", "mirrored")]


torch.manual_seed(seed)
torch.set_num_threads(1)  # the networks are small
policy, held_out = ar.Policy.untrained(seed), make_tasks(1000)
nets = nn.ModuleDict({head: make_net(policy.layers(head)) for head in (*LOWER, "value")})
optimizer = torch.optim.Adam(nets.parameters(), lr=2e-3)
before = evaluate(held_out)
env = ar.VectorEnv(2 * make_tasks(1))
seen = see(env.reset(seed=seed)[0])
for iteration in range(iterations):
    steps, gains = [], []
    with torch.no_grad():
        for _ in range(STEPS):
            choice, value = decide(seen)
            action = choice.sample()
            later, reward, over, _, _ = env.step(action.numpy())
            steps.append((seen, action, choice.log_prob(action), value, torch.tensor(reward), torch.tensor(over)))
            seen = see(later)
        gain, next_value = 0, decide(seen)[1]
        for _, _, _, value, reward, over in reversed(steps):
            gain = (reward - value + GAMMA * ~over * (next_value + LAMBDA * gain)).float()
            next_value, gains = value, [gain, *gains]
    was = {key: torch.cat([step[0][key] for step in steps]) for key in seen}
    actions, old, values = (torch.cat([step[i] for step in steps]) for i in (1, 2, 3))
    gains = torch.cat(gains)
    for part in torch.cat([torch.randperm(len(gains)) for _ in range(3)]).chunk(3 * 8):
        choice, value = decide({key: all_of[part] for key, all_of in was.items()})
        ratio, gain = (choice.log_prob(actions[part]) - old[part]).exp(), gains[part]
        loss = -torch.min(ratio * gain, ratio.clamp(1 - CLIP, 1 + CLIP) * gain).mean()
        loss += 0.5 * (value - values[part] - gain).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(nets.parameters(), 0.5)
        optimizer.step()
better = before - evaluate(held_out)
error = better.std(ddof=1) / len(better) ** 0.5
print(f"rounds over the bound: untrained {before.mean():.4f}, trained {(before - better).mean():.4f}")
print(f"better by {better.mean():.4f} on {len(held_out)} held-out tasks: {better.mean() / error:.1f} standard errors")
for head, net in nets.items():
    values = [part for layer in net[::2] for part in (layer.weight.T.flatten(), layer.bias)]
    policy.set_weights(head, torch.cat(values).detach().numpy())
policy.save(path, {"iterations": iterations, "seed": seed})
plan = ar.plan(ar.Topology("dcell:4,1"), "hrl", attributes={"Checkpoint": path})
print(f"wrote {path}: dcell:4,1 takes {plan.rounds} rounds, plan hash {plan.hash}")

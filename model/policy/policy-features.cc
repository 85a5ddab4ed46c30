/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "policy-features.h"

#include "ns3/allreduce-error.h"

namespace ns3::allreduce
{

namespace
{

using Layout = std::array<std::vector<std::string>, N_POLICY_HEADS>; //!< by head

const Layout MIRRORED_LAYOUT = {{
    // A port that could receive something.
    {
        "one over its possible senders",
        "possible senders, up to 8",
        "log of the chunks it could receive",
        "slack of its server",
        "share of chunks its server misses",
        "share of its server's ports still open",
        "one over the fewest ports that compete for a sender",
        "mean of one over the ports that compete for a sender",
        "distance of the nearest sender",
        "whether it is a direct link between servers",
        "options at its server's other ports, up to 16",
        "rarest chunk it could receive, against the mean",
        "whether its server has no slack left",
        "time, against the target",
        "share of its server's out-ports still free",
        "senders at the least distance, up to 8",
        "slack of its server's tightest region",
    },
    // A server that could send to the chosen port.
    {
        "one over the ports that compete for it",
        "ports that compete for it, up to 8",
        "its distance",
        "its distance, over the least one",
        "log of the chunks it could send",
        "rarest chunk it could send, against the mean",
        "share of its out-ports still free",
        "share of chunks it misses itself",
        "time, against the target",
        "whether it is a direct link between servers",
        "share of its chunks that are rarer than the mean",
        "one over the number of candidates",
        "sum of one over the free links at the switches on the way",
        "share of its in-ports still open",
        "share of ports with options",
        "largest demand for a link on the way",
        "sum of demands for the links on the way",
        "least slack of the regions that it would send into",
    },
    // A chunk that the chosen sender could send to the chosen port.
    {
        "share of servers that have it",
        "holders, against the mean",
        "holders, against the fewest",
        "share of the receiver's neighbors that lack it",
        "share of the servers two hops away that lack it",
        "the most lacking at one of the receiver's other ports",
        "share lacking it at this port",
        "share of the receiver's direct neighbors that lack it",
        "whether the receiver has direct neighbors",
        "time, against the target",
        "whether the sender had it from the start",
        "whether it has a single holder",
        "log of servers over holders",
        "holders won in this round",
        "slack of the receiver",
        "share of the receiver's neighbors that it newly comes near to",
        "share of those lacking it that it has come near to",
        "least slack of the regions that it would be new to",
    },
    // A flow-tree of a staggered broadcast that has not been begun.
    {
        "its place in turn, as a share",
        "time, against the target",
        "time, less its place",
        "share of trees begun",
        "share of trees begun and not complete",
        "trees begun that the neediest server lacks, up to 16",
        "share of trees begun that the neediest server lacks",
        "work, as a share of what all ports could do until the target",
        "log of the number of servers",
        "log of chunks over servers",
        "ports of a server",
        "ports of its root, against the most",
        "whether its root is narrow",
        "slack of the neediest server",
        "share of servers without slack",
        "share of trees whose root is narrow",
        "share of these that have begun",
    },
    // The whole state at the beginning of a round.
    {
        "time, against the target",
        "share of all transfers left",
        "mean slack",
        "least slack",
        "share of servers without slack",
        "share of servers with negative slack",
        "mean share of holders",
        "deviation of the share of holders",
        "least share of holders",
        "largest share of holders",
        "target, over the first one",
        "log of the number of servers",
        "ports of a server",
        "log of chunks over servers",
        "share of ports without options",
        "rounds left",
    },
}};

const Layout FORWARD_LAYOUT = {{
    // A port that could receive something.
    {
        "one over its possible senders",
        "possible senders, up to 8",
        "log of the items it could receive",
        "slack of its server",
        "share of final chunks its server misses",
        "share of its server's ports still open",
        "one over the fewest ports that compete for a sender",
        "mean of one over the ports that compete for a sender",
        "distance of the nearest sender",
        "whether it is a direct link between servers",
        "options at its server's other ports, up to 16",
        "rarest item it could receive",
        "whether its server has no slack left",
        "time, against the target",
        "share of its server's out-ports still free",
        "senders at the least distance, up to 8",
        "share of chunks its server has yet to send a partial sum of",
        "share of chunks its server is the root of and waits for",
    },
    // A server that could send to the chosen port.
    {
        "one over the ports that compete for it",
        "ports that compete for it, up to 8",
        "its distance",
        "its distance, over the least one",
        "log of the items it could send",
        "rarest item it could send",
        "share of its out-ports still free",
        "share of final chunks it misses itself",
        "time, against the target",
        "whether it is a direct link between servers",
        "share of its items that are partial sums",
        "one over the number of candidates",
        "sum of one over the free links at the switches on the way",
        "share of its in-ports still open",
        "share of ports with options",
        "largest demand for a link on the way",
        "sum of demands for the links on the way",
        "share of chunks it has yet to send a partial sum of",
        "its slack in sending",
        "whether it has something that the receiver waits for as a root",
    },
    // A final chunk or a partial sum that the chosen sender could send to the chosen port.
    {
        "time, against the target",
        "slack of the receiver",
        "whether it is a partial sum",
        "final: share of servers that have it",
        "final: holders, against the mean",
        "final: holders, against the fewest",
        "final: share of the receiver's neighbors that lack it",
        "final: share of the servers two hops away that lack it",
        "final: the most lacking at one of the receiver's other ports",
        "final: share lacking it at this port",
        "final: share of the receiver's direct neighbors that lack it",
        "final: log of servers over holders",
        "final: holders won in this round",
        "final: share of the receiver's neighbors that it newly comes near to",
        "partial: share of servers that have one",
        "partial: partial sums, against the mean",
        "partial: partial sums, against the fewest",
        "partial: log of partial sums",
        "partial: whether it is the last but the root's",
        "partial: whether the receiver is the root",
        "partial: hops from the receiver to the root",
        "partial: hops won towards the root",
        "partial: whether the root is a neighbor of the receiver",
        "partial: one over others the sender could merge with",
        "partial: others near the sender, up to 8",
        "partial: others near the receiver, up to 8",
        "partial: one over others near the root",
        "partial: whether it merges nothing",
        "partial: already on the way to the receiver",
    },
    // A flow-tree that is not complete.
    {
        "whether the sum is final",
        "share of servers that have the final sum",
        "share of servers that have a partial sum",
        "partial sums, against the mean",
        "partial sums, against the fewest",
        "holders, against the mean",
        "holders, against the fewest",
        "rank by transfers left",
        "time, against the target",
        "transfers left by rounds left",
        "log of partial sums",
        "log of servers over holders",
        "share of trees that are final",
        "share of all transfers left",
        "share of partial sums next to the root",
        "whether it was selected in the last round",
    },
    // The whole state at the beginning of a round.
    {
        "time, against the target",
        "share of all transfers left",
        "mean slack",
        "least slack",
        "share of servers without slack",
        "mean share of holders",
        "mean share of partial sums",
        "deviation of partial sums",
        "share of trees that are final",
        "share of trees that are complete",
        "target, over the first one",
        "log of the number of servers",
        "ports of a server",
        "log of chunks over servers",
        "share of ports without options",
        "rounds left",
    },
}};

} // namespace

const char*
GetPlanModeName(PlanMode mode)
{
    return mode == PlanMode::FORWARD ? "forward" : "mirrored";
}

PlanMode
ParsePlanMode(const std::string& name, const std::string& source)
{
    for (const PlanMode mode : {PlanMode::MIRRORED, PlanMode::FORWARD})
    {
        if (name == GetPlanModeName(mode))
        {
            return mode;
        }
    }
    FailInput(source, ": mode \"", name, "\", expected mirrored or forward");
}

const char*
GetPolicyHeadName(PolicyHead head)
{
    static const char* const names[N_POLICY_HEADS] = {"port", "sender", "chunk", "tree", "value"};
    return names[static_cast<std::size_t>(head)];
}

const std::vector<std::string>&
GetPolicyFeatures(PlanMode mode, PolicyHead head)
{
    const Layout& layout = mode == PlanMode::FORWARD ? FORWARD_LAYOUT : MIRRORED_LAYOUT;
    return layout[static_cast<std::size_t>(head)];
}

} // namespace ns3::allreduce

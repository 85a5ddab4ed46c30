/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "topology-builder.h"
#include "topology-generators.h"

namespace ns3::allreduce
{

namespace
{

/// @return "torus:4x4"
std::string
MakeName(const std::vector<uint32_t>& sides)
{
    std::string name = "torus:";
    for (std::size_t i = 0; i < sides.size(); ++i)
    {
        name += (i ? "x" : "") + std::to_string(sides[i]);
    }
    return name;
}

} // namespace

Topology
MakeTorus(const std::vector<uint32_t>& sides)
{
    TopologyBuilder builder(MakeName(sides));
    builder.Require(!sides.empty() && sides.size() <= 3,
                    sides.size(),
                    " dimensions, expected 1 to 3");
    uint64_t nServers = 1;
    for (const uint32_t side : sides)
    {
        builder.Require(side >= 1, "a side is 0, expected 1 or more");
        nServers = builder.CheckSize(nServers * side);
    }
    builder.Require(nServers >= 2, "one server, expected 2 or more");
    builder.CheckSize(nServers * sides.size());
    builder.AddServers(nServers);

    uint32_t stride = 1;
    for (const uint32_t side : sides)
    {
        for (NodeId server = 0; server < nServers; ++server)
        {
            const uint32_t place = server / stride % side;
            // Along a side of two, forwards and backwards lead to the same neighbor.
            if (place + 1 < side)
            {
                builder.AddLink(server, server + stride);
            }
            else if (side > 2)
            {
                builder.AddLink(server, server - (side - 1) * stride);
            }
        }
        stride *= side;
    }

    const uint32_t width = sides[0];
    const uint32_t height = sides.size() > 1 ? sides[1] : 1;
    const uint32_t depth = sides.size() > 2 ? sides[2] : 1;
    for (NodeId server = 0; server < nServers; ++server)
    {
        const double x = server % width;
        const double y = server / width % height;
        const double z = static_cast<double>(server / width / height) / depth;
        builder.Place(server, {(x + 0.1 + 0.8 * z) / width, (y + 0.1 + 0.8 * z) / height});
    }
    return builder.Build();
}

} // namespace ns3::allreduce

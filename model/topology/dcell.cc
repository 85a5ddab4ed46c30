/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "topology-builder.h"
#include "topology-generators.h"

#include <cmath>

namespace ns3::allreduce
{

namespace
{

/// A DCell in the making.
class DCellMaker
{
  public:
    /**
     * @param n servers in a DCell_0
     * @param k the level
     */
    DCellMaker(uint32_t n, uint32_t k)
        : m_n(n),
          m_builder("dcell:" + std::to_string(n) + "," + std::to_string(k))
    {
        m_builder.Require(n >= 2, "n is ", n, ", expected 2 or more");
        m_servers.push_back(m_builder.CheckSize(n));
        for (uint32_t level = 1; level <= k; ++level)
        {
            const uint64_t below = m_servers.back();
            m_servers.push_back(m_builder.CheckSize(below * (below + 1)));
        }
        m_builder.CheckSize(uint64_t{m_servers.back()} * (k + 1));
    }

    /// @return the network
    Topology Make()
    {
        m_builder.AddServers(m_servers.back());
        m_firstSwitch = m_builder.AddSwitches(m_servers.back() / m_n);
        Fill(m_servers.size() - 1, 0, {0.5, 0.5}, 0.48);
        return m_builder.Build();
    }

  private:
    /**
     * Link and place a cell.
     *
     * @param level the cell's level
     * @param first its first server
     * @param center where it is drawn
     * @param radius how far it reaches
     */
    void Fill(uint32_t level, NodeId first, Position center, double radius)
    {
        if (level == 0)
        {
            FillLowest(first, center, radius);
            return;
        }
        const uint32_t below = m_servers[level - 1];
        for (uint32_t cell = 0; cell <= below; ++cell)
        {
            Fill(level - 1,
                 first + cell * below,
                 OnCircle(center, 0.72 * radius, cell, below + 1),
                 std::min(0.28, 2.2 / (below + 1)) * radius);
        }
        for (uint32_t i = 0; i < below; ++i)
        {
            for (uint32_t j = i + 1; j <= below; ++j)
            {
                m_builder.AddLink(first + i * below + j - 1, first + j * below + i);
            }
        }
    }

    /**
     * Link and place a DCell_0: servers around their switch.
     *
     * @param first its first server
     * @param center where it is drawn
     * @param radius how far it reaches
     */
    void FillLowest(NodeId first, Position center, double radius)
    {
        const NodeId middle = m_firstSwitch + first / m_n;
        m_builder.Place(middle, center);
        for (uint32_t i = 0; i < m_n; ++i)
        {
            m_builder.AddLink(first + i, middle);
            m_builder.Place(first + i, OnCircle(center, radius, i, m_n));
        }
    }

    /// @return place i of n on a circle
    static Position OnCircle(Position center, double radius, uint32_t i, uint32_t n)
    {
        const double angle = 2 * std::acos(-1.0) * i / n;
        return {center.x + radius * std::cos(angle), center.y + radius * std::sin(angle)};
    }

    uint32_t m_n;                    //!< servers in a DCell_0
    TopologyBuilder m_builder;       //!< what has been made
    std::vector<uint32_t> m_servers; //!< servers in a cell, by level
    NodeId m_firstSwitch{0};         //!< the switch of the first DCell_0
};

} // namespace

Topology
MakeDCell(uint32_t n, uint32_t k)
{
    return DCellMaker(n, k).Make();
}

} // namespace ns3::allreduce

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PATH_TABLE_H
#define ALLREDUCE_PATH_TABLE_H

#include "ns3/allreduce-topology.h"

#include <boost/range/iterator_range.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace ns3::allreduce
{

/// The number of a path in a PathTable; Reverse(path) is the same path in the other direction.
using PathId = uint32_t;
/// Stands for no path.
constexpr PathId NO_PATH = UINT32_MAX;

/// @ingroup allreduce
/// Paths between servers over switches. They have numbers and are kept in flat arrays, so that
/// millions of workloads can share a few thousand of them.
class PathTable
{
  public:
    /// The directed links of a path.
    using Links = boost::iterator_range<const DirectedLinkId*>;

    /// @param topology the network, which must outlive the table
    explicit PathTable(const Topology& topology);

    /// @param links from one server to another, in this order @return the new path
    PathId Add(const std::vector<DirectedLinkId>& links);

    /// @return the number of paths, each counted in both directions
    std::size_t GetSize() const
    {
        return m_target.size();
    }

    /// @param path a path @return its links, valid until the next Add
    Links GetLinks(PathId path) const
    {
        return {m_links.data() + m_firstLink[path], m_links.data() + m_firstLink[path + 1]};
    }

    /// @param path a path @return the server where it ends
    NodeId GetTarget(PathId path) const
    {
        return m_target[path];
    }

    /// @param path a path @return the server where it begins
    NodeId GetSource(PathId path) const
    {
        return m_target[Reverse(path)];
    }

    /// @param path a path @param [out] nodes all its nodes, both ends included
    void GetNodes(PathId path, Path& nodes) const;

  private:
    const Topology& m_topology;
    std::vector<uint32_t> m_firstLink;   //!< by path: index in m_links; one more at the end
    std::vector<DirectedLinkId> m_links; //!< of all paths
    std::vector<NodeId> m_target;        //!< by path
};

/// @ingroup allreduce
/// A PathTable that has no path twice. A path and its reverse are two, if both were looked for.
class PathIndex : public PathTable
{
  public:
    using PathTable::PathTable;

    /// @param links see Add @return the path, which is a new one if it was not known
    PathId FindOrAdd(const std::vector<DirectedLinkId>& links);

  private:
    std::map<std::vector<DirectedLinkId>, PathId> m_known;
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_PATH_TABLE_H */

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_POLICY_CHECKPOINT_H
#define ALLREDUCE_POLICY_CHECKPOINT_H

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace ns3::allreduce
{

struct PolicyWeights;

/// @ingroup allreduce
/// Write the weights of the policies, with the layout of their features, the configuration and a
/// record of the training, as JSON. The file is replaced at once: it is never half written.
/// @param path where to write @param weights the weights
/// @param config how they were trained, any JSON @param record what happened in training, any JSON
/// @throws InputError if it cannot be written
void WriteCheckpoint(const std::string& path,
                     const PolicyWeights& weights,
                     const nlohmann::ordered_json& config,
                     const nlohmann::ordered_json& record);

/**
 * @ingroup allreduce
 * Read the weights from a checkpoint.
 *
 * @param path where it is
 * @return the weights
 * @throws InputError that says what the file is instead: not there, cut short, not a checkpoint, of
 *         another version or of another layout
 */
PolicyWeights ReadCheckpoint(const std::string& path);

/// @ingroup allreduce
/// ReadCheckpoint of a file that is open.
/// @param in the file @param path names it in messages @return the weights
/// @throws InputError that names it and what was expected
PolicyWeights ReadCheckpoint(std::istream& in, const std::string& path);

/// @ingroup allreduce
/// Find out early whether WriteFileAtomically can write a file; what is in it stays.
/// @param path where it would write @throws InputError if it cannot be written
void CheckWritable(const std::string& path);

/// @ingroup allreduce
/// Replace a file at once; what is not a file, such as a device, is written to.
/// @param path where to write @param text what to write @throws InputError if it cannot be written
void WriteFileAtomically(const std::string& path, const std::string& text);

/// @ingroup allreduce
/// @return where the shipped checkpoint is: the environment variable ALLREDUCE_POLICY if it is set,
///         else the file that was installed with the library or the one in the source tree
/// @throws InputError if there is none
std::string FindShippedCheckpoint();

} // namespace ns3::allreduce

#endif /* ALLREDUCE_POLICY_CHECKPOINT_H */

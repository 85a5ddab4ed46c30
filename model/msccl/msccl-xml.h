/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_MSCCL_XML_H
#define ALLREDUCE_MSCCL_XML_H

#include "ns3/allreduce-error.h"

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

struct _xmlDoc;
struct _xmlNode;
struct _xmlTextWriter;

namespace ns3::allreduce
{

/// @ingroup allreduce
/// An element of an XML file, and where it is.
class XmlElement
{
  public:
    /**
     * @param node the element, as libxml2 has it
     * @param where the file and the place in it, for messages
     */
    XmlElement(_xmlNode* node, std::string where);

    /// @param parts what is wrong with the element
    template <typename... Parts>
    [[noreturn]] void Fail(const Parts&... parts) const
    {
        FailInput(m_where, ": ", parts...);
    }

    /// @return whether there is such an attribute @param key its name
    bool HasAttribute(const std::string& key) const;

    /// @return an attribute @param key its name
    std::string GetText(const std::string& key) const;

    /**
     * @param key an attribute
     * @param low the least that is expected
     * @param high the most that is expected
     * @return the whole number that it is
     */
    int64_t GetNumber(const std::string& key, int64_t low, int64_t high) const;

    /**
     * @param key an attribute
     * @param separator what is between its numbers
     * @return the whole numbers
     */
    std::vector<uint32_t> GetNumbers(const std::string& key, char separator) const;

    /// @return the elements within, all of which must have that name @param name the name
    std::vector<_xmlNode*> GetChildren(const std::string& name) const;

  private:
    _xmlNode* m_node;    //!< the element
    std::string m_where; //!< the file, and the place in it
};

/// @ingroup allreduce
/// An XML file that has been read.
class XmlDocument
{
  public:
    /**
     * @param text the file
     * @param where its name, for messages
     * @throws InputError that names the line at which it is no XML, or is nested too deep
     */
    XmlDocument(const std::string& text, const std::string& where);

    /// @return the outermost element, which must have that name @param name the name
    _xmlNode* GetRoot(const std::string& name) const;

  private:
    std::string m_where;                                     //!< for messages
    std::unique_ptr<_xmlDoc, void (*)(_xmlDoc*)> m_document; //!< what libxml2 has made of it
};

/// @ingroup allreduce
/// Writes XML, indented.
class XmlWriter
{
  public:
    /// @param out where to write
    explicit XmlWriter(std::ostream& out);

    /// Begin an element in the present one. @param name its name @return this
    XmlWriter& Begin(const char* name);
    /// Add an attribute to the present element. @param key its name @param value it @return this
    XmlWriter& Set(const char* key, const std::string& value);
    /// Add an attribute to the present element. @param key its name @param value it @return this
    XmlWriter& Set(const char* key, int64_t value);
    /// End the present element.
    void End();

  private:
    std::unique_ptr<_xmlTextWriter, void (*)(_xmlTextWriter*)> m_writer; //!< does it
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_MSCCL_XML_H */

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "msccl-xml.h"

#include <charconv>
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <libxml/xmlwriter.h>
#include <limits>

namespace ns3::allreduce
{

namespace
{

/// @return text for libxml2
const xmlChar*
ToXml(const std::string& text)
{
    return reinterpret_cast<const xmlChar*>(text.c_str());
}

/// @return text of libxml2
std::string
FromXml(const xmlChar* text)
{
    return reinterpret_cast<const char*>(text);
}

/// Lets libxml2 write to a stream. @return the number of bytes written
int
WriteToStream(void* stream, const char* bytes, int count)
{
    static_cast<std::ostream*>(stream)->write(bytes, count);
    return count;
}

} // namespace

XmlElement::XmlElement(_xmlNode* node, std::string where)
    : m_node(node),
      m_where(std::move(where))
{
}

bool
XmlElement::HasAttribute(const std::string& key) const
{
    return xmlHasProp(m_node, ToXml(key)) != nullptr;
}

std::string
XmlElement::GetText(const std::string& key) const
{
    const std::unique_ptr<xmlChar, void (*)(void*)> value(xmlGetProp(m_node, ToXml(key)), xmlFree);
    if (!value)
    {
        Fail("no attribute \"", key, "\"");
    }
    return FromXml(value.get());
}

int64_t
XmlElement::GetNumber(const std::string& key, int64_t low, int64_t high) const
{
    const std::string text = GetText(key);
    int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [last, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || last != end || number < low || number > high)
    {
        Fail(key, "=", Quote(text), ", expected a number from ", low, " to ", high);
    }
    return number;
}

std::vector<uint32_t>
XmlElement::GetNumbers(const std::string& key, char separator) const
{
    const std::string text = GetText(key);
    std::vector<uint32_t> numbers;
    const char* next = text.data();
    const char* const end = text.data() + text.size();
    while (true)
    {
        const auto [last, error] = std::from_chars(next, end, numbers.emplace_back());
        if (error != std::errc() || (last != end && *last != separator))
        {
            Fail(key, "=", Quote(text), ", expected numbers with ", separator, " between them");
        }
        if (last == end)
        {
            return numbers;
        }
        next = last + 1;
    }
}

std::vector<_xmlNode*>
XmlElement::GetChildren(const std::string& name) const
{
    std::vector<_xmlNode*> children;
    for (xmlNode* child = xmlFirstElementChild(m_node); child; child = xmlNextElementSibling(child))
    {
        if (FromXml(child->name) != name)
        {
            Fail("element <", Shorten(FromXml(child->name)), ">, expected <", name, ">");
        }
        children.push_back(child);
    }
    return children;
}

XmlDocument::XmlDocument(const std::string& text, const std::string& where)
    : m_where(where),
      m_document(nullptr, xmlFreeDoc)
{
    // Without XML_PARSE_HUGE libxml2 bounds depth and what entities grow to.
    constexpr int OPTIONS = XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING;
    const std::unique_ptr<xmlParserCtxt, void (*)(xmlParserCtxt*)> parser(xmlNewParserCtxt(),
                                                                          xmlFreeParserCtxt);
    if (text.size() > std::numeric_limits<int>::max())
    {
        FailInput(where, ": expected less than 2 GiB");
    }
    std::string fault;
    parser->_private = &fault;
    // The first error says what is wrong, those after it follow from it.
    parser->sax->serror = [](void* context, auto error) {
        auto* const stopped = static_cast<xmlParserCtxt*>(context);
        std::string& first = *static_cast<std::string*>(stopped->_private);
        if (error->level == XML_ERR_FATAL && first.empty())
        {
            const std::string message = error->message;
            first = std::to_string(error->line) + ": " +
                    Shorten(message.substr(0, message.find_last_not_of(" \n") + 1));
            xmlStopParser(stopped);
        }
    };
    m_document.reset(
        xmlCtxtReadMemory(parser.get(), text.data(), text.size(), nullptr, nullptr, OPTIONS));
    if (!m_document)
    {
        FailInput(where, ":", fault);
    }
}

_xmlNode*
XmlDocument::GetRoot(const std::string& name) const
{
    xmlNode* const root = xmlDocGetRootElement(m_document.get());
    if (FromXml(root->name) != name)
    {
        FailInput(m_where, ": no element <", name, ">");
    }
    return root;
}

XmlWriter::XmlWriter(std::ostream& out)
    : m_writer(xmlNewTextWriter(xmlOutputBufferCreateIO(WriteToStream, nullptr, &out, nullptr)),
               xmlFreeTextWriter)
{
    xmlTextWriterSetIndent(m_writer.get(), 1);
    xmlTextWriterSetIndentString(m_writer.get(), ToXml("  "));
}

XmlWriter&
XmlWriter::Begin(const char* name)
{
    xmlTextWriterStartElement(m_writer.get(), ToXml(name));
    return *this;
}

XmlWriter&
XmlWriter::Set(const char* key, const std::string& value)
{
    xmlTextWriterWriteAttribute(m_writer.get(), ToXml(key), ToXml(value));
    return *this;
}

XmlWriter&
XmlWriter::Set(const char* key, int64_t value)
{
    return Set(key, std::to_string(value));
}

void
XmlWriter::End()
{
    xmlTextWriterEndElement(m_writer.get());
}

} // namespace ns3::allreduce

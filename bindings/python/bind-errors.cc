/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "bindings.h"

#include <cstring>

namespace ns3::allreduce::python
{

namespace
{

/// Python's InputError; the interpreter keeps it to its end.
PyObject* g_inputError = nullptr;

/// What a message quotes need not be UTF-8.
void
SetError(PyObject* type, const char* message)
{
    const auto text = py::reinterpret_steal<py::object>(
        PyUnicode_DecodeUTF8(message, std::strlen(message), "backslashreplace"));
    PyErr_SetObject(type, text.ptr());
}

} // namespace

void
BindErrors(py::module_& module)
{
    g_inputError = PyErr_NewExceptionWithDoc(
        "allreduce_env.InputError",
        "What was given is not usable. The message names it and says what was expected.",
        PyExc_ValueError,
        nullptr);
    module.add_object("InputError", py::handle(g_inputError));
    py::register_exception_translator([](std::exception_ptr error) {
        try
        {
            std::rethrow_exception(error);
        }
        catch (const InputError& e)
        {
            SetError(g_inputError, e.what());
        }
    });
}

} // namespace ns3::allreduce::python

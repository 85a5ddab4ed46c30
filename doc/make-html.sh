#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds the manual for the browser, with search and figures, and the documentation of the classes beside it.
# Needs Sphinx and Doxygen (Debian: python3-sphinx doxygen). Warnings are errors.
# Usage: make-html.sh [FOLDER], build/html by default.

set -euo pipefail
module_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${1:-$module_dir/build/html}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$module_dir"

# What overrides a function of ns-3 is documented there.
make_classes()
{
    local headers
    headers=$(sed -n '/^set(.*header_files/,/^)/s/^ *\(.*\.h\)$/\1/p' CMakeLists.txt | xargs)
    [[ -n $headers ]]
    cat >"$scratch/Doxyfile" <<END
PROJECT_NAME = allreduce
PROJECT_NUMBER = $(<VERSION)
INPUT = $headers examples/common
OUTPUT_DIRECTORY = $scratch/doxygen
GENERATE_LATEX = NO
HAVE_DOT = NO
QUIET = YES
WARN_NO_PARAMDOC = YES
WARN_LOGFILE = $scratch/doxygen.log
END
    doxygen "$scratch/Doxyfile" >/dev/null
    if grep warning "$scratch/doxygen.log" | grep -v ' override (function) of ' | sort -u | grep .; then
        return 1
    fi
    rm -rf "$folder/classes"
    mv "$scratch/doxygen/html" "$folder/classes"
}

# In ns-3's own documentation the manual's pages get |ns3| from ns-3's replace.txt.
make_manual()
{
    local source=$scratch/manual
    mkdir "$source"
    cp -r doc/. "$source"
    sed -i '/replace.txt/d' "$source"/*.rst
    cat >"$source/conf.py" <<END
project = "allreduce"
release = "$(<VERSION)"
rst_prolog = ".. |ns3| replace:: *ns-3*"
html_show_copyright = False
html_theme_options = {"page_width": "1300px"}
html_sidebars = {"**": ["searchbox.html", "globaltoc.html"]}
END
    cat >"$source/index.rst" <<END
allreduce
=========

An |ns3| module that plans AllReduces for data-centre networks, proves the plans, bounds them and runs them packet by
packet.

.. toctree::

   allreduce

Classes, functions and files are described \`on pages of their own <classes/index.html>\`__.
END
    sphinx-build -q -n -W --keep-going -b html "$source" "$folder"
}

mkdir -p "$folder"
make_manual
make_classes
echo "wrote $folder/index.html"

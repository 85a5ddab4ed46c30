#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Checks the texts: runs the shell commands and compiles the C++ of README.md and doc/tutorial.rst, looks for
# the files that they name, lets codespell, Sphinx and Doxygen complain, and draws the plots. Expects the standalone build.
#
# A block of code may have a comment before it (in README.md <!-- ... -->, in doc/tutorial.rst .. ...):
#   file: NAME        the block is the file NAME, for the blocks after it
#   not run: REASON   the block is left out
# Blocks are run in order, each in a shell of its own, in a folder that looks like the root of the module.

set -euo pipefail
# shellcheck source=utils/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
make_scratch
cd "$module_dir"
texts=(README.md CONTRIBUTING.md CHANGES.md policies/README.md doc/*.rst)

# Usage: split_blocks TEXT FOLDER: writes the blocks as 01-sh, 02-cpp, 03-file, ..., each beginning with a
# line that says where it is from.
split_blocks()
{
    python3 - "$@" <<'END'
import re
import sys
import textwrap

text, folder = sys.argv[1:]
lines = open(text).read().split("\n")
comment = re.compile(r"(?:<!--|\.\.) (file|not run): (.*?)(?: -->)?$")
language_of = {"bash": "sh", "sh": "sh", "cpp": "cpp"}
blocks = []
mark = None
i = 0
while i < len(lines):
    line = lines[i]
    i += 1
    found = comment.match(line)
    fence = re.match(r"```(\w+)$", line)
    directive = re.match(r"\.\. code-block:: (\w+)$", line)
    begin = i
    if found:
        mark = found.groups()
        continue
    if fence:
        while lines[i] != "```":
            i += 1
        body = lines[begin:i]
        i += 1
    elif directive:
        while i < len(lines) and (not lines[i] or lines[i].startswith(" ")):
            i += 1
        body = lines[begin:i]
    else:
        assert not line.startswith("```"), f"{text}:{i}: a block without a language"
        continue
    kind = language_of.get((fence or directive).group(1))
    code = textwrap.dedent("\n".join(body)).strip("\n") + "\n"
    if mark and mark[0] == "file":
        blocks.append(("file", mark[1], code))
    elif kind and not mark:
        blocks.append((kind, f"{text}:{begin}", code))
    mark = None
for number, (kind, place, code) in enumerate(blocks):
    with open(f"{folder}/{number:02}-{kind}", "w") as out:
        out.write(place + "\n" + code)
END
}

# A reader is not to overwrite a file of the module.
make_file()
{
    [[ ! -e $2 ]] && mkdir -p "$(dirname "$2")" && cp "$1" "$2"
}

run_block()
{
    (cd "$1" && limited bash -euxo pipefail "$2")
}

# What has no include is the body of a function in a simulation script.
compile_block()
{
    if ! grep -q '#include' "$1"; then
        { printf '#include "ns3/allreduce-module.h"\nusing namespace ns3;\nusing namespace ns3::allreduce;\nvoid Snippet()\n{\n'
            cat "$1"
            echo '}'; } >"$1.cc"
    else
        cp "$1" "$1.cc"
    fi
    local flags
    flags=$(python3 - "$build_dir/compile_commands.json" <<'END'
import json
import re
import sys

for entry in json.load(open(sys.argv[1])):
    if entry["file"].endswith("examples/allreduce-plan.cc"):
        print(*re.findall(r"-(?:I|D|std=)\S+|-isystem \S+", entry["command"]))
END
    )
    # shellcheck disable=SC2086
    c++ $flags -Wall -fsyntax-only "$1.cc"
}

# Usage: check_blocks TEXT
check_blocks()
{
    local text=$1 blocks=$scratch/blocks-${1##*/} root=$scratch/root-${1##*/} block kind place file
    mkdir -p "$blocks" "$root"
    for file in "$module_dir"/*; do
        [[ ${file##*/} == build* ]] || ln -s "$file" "$root"
    done
    ln -s "$build_dir" "$root/build"
    check "$text has blocks" split_blocks "$text" "$blocks"
    for block in "$blocks"/*; do
        kind=${block##*-}
        place=$(head -n 1 "$block")
        tail -n +2 "$block" >"$scratch/code"
        case $kind in
        file) check "$text: $place is new" make_file "$scratch/code" "$root/$place" ;;
        sh) check "$place runs" run_block "$root" "$scratch/code" ;;
        cpp) check "$place compiles" compile_block "$scratch/code" ;;
        esac
    done
}

# Links, and what is in the form of a path in the module.
names_exist()
{
    local text=$1 name status=0
    for name in $(grep -oP '\]\(\K[^)#]+' "$text" | grep -v '^https\?:') \
        $(grep -oP '(?<!\w|/|-|\.)(doc|examples|helper|model|policies|test|utils|wscript-compat)/[\w./-]*\w' "$text"); do
        [[ -e $module_dir/$name || -e $module_dir/$(dirname "$text")/$name ]] || {
            echo "$text names $name, which is not there"
            status=1
        }
    done
    return "$status"
}

# Some names in the code look like misspelt words: iif, InPort, mostY.
spelled()
{
    module_files | grep -Ev '\.json$|^LICENSE$' | xargs codespell --ignore-words-list=fro,iif,inport,mosty
}

# Every figure is shown somewhere. That those shown are there is Sphinx's to say.
figures_shown()
{
    local file name status=0
    for file in doc/figures/*; do
        name=figures/$(basename "$file" .png)
        grep -qF "$name" README.md doc/*.rst || {
            echo "no text shows doc/$name.png"
            status=1
        }
    done
    return "$status"
}

# In ns-3's own documentation the manual's pages get |ns3| from ns-3's replace.txt.
sphinx()
{
    local source=$scratch/sphinx
    mkdir "$source"
    cp -r "$module_dir"/doc/. "$source"
    printf 'allreduce\n=========\n\n.. toctree::\n\n   allreduce\n' >"$source/index.rst"
    echo "rst_prolog = '.. |ns3| replace:: *ns-3*'" >"$source/conf.py"
    sed -i '/replace.txt/d' "$source"/*.rst
    limited sphinx-build -q -n -W --keep-going -b html "$source" "$scratch/sphinx-html"
}

# What overrides a function of ns-3 is documented there.
doxygen_public()
{
    local headers
    headers=$(sed -n '/^set(.*header_files/,/^)/s/^ *\(.*\.h\)$/\1/p' CMakeLists.txt | xargs)
    [[ -n $headers ]] || return 1
    cat >"$scratch/Doxyfile" <<END
PROJECT_NAME = allreduce
INPUT = $headers examples/common
OUTPUT_DIRECTORY = $scratch/doxygen
GENERATE_LATEX = NO
HAVE_DOT = NO
QUIET = YES
WARN_NO_PARAMDOC = YES
WARN_LOGFILE = $scratch/doxygen.log
END
    limited doxygen "$scratch/Doxyfile" >/dev/null
    ! grep warning "$scratch/doxygen.log" | grep -v ' override (function) of ' | sort -u | grep .
}

check_blocks README.md
if [[ -x $build_dir/bin/allreduce-train ]]; then
    check_blocks doc/tutorial.rst
else
    skip "doc/tutorial.rst: there is no LibTorch"
fi
for text in "${texts[@]}"; do
    check "$text names what is there" names_exist "$text"
done
check "figures are shown" figures_shown
for tool in codespell sphinx-build doxygen gnuplot; do
    command -v "$tool" >/dev/null || {
        skip "$tool: not installed"
        continue
    }
    case $tool in
    codespell) check "codespell" spelled ;;
    sphinx-build) check "Sphinx without warnings" sphinx ;;
    doxygen) check "Doxygen without warnings" doxygen_public ;;
    gnuplot) check "figures can be made" limited doc/make-figures.sh "$scratch/figures" plots ;;
    esac
done
report

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Checks the texts: runs the shell commands, the session in Python and compiles the C++ of README.md and of pages of the
# manual, looks for the files that they name, lets codespell, Sphinx and Doxygen complain, and draws the plots. Expects the standalone build.
#
# A block of code may have a comment before it (in README.md <!-- ... -->, in the manual .. ...):
#   file: NAME        the block is the file NAME, for the blocks after it
#   not run: REASON   the block is left out
# Blocks are run in order, each in a shell of its own, in a folder that looks like the root of the module. What a
# block of text shows has been printed by the command before it. So have the numbers of a paragraph with the comment
#   numbers: here     (by the command before it)
#   numbers: COMMAND  (by this one)
# and those of a table with the comment
#   table: COMMAND    (rows of JSON; see utils/check-numbers.py)

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
comment = re.compile(r"(?:<!--|\.\.) (file|not run|numbers|table): (.*?)(?: -->)?$")
language_of = {"bash": "sh", "sh": "sh", "cpp": "cpp", "text": "text"}
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
        if mark[0] in ("numbers", "table"):
            while i < len(lines) and not lines[i]:
                i += 1
            begin = i
            while i < len(lines) and lines[i]:
                i += 1
            blocks.append((mark[0], mark[1], "\n".join(lines[begin:i]) + "\n"))
            mark = None
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

# What it prints is kept for the blocks that show it.
run_block()
{
    (cd "$1" && limited bash -euxo pipefail "$2" 2>&1 | tee "$scratch/output")
}

# Usage: same_numbers KIND BLOCK ROOT COMMAND
same_numbers()
{
    local output=$scratch/output
    if [[ $4 != here ]]; then
        output=$scratch/output-of-comment
        (cd "$3" && limited bash -euo pipefail -c "$4") >"$output"
    fi
    "$module_dir/utils/check-numbers.py" "$1" "$2" "$output"
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
        text) check "$place is printed" same_numbers lines "$scratch/code" "$root" here ;;
        numbers | table) check "$text: numbers of $place" same_numbers "$kind" "$scratch/code" "$root" "$place" ;;
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

# Every link within the manual leads somewhere. Those to other hosts are not tried: CI has no internet.
links_lead_somewhere()
{
    python3 - "$scratch/html" <<'END'
import html.parser
import pathlib
import sys
import urllib.parse

root = pathlib.Path(sys.argv[1])
wrong = []


class Links(html.parser.HTMLParser):
    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            address = urllib.parse.urlsplit(value or "")
            if name in ("href", "src") and not address.scheme and not address.netloc and address.path:
                target = self.page.parent / urllib.parse.unquote(address.path)
                if not target.exists():
                    wrong.append(f"{self.page.relative_to(root)}: no {value}")


pages = [page for page in root.glob("*.html")]
assert len(pages) > 5
for page in pages:
    parser = Links()
    parser.page = page
    parser.feed(page.read_text())
print(*wrong, sep="\n")
sys.exit(1 if wrong else 0)
END
}

# Else LibTorch and OpenBLAS choose what they compute with by the processor, and training comes out differently.
export ATEN_CPU_CAPABILITY=default OPENBLAS_CORETYPE=Haswell
check_blocks README.md
check_blocks doc/allreduce-schedulers.rst
check_blocks doc/allreduce-results-plans.rst
if [[ -x $build_dir/bin/allreduce-train ]]; then
    check_blocks doc/tutorial.rst
else
    skip "doc/tutorial.rst: there is no LibTorch"
fi
if has_python_package; then
    mkdir "$scratch/bin"
    ln -s "$(find_python)" "$scratch/bin/python3"
    PATH=$scratch/bin:$PATH check_blocks doc/allreduce-python.rst
    check "doc/allreduce-python.rst: the session" run_python -m doctest -o ELLIPSIS doc/allreduce-python.rst
else
    skip "doc/allreduce-python.rst: the Python package was not built"
fi
for text in "${texts[@]}"; do
    check "$text names what is there" names_exist "$text"
done
check "figures are shown" figures_shown
if command -v sphinx-build >/dev/null && command -v doxygen >/dev/null; then
    check "the manual and the classes as HTML, without warnings" limited doc/make-html.sh "$scratch/html"
    check "links of the manual" links_lead_somewhere
else
    skip "the manual as HTML: there is no Sphinx or no Doxygen"
fi
for tool in codespell gnuplot; do
    command -v "$tool" >/dev/null || {
        skip "$tool: not installed"
        continue
    }
    case $tool in
    codespell) check "codespell" spelled ;;
    gnuplot) check "figures can be made" limited doc/make-figures.sh "$scratch/figures" plots ;;
    esac
done
report

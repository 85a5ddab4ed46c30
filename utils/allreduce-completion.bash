# SPDX-License-Identifier: GPL-2.0-only
#
# Completes the options of the programs in bash. Options, schedulers, policies and topologies are read from a
# program's own --help, so that nothing has to be changed here when there are more of them.

# Usage: _allreduce_values HELP OPTION: the values that the option takes, of which its help is a list.
_allreduce_values()
{
    local text
    text=$(sed -n "/^  $2 /,/^  --/p" <<<"$1" | sed '1!{/^  --/d}' | tr -s '\n ' ' ')
    case $2 in
    --control) echo ideal packets ;;
    --format) echo table json csv gnuplot ;;
    --sync) echo barrier dependency ;;
    --topology) grep -oE '[a-z]+:[A-Z]' <<<"$text" | sed 's/.$//' ;;
    --policy | --scheduler | --transport)
        text=${text%, or a TypeId*}
        grep -oE '[a-z][a-z-]*,' <<<"${text% }," | tr -d ,
        ;;
    esac
}

_allreduce()
{
    local help word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} option= list=
    help=$("$1" --help 2>/dev/null) || return
    if [[ $word == = ]]; then
        option=$before word=
    elif [[ $before == = ]]; then
        option=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    option=${option/#--schedulers/--scheduler}
    option=${option/#--topologies/--topology}
    case $option in
    '')
        mapfile -t COMPREPLY < <(compgen -W "$(grep -oE '^  --[a-z0-9-]+' <<<"$help")" -- "$word")
        compopt -o nospace 2>/dev/null || true # outside of a completion there is nothing to change
        ;;
    --control | --format | --policy | --scheduler | --sync | --topology | --transport)
        [[ $word != *,* ]] || list=${word%,*},
        mapfile -t COMPREPLY < <(compgen -W "$(_allreduce_values "$help" "$option")" -P "$list" -- "${word##*,}")
        [[ $option != --topology ]] || compopt -o nospace 2>/dev/null || true
        ;;
    *) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    esac
}

complete -F _allreduce allreduce-{cluster,compare,plan,run,topology,train}

# SPDX-License-Identifier: MIT
# For bash: asks rotactl what can stand here, so that it knows what the installed one and its rotad know; not a program
# of that name that the line has a path to, which nobody has started yet.
_rotactl() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
            $'\tfile') compopt -o default ;;
            $'\tfolder') compopt -o dirnames ;;
            *) COMPREPLY+=("${line%%$'\t'*}") ;;
        esac
    done < <(command rotactl complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null </dev/null)
}
complete -F _rotactl rotactl

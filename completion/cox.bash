# SPDX-License-Identifier: Apache-2.0
# bash completion for cox: asks the program itself.
_cox() {
  local cur=${COMP_WORDS[COMP_CWORD]} line
  [[ $cur == "=" ]] && cur=
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :file) compopt -o filenames; mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$cur") ;;
      :folder) compopt -o filenames; mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$cur") ;;
      :command) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -c -f -- "$cur") ;;
      *) COMPREPLY+=("${line%%$'\t'*}") ;;
    esac
  done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _cox cox

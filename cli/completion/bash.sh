# Completion of gnomon for bash; made by `gnomon completion bash`.

# What begins as the current word does, of files or folders; a name with spaces stays one.
_gnomon_files() {
  mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen "$1" -- "$cur")
  compopt -o filenames 2>/dev/null
}

# The same of a list. After one of the signs $1 a word goes on with another: rope+alibi.
_gnomon_words() {
  local before=
  [[ -n $1 && $cur == *[$1]* ]] && before=${cur%"${cur##*[$1]}"}
  local typed=${cur#"$before"} word
  for word in $2; do
    [[ $word == "$typed"* ]] && COMPREPLY+=("$before$word")
  done
  [[ -n $1 || $2 == *= ]] && compopt -o nospace 2>/dev/null
  return 0
}

_gnomon_offer() {
  case $1 in
%%OFFERS
  esac
}

_gnomon() {
  local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} path=gnomon i
  local kind= flags= commands= kinds=()
  COMPREPLY=()
  cur=${cur#[\"\']}
  [[ $cur == = ]] && cur= # `--out=` is two words
  [[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD - 2]}
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$path ${COMP_WORDS[i]}" in
%%PATHS
    esac
  done
  case "$path $before" in
%%VALUES
  esac
  if [[ -n $kind ]]; then
    _gnomon_offer "$kind"
    return
  fi
  case $path in
%%COMMANDS
  esac
  if [[ $cur == -* ]]; then
    _gnomon_words '' "$flags"
    return
  fi
  [[ -n $commands ]] && _gnomon_words '' "$commands"
  for kind in "${kinds[@]}"; do
    _gnomon_offer "$kind"
  done
}

complete -F _gnomon gnomon

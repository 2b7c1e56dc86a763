#compdef gnomon
# Completion of gnomon for zsh; made by `gnomon completion zsh`.

# Words of a list. After one of the signs $1 a word goes on with another: rope+alibi.
_gnomon_words() {
  local -a all=(${=2})
  if [[ -n $1 ]]; then
    compset -P "*[$1]"
    compadd -S '' -a all
  elif [[ $2 == *= ]]; then
    compadd -S '' -a all
  else
    compadd -a all
  fi
}

_gnomon_offer() {
  case $argv[-1] in
%%OFFERS
  esac
}

%%FUNCTIONS

if [[ $funcstack[1] == _gnomon ]]; then
  _gnomon "$@"
else
  compdef _gnomon gnomon
fi

#compdef snowgrid
# Completion of snowgrid for zsh, by: source <(snowgrid completion zsh)
_snowgrid() {
  local -a found
  found=("${(@f)$(snowgrid __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then
    compadd -a found
  else
    _files
  fi
}
if [[ "$funcstack[1]" == _snowgrid ]]; then
  _snowgrid "$@"
else
  compdef _snowgrid snowgrid
fi

# Completion of snowgrid for bash, by: source <(snowgrid completion bash)
_snowgrid() {
  local IFS=$'\n'
  COMPREPLY=($(snowgrid __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _snowgrid snowgrid

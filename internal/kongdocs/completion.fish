# Completion of snowgrid for fish, by: snowgrid completion fish | source
function __snowgrid_complete
    set -l words (commandline -opc)
    set -l found (snowgrid __complete -- $words[2..-1] (commandline -ct) 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c snowgrid -f -a '(__snowgrid_complete)'

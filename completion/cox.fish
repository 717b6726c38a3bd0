# SPDX-License-Identifier: Apache-2.0
# fish completion for cox: asks the program itself.
function __cox_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in ($words[1] __complete $words[2..-1] 2>/dev/null)
        switch $line
            case ':file' ':command'
                __fish_complete_path (commandline -ct)
            case ':folder'
                __fish_complete_directories (commandline -ct)
            case '*'
                echo $line
        end
    end
end
complete -c cox -f -a '(__cox_complete)'

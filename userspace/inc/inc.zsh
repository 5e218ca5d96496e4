#compdef inc
# SPDX-License-Identifier: GPL-2.0-only
# zsh completion for inc(8): what bash's says

local -a found
found=(${(f)"$(bash /usr/share/bash-completion/completions/inc "${(@)words[1,CURRENT]}" 2>/dev/null)"})
(( $#found )) && compadd -a found || _default

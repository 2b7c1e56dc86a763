# Completion of gnomon for fish; made by `gnomon completion fish`.

# Whether what was typed so far is of this command: `gnomon study status`.
function __gnomon_at
  set -l path gnomon
  for word in (commandline -opc)[2..-1]
    switch "$path $word"
%%PATHS
        set path "$path $word"
    end
  end
  test "$path" = "$argv"
end

# A word that goes on with another: rope+alibi.
function __gnomon_goes_on
  set -l before (string replace -r '[^+(,[]*$' '' -- (commandline -ct))
  for word in (string split ' ' -- $argv)
    echo -- "$before$word"
  end
end

complete -c gnomon -f
%%COMMANDS

# Sourced with $root set by bin/* and scripts/*: the way to the private environment (P-1).

# Leaves the environment's folder in $environment, made if need be, or ends the script.
set_up() {
    find_environment "$@" && return
    if ! find_python; then
        echo 'helix: no Python 3.11 or newer on PATH' >&2
        echo '  install one (Debian, Ubuntu: apt install python3 python3-venv), then try again' >&2
        exit 1
    fi
    environment=$("$python" -I "$root/scripts/bootstrap.py" "$@" "$environment" </dev/null) || exit
}

# Becomes what speaks to an MCP client until the server can, which takes a while to start (P-7).
greet() {
    if find_environment; then
        python=$environment/bin/python
    elif ! find_python; then
        return
    fi
    exec "$python" -I -S "$root/scripts/greeter.py" "$root/bin/helix"
}

# Whether one is there and holds all that is wanted; if not, $environment is where it may be made.
find_environment() {
    root=$(CDPATH='' cd -P "$root" && pwd) || exit
    case ${1-} in
    --dev) stamp=.ready-dev ;;
    *) stamp=.ready ;;
    esac
    environment=$root/.venv
    is_ready && return

    case ${XDG_CACHE_HOME-} in
    /*) cache=$XDG_CACHE_HOME ;;
    *) cache=${HOME-}/.cache ;;
    esac
    digest=$(printf %s "$root" | cksum)
    environment=$cache/helix/env-${digest%% *}
    is_ready
}

is_ready() {
    [ "$environment/$stamp" -nt "$root/pyproject.toml" ] && [ -x "$environment/bin/python" ]
}

find_python() {
    for python in python3 python3.14 python3.13 python3.12 python3.11 python; do
        "$python" -I -S -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && return
    done
    return 1
}

# Becomes the named package's command.
start() {
    main=$root/src/$1/__main__.py
    shift
    if [ "$environment" = "$root/.venv" ]; then
        exec "$environment/bin/python" -I -S "$main" "$@"
    fi
    # A read-only checkout cannot keep bytecode beside its sources.
    exec "$environment/bin/python" -I -S -X pycache_prefix="$environment/pycache" "$main" "$@"
}

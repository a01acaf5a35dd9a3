# shellcheck shell=bash
# Sourced by the other scripts: what runs, how long it took, and how it ended.

bold() { if [[ -t 1 ]]; then printf '\033[1m%s\033[0m\n' "$*"; else printf '%s\n' "$*"; fi; }
heading() { printf '\n'; bold "=== $*"; }
complain() { printf '%s\n' "$@" >&2; }
took() { printf '%d:%02d' $((($1) / 60)) $((($1) % 60)); }

SUMMARY=()
note() { SUMMARY+=("$(printf '%-12s %-8s %s' "$1" "$2" "${3:-}")"); }

# step NAME COMMAND…  runs one command under a heading, notes its time for the summary and returns its status.
step() {
    local name=$1 start=$SECONDS status=0
    shift
    heading "$name"
    "$@" || status=$?
    local time
    time=$(took $((SECONDS - start)))
    if ((status == 0)); then
        note "$name" ok "$time"
        printf -- '--- %s: %s\n' "$name" "$time"
    else
        note "$name" FAILED "$time"
        complain "--- $name failed with status $status after $time"
    fi
    return "$status"
}

summary() {
    ((${#SUMMARY[@]})) || return 0
    heading "summary"
    printf '%s\n' "${SUMMARY[@]}"
    printf '%-12s %-8s %s\n' total '' "$(took $SECONDS)"
}

#!/bin/bash
# SPDX-License-Identifier: MIT
# PORT KEY TTL-MS GRACE-MS COMMAND...: bash alone speaks to Redis, and the lock outlives a fast job by a grace, so that
# hosts whose clocks differ find it taken. 75: another holds the lock.
port=$1 key=$2 ttl=$3 grace=$4
shift 4
exec 3<>"/dev/tcp/127.0.0.1/$port" || exit 1

# The words of a command, as Redis reads them; the answer's first line into $answer.
ask() {
    local word text="*$#"$'\r\n'
    for word; do text+="\$${#word}"$'\r\n'"$word"$'\r\n'; done
    printf '%s' "$text" >&3
    IFS= read -r answer <&3
    answer=${answer%$'\r'}
}

read -r token </proc/sys/kernel/random/uuid
ask SET "$key" "$token" NX PX "$ttl"
[ "$answer" = +OK ] || exit 75
"$@" 3>&-
status=$?
ask EVAL 'return redis.call("GET", KEYS[1]) == ARGV[1] and redis.call("PEXPIRE", KEYS[1], ARGV[2]) or 0' 1 "$key" \
    "$token" "$grace"
exit $status

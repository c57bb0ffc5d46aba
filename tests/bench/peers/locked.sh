#!/bin/sh
# SPDX-License-Identifier: MIT
# SOCKET KEY TTL-MS COMMAND...: what people write around a cron job. 75: another holds the lock.
socket=$1 key=$2 ttl=$3
shift 3
read -r token </proc/sys/kernel/random/uuid
[ "$(redis-cli -s "$socket" SET "$key" "$token" NX PX "$ttl")" = OK ] || exit 75
"$@"
status=$?
redis-cli -s "$socket" EVAL \
    'return redis.call("GET", KEYS[1]) == ARGV[1] and redis.call("DEL", KEYS[1]) or 0' 1 "$key" "$token" >/dev/null
exit $status

#!/bin/sh
# SPDX-License-Identifier: MIT
# In a Debian of amd64 with the libraries of another machine, which ROTA_TRIPLET, ROTA_PROCESSOR and ROTA_QEMU name:
# builds the tree in /src for that machine, runs its unit tests, the simulator and a job under the lock, and packs it.
# The kernel starts its programs by qemu (test_foreign.py sees to that).
set -eu

cmake -S /src -B /build -G Ninja --toolchain /src/tests/system/foreign.cmake -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    "-DCMAKE_C_FLAGS_RELWITHDEBINFO=-Os -g" -DCMAKE_INSTALL_PREFIX=/usr -DROTA_DEB=ON
cmake --build /build
# Left out: to qemu a vfork is a fork, so posix_spawn() cannot tell of a program that is not there.
ctest --test-dir /build -L unit -E '^unit.test_supervisor_process$' --output-on-failure --repeat until-pass:2 -j 2

# The same fleets live through the same there as on the machine that tests: but for how fast it was. Here only the
# simulator is built, which needs no cmocka.
cmake -S /src -B /native -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DROTA_ONLY_PURE=ON -DCMOCKA_LIBRARY=none
cmake --build /native --target sim
play() { "$1" --seed 1 --seeds 20 | grep -v 'second of CPU$'; }
play /build/tests/sim/sim >/there
play /native/tests/sim/sim >/here
cmp /there /here

cmake --install /build --strip
ln -sf /usr/bin/redis-check-rdb /usr/bin/redis-server
redis-server --port 0 --save '' --unixsocket /run/redis.sock --daemonize yes
cat >/etc/rota/rotad.conf <<'END'
device = "gate-1";
prefix = "test:";
redis = { address = "unix:/run/redis.sock"; };
jobs = { a = { plugin = "exec"; every = "2s"; worst_case = "1s"; lease = "30s"; attempts = 1;
               params = { command = [ "/bin/sh", "-c", "redis-cli -s /run/redis.sock get test:{a}:lock" ]; }; }; };
END
mkdir -p /run/rota
timeout 60 /usr/sbin/rotad >/rotad.log 2>&1 &
tries=0
until grep -q 'a: succeeded' /rotad.log; do
    tries=$((tries + 1))
    [ $tries -lt 450 ] || { cat /rotad.log; exit 1; }
    sleep 0.1
done
cat /rotad.log
(cd /build && cpack)

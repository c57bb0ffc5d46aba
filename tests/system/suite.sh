#!/bin/bash
# SPDX-License-Identifier: MIT
# In a Debian: builds the tree in /src with warnings as errors, and runs all but the long tests.
# shellcheck source=quickstart
. "$(dirname -- "${BASH_SOURCE[0]}")/../../quickstart"
# Whatever umask the tree was copied by: what others may write, rotad does not use.
chmod -R go-w .
# As on a device, somebody is in a group besides their own.
useradd --no-create-home --groups dialout tester
mkdir -p build
may_install=no
fetch_postgresql
build ci || exit 1
# The simulator and what things cost are the same on each release.
run_ctest ci units -LE 'sim|bench'
run_pytest ci 'not long'
sum_up

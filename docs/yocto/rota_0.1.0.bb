# SPDX-License-Identifier: MIT
# A recipe for Yocto, of release 5.0 or later (CMake 3.25) with systemd. Checked by reading only: no Yocto has built it.
# The source lies beside it, in files/: git archive --prefix=rota-0.1.0/ -o rota-0.1.0.tar.gz HEAD
# hiredis and libconfig are from the layer meta-oe.
SUMMARY = "Devices of a fleet take turns at periodic jobs"
LICENSE = "MIT"
LIC_FILES_CHKSUM = "file://LICENSE;md5=270a253244f3f8af93cdc05e95ca1194"
SRC_URI = "file://rota-${PV}.tar.gz"

# libsmartcols is a part of util-linux.
DEPENDS = "hiredis libconfig openssl systemd util-linux"

# The plugins for PostgreSQL, in a package of their own; postgresql is from the layer meta-oe, and of it only libpq
# comes to the device. Wanted: PACKAGECONFIG:append:pn-rota = " postgresql".
PACKAGECONFIG ??= ""
PACKAGECONFIG[postgresql] = "-DROTA_POSTGRESQL=ON,-DROTA_POSTGRESQL=OFF,postgresql"

inherit bash-completion cmake features_check pkgconfig systemd useradd

# Units are installed below /usr, where systemd.bbclass looks only then; this systemd demands it anyway.
REQUIRED_DISTRO_FEATURES = "systemd usrmerge"
# musl has not all that rota calls (sigabbrev_np).
COMPATIBLE_HOST:libc-musl = "null"
# Manual pages are made where the build finds scdoc. rotad.conf(5) and the plugins' descriptions are written by programs of the build, which cannot run here: for
# "rotad --check --root" on a build host, build rota there too.
EXTRA_OECMAKE = "-DROTA_BUILD_TESTS=OFF"

SYSTEMD_SERVICE:${PN} = "rotad.service"
USERADD_PACKAGES = "${PN}"
GROUPADD_PARAM:${PN} = "--system rota-admin"
USERADD_PARAM:${PN} = "--system --no-create-home --home-dir / --shell /sbin/nologin --user-group rota; \
                       --system --no-create-home --home-dir / --shell /sbin/nologin --user-group rota-job"

CONFFILES:${PN} = "${sysconfdir}/rota/rotad.conf"
FILES:${PN} += "${prefix}/lib/rota ${prefix}/lib/systemd/system ${prefix}/lib/systemd/catalog ${prefix}/lib/sysusers.d \
                ${datadir}/zsh"
FILES:${PN}-dev += "${datadir}/pkgconfig ${prefix}/lib/cmake"
PACKAGE_BEFORE_PN = "${PN}-plugin-postgresql"
SUMMARY:${PN}-plugin-postgresql = "${SUMMARY}: PostgreSQL"
FILES:${PN}-plugin-postgresql = "${prefix}/lib/rota/pg_fenced.* ${prefix}/lib/rota/pg_queue.* \
                                 ${datadir}/rota-plugin-postgresql"
RDEPENDS:${PN}-plugin-postgresql = "${PN}"
RRECOMMENDS:${PN} = "ca-certificates tzdata"

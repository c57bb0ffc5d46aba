# SPDX-License-Identifier: MIT
# A package for Buildroot, 2025.02 or later. Checked by reading only: no Buildroot has built it.
# This folder goes into package/ or an external tree; ROTA_SITE is where the source is.
ROTA_VERSION = 0.1.0
ROTA_SITE = $(TOPDIR)/../rota
ROTA_SITE_METHOD = local
ROTA_LICENSE = MIT
ROTA_LICENSE_FILES = LICENSE
ROTA_DEPENDENCIES = host-pkgconf hiredis libconfig openssl systemd util-linux
# rotad.conf(5) and the plugins' descriptions are written by programs of the build, which cannot run here.
ROTA_CONF_OPTS = -DROTA_BUILD_TESTS=OFF

ifeq ($(BR2_PACKAGE_ROTA_POSTGRESQL),y)
ROTA_DEPENDENCIES += postgresql
ROTA_CONF_OPTS += -DROTA_POSTGRESQL=ON
else
ROTA_CONF_OPTS += -DROTA_POSTGRESQL=OFF
endif

define ROTA_USERS
	rota -1 rota -1 * / - - Takes turns with the fleet
	rota-job -1 rota-job -1 * / - - Jobs of rotad
	- -1 rota-admin -1 * - - - -
endef

$(eval $(cmake-package))

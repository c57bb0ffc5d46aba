/* SPDX-License-Identifier: MIT
 * test_config_support.h: a folder of its own for each test of the configuration. */
#ifndef ROTA_TESTS_TEST_CONFIG_SUPPORT_H
#define ROTA_TESTS_TEST_CONFIG_SUPPORT_H
#include "config/config.h"
#include "unit.h"

#define PATH_SIZE 512

struct place {
    char folder[PATH_SIZE]; /* absolute, removed by place_done */
};

/* cmocka's setup and teardown: *state is a struct place with the folder plugins/, which holds
 * exec.so and upload.so. */
int place_setup(void **state);
int place_teardown(void **state);

/* The path of `name` in the folder. Valid until the fourth call after it. */
const char *place_path(const struct place *p, const char *name);
/* Writes a file, and the folders that it is in. */
void place_write(const struct place *p, const char *name, const char *text);
void place_write_bytes(const struct place *p, const char *name, const void *data, size_t size);

/* Loads NAME as with -c, or the system's places under the folder. Never NULL. */
struct config *place_load(const struct place *p, const char *name);
struct config *place_load_system(const struct place *p);
/* Writes rotad.conf and loads it. */
struct config *place_load_text(const struct place *p, const char *text);

/* All problems, one a line, with the folder taken out of them: "error FILE:LINE: text". To be
 * freed. */
char *place_problems(const struct place *p, const struct config *c);
/* Fails where the problems are not these. */
void place_expect(const struct place *p, const struct config *c, const char *problems);
#endif

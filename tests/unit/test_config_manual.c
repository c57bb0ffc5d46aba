/* SPDX-License-Identifier: MIT
 * rotad.conf(5), made from the table of keys. */
#include "config/config.h"
#include "config/renamed.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void test_manual_names_every_key(void **state)
{
    static const char *const keys[] = {
        "prefix*\n",
        "job_user*\n",
        "password_file*\n",
        "tls*\n",
        "worst_case*\n",
        "output_lines*\n",
        "stop_timeout*\n\tLongest wait for running jobs when rotad stops.++\n"
        "(duration, \"0s\" to \"1h\"; default \"45s\")\n",
        "database*\n\tDatabase number (SELECT).++\n"
        "(number, 0 to 1023; default 0; takes a restart)\n",
        "core*\n\tGreatest core dump of a process that crashes.++\n"
        "(size, \"0B\" to \"1TiB\"; default \"0B\")\n",
        /* Nothing of a text is a mark of scdoc's. */
        "devices*\n\tOnly devices whose name matches one of these take turns; \\* stands for any "
        "characters, ? for one.++\n(list of texts; default \"\\*\")\n",
    };
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    assert_non_null(out);
    assert_int_equal(config_write_manual(out), 0);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(strncmp(text, "rotad.conf(5) ", 14), 0);
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        char line[512];

        snprintf(line, sizeof(line), "\n\n*%s", keys[i]);
        assert_non_null(strstr(text, line));
    }
    free(text);
}

static void test_every_key_has_its_sentence(void **state)
{
    (void)state;
    for (int id = 0; id < SCHEMA_GROUP_COUNT; id++) {
        const struct schema_group *g = schema_group((enum schema_group_id)id);

        for (size_t i = 0; i < g->count; i++)
            assert_non_null(g->keys[i].help);
    }
}

/* As wide as config/value.c and config/quantity.c write them: they would write over what is beside.
 */
static void test_destinations_have_the_width_of_their_type(void **state)
{
    (void)state;
    for (int id = 0; id < SCHEMA_GROUP_COUNT; id++) {
        const struct schema_group *g = schema_group((enum schema_group_id)id);

        for (size_t i = 0; i < g->count; i++) {
            const struct schema_key *k = &g->keys[i];

            if (k->type == SCHEMA_DURATION || k->type == SCHEMA_SIZE)
                assert_int_equal(k->size, sizeof(int64_t));
            else if (k->type == SCHEMA_BOOLEAN)
                assert_int_equal(k->size, sizeof(bool));
            else if (k->type == SCHEMA_INTEGER && k->size != sizeof(int64_t))
                assert_int_equal(k->size, sizeof(int32_t));
            else if (k->type == SCHEMA_CHOICE && k->size != sizeof(int32_t)) {
                assert_int_equal(k->size, sizeof(bool));
                assert_int_equal(k->min, 0);
                assert_null(strchr(strchr(k->choices, '|') + 1, '|'));
            } else if (k->type == SCHEMA_TEXT || k->type == SCHEMA_LIST) {
                assert_int_equal(k->size, sizeof(char *));
            }
        }
    }
}

static bool is_over(const struct renamed_key *row)
{
    int major, minor;

    assert_int_equal(sscanf(ROTA_VERSION, "%d.%d", &major, &minor), 2);
    return major > row->major || (major == row->major && minor > renamed_last_minor(row));
}

/* A row that is over fails here: it and the old name go with that release. */
static void test_renamed_keys_are_there_and_not_yet_over(void **state)
{
    (void)state;
    for (const struct renamed_key *row = renamed_keys; row->old; row++) {
        const struct schema_group *g = schema_group(row->group);
        const struct schema_key *k = schema_find(g, row->name);

        if (!k || k->type == SCHEMA_GROUP || strcmp(k->path, "requires") == 0)
            fail_msg("%s is no key of a value in its group", row->name);
        if (schema_find(g, row->old))
            fail_msg("%s is a key today", row->old);
        if (is_over(row))
            fail_msg("%s was a name up to rota %d.%d", row->old, row->major,
                     renamed_last_minor(row));
        for (const struct renamed_key *other = row + 1; other->old; other++)
            if (other->group == row->group &&
                (strcmp(other->old, row->old) == 0 || strcmp(other->name, row->name) == 0))
                fail_msg("%s has two rows", row->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_manual_names_every_key),
        cmocka_unit_test(test_every_key_has_its_sentence),
        cmocka_unit_test(test_renamed_keys_are_there_and_not_yet_over),
        cmocka_unit_test(test_destinations_have_the_width_of_their_type),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

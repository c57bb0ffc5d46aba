/* SPDX-License-Identifier: MIT
 * The small files of a device: its machine-id, its name, its password. What is taken from them is
 * the first line, and has the signs that it may have. And its users and groups: whoever is found is
 * there under that very name. */
#include "base/user.h"
#include "config/config.h"
#include "config/identity.h"
#include "config/secret.h"
#include "fuzz_place.h"
#include <errno.h>
#include <unistd.h>

static void check_machine(const uint8_t *data, size_t size)
{
    char id[IDENTITY_SIZE];

    place_write("machine-id", data, size);
    if (identity_read(place_path("."), id) == IDENTITY_ABSENT)
        assert(id[0] == '\0');
    else
        assert(strlen(id) >= 32 && id[strspn(id, "0123456789abcdef")] == '\0');
}

static void check_secret(const uint8_t *data, size_t size)
{
    char why[TRUST_WHY_SIZE] = "", *secret = NULL;
    int r;

    place_write("secret", data, size);
    assert(chmod(place_path("secret"), 0600) == 0);
    r = secret_read("", place_path("secret"), &secret, why);
    place_forget_secret();
    if (r < 0) {
        assert(!secret && why[0] != '\0' && memchr(why, '\0', sizeof(why)));
        return;
    }
    assert(secret[0] != '\0' && strlen(secret) < size + 1 && !strchr(secret, '\n'));
    assert(memcmp(secret, data, strlen(secret)) == 0);
    assert(strlen(secret) == size || data[strlen(secret)] == '\n');
    secret_free(secret);
}

static void check_name(const uint8_t *data, size_t size)
{
    struct config_source source = { .file = place_path("rotad.conf") };
    char text[PLACE_PATH_SIZE];
    struct config *c = NULL;

    place_write("name", data, size);
    snprintf(text, sizeof(text), "device_file = \"%s\";\n", place_path("name"));
    place_write("rotad.conf", text, strlen(text));
    assert(config_load(&source, &c) == 0 && c);
    assert(c->device[0] != '\0' && strlen(c->device) <= DEVICE_NAME_MAX);
    for (const char *at = c->device; *at; at++)
        assert(*at > 0x20 && *at < 0x7f);
    assert(c->fatal || memmem(data, size, c->device, strlen(c->device)));
    config_free(c);
}

/* One name is the front of the file, where it may be that of the first line. */
static void check_users(const uint8_t *data, size_t size)
{
    char first[USER_NAME_SIZE] = "";
    const char *const names[] = { first, "root", "+" };
    uint32_t groups[USER_GROUPS_MAX];
    struct user user;
    gid_t gid;

    for (size_t i = 0; i < size && i < sizeof(first) - 1 && data[i] != ':'; i++)
        first[i] = (char)data[i];
    place_write("users", data, size);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *file = place_path("users"), *name = names[i];
        int count;

        if (user_by_name_in(file, name, &user) == 0)
            assert(strcmp(user.name, name) == 0 && name[0] != '+' && name[0] != '-' &&
                   memchr(user.home, '\0', sizeof(user.home)));
        if (user_group_by_name_in(file, name, &gid) == 0)
            assert(gid != UINT32_MAX && name[0] != '+' && name[0] != '-' &&
                   memmem(data, size, name, strlen(name)));
        count = user_groups_in(file, name, groups);
        assert(count == -E2BIG || (count >= 0 && count <= USER_GROUPS_MAX));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_users(data, size);
    check_machine(data, size);
    check_secret(data, size);
    check_name(data, size);
    return 0;
}

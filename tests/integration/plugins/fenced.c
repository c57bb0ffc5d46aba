/* SPDX-License-Identifier: MIT
 * What came to the contract with fences: a result for a run that a newer one has overtaken, and a
 * credential. */
#include <rota/plugin.h>
#include <stdlib.h>

static const struct rota_param params[] = {
    { .name = "newest", .type = ROTA_INTEGER, .def = "0", .help = "The fence that is known." },
    { .name = "secret", .type = ROTA_STRING, .help = "credential:NAME, or any text." },
    { .name = NULL },
};

static int run(const struct rota_run *r)
{
    const char *line = rota_credential(r, "secret");

    if (rota_is_set(r, "secret"))
        printf("secret=%s folder=%s\n", line ? line : "none", getenv("CREDENTIALS_DIRECTORY"));
    if ((uint64_t)rota_integer(r, "newest") > r->fence)
        return rota_fail(r, ROTA_LOST, "a newer run was here");
    return line || !rota_is_set(r, "secret") ? ROTA_SUCCEEDED : ROTA_REFUSED;
}

static int check(const struct rota_run *r)
{
    return rota_credential(r, "secret") ? rota_fail(r, ROTA_REFUSED, "it is told too early") : 0;
}

ROTA_PLUGIN(.needs = ROTA_NEEDS_LOST | ROTA_NEEDS_CREDENTIAL, .name = "fenced", .version = "1",
            .summary = "Knows of fences.", .params = params, .run = run, .check = check);

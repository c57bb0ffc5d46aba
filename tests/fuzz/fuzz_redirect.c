/* SPDX-License-Identifier: MIT
 * What a node of a cluster says of another one: what is taken for a place can be said again, and is
 * then the same; what is not leaves nothing behind. */
#include "fuzz.h"
#include "redis/cluster_redirect.h"
#include <errno.h>
#include <stdio.h>

static void check_again(const struct cluster_redirect *to)
{
    char text[REDIS_HOST_SIZE + 32];
    struct cluster_redirect back;

    snprintf(text, sizeof(text), "%s 7 %s:%u", to->asks ? "ASK" : "MOVED", to->host, to->port);
    assert(cluster_redirect_read(text, &back) == 0);
    assert(back.asks == to->asks && back.port == to->port && strcmp(back.host, to->host) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    struct cluster_redirect to;
    int r;

    memset(&to, 0xaa, sizeof to);
    r = cluster_redirect_read(text, &to);
    assert(r == 0 || r == -ENOENT || r == -EDESTADDRREQ || r == -EBADMSG);
    if (r == 0) {
        assert(to.port > 0 && memchr(to.host, '\0', sizeof to.host));
        assert(!strpbrk(to.host, " \n/[]@"));
        check_again(&to);
    }
    free(text);
    return 0;
}

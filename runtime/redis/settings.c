/* SPDX-License-Identifier: MIT */
#include "redis/settings.h"
#include "base/text.h"
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool copy_text(const char **text)
{
    if (!*text)
        return true;
    *text = strdup(*text);
    return *text != NULL;
}

/* Each member of *copy is either NULL or owned when this returns, so that a half-made copy can be
 * freed. */
static bool copy_texts(struct redis_settings *copy)
{
    const char **texts[] = { &copy->prefix,   &copy->client_name,       &copy->username,
                             &copy->password, &copy->tls.module,        &copy->tls.ca,
                             &copy->tls.cert, &copy->tls.key,           &copy->tls.name,
                             &copy->master,   &copy->sentinel_username, &copy->sentinel_password };
    bool whole = true;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        whole = copy_text(texts[i]) && whole;
    return whole;
}

static bool copy_endpoints(const struct redis_endpoint **all, size_t count)
{
    const struct redis_endpoint *originals = *all;
    struct redis_endpoint *endpoints = calloc(count + 1, sizeof *endpoints);
    bool whole = endpoints != NULL;

    *all = endpoints;
    for (size_t i = 0; endpoints && i < count; i++) {
        endpoints[i] = originals[i];
        whole = copy_text(&endpoints[i].host) && whole;
        whole = copy_text(&endpoints[i].text) && whole;
    }
    return whole;
}

int redis_settings_copy(const struct redis_settings *settings, struct redis_settings **ret_copy)
{
    struct redis_settings *copy = malloc(sizeof *copy);
    bool whole;

    if (!copy)
        return -ENOMEM;
    *copy = *settings;
    whole = copy_texts(copy);
    copy->servers = NULL;
    copy->server_count = 0;
    whole = copy_endpoints(&copy->endpoints, copy->endpoint_count) && whole;
    whole = copy_endpoints(&copy->sentinels, copy->sentinel_count) && whole;
    if (!whole) {
        redis_settings_free(copy);
        return -ENOMEM;
    }
    *ret_copy = copy;
    return 0;
}

static void free_text(const char *text)
{
    free((char *)(uintptr_t)text);
}

static void free_secret(const char *text)
{
    if (text)
        explicit_bzero((char *)(uintptr_t)text, strlen(text));
    free_text(text);
}

int redis_settings_set_password(struct redis_settings *settings, bool of_sentinels,
                                const char *password)
{
    const char **kept = of_sentinels ? &settings->sentinel_password : &settings->password;

    if (text_same(*kept, password))
        return 0;
    if (!copy_text(&password))
        return -ENOMEM;
    free_secret(*kept);
    *kept = password;
    return 1;
}

static void free_endpoints(const struct redis_endpoint *endpoints, size_t count)
{
    for (size_t i = 0; endpoints && i < count; i++) {
        free_text(endpoints[i].host);
        free_text(endpoints[i].text);
    }
    free((void *)(uintptr_t)endpoints);
}

void redis_settings_free(struct redis_settings *settings)
{
    if (!settings)
        return;
    free_endpoints(settings->endpoints, settings->endpoint_count);
    free_endpoints(settings->sentinels, settings->sentinel_count);
    free_text(settings->prefix);
    free_text(settings->client_name);
    free_text(settings->username);
    free_secret(settings->password);
    free_text(settings->master);
    free_text(settings->sentinel_username);
    free_secret(settings->sentinel_password);
    free_text(settings->tls.module);
    free_text(settings->tls.ca);
    free_text(settings->tls.cert);
    free_text(settings->tls.key);
    free_text(settings->tls.name);
    free(settings);
}

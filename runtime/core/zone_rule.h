/* SPDX-License-Identifier: MIT
 * core/zone_rule.h: the rule at the end of a TZif file: POSIX's TZ, with RFC 8536's wider hours. */
#ifndef ROTA_CORE_ZONE_RULE_H
#define ROTA_CORE_ZONE_RULE_H
#include "core/zone.h"

/* 0; -EBADMSG where the `size` bytes are no rule, or one whose two days do not take turns in every
 * year. Summer time all year round has changes = false, and its offset as `standard`. */
int zone_rule_parse(const char *text, size_t size, struct zone_rule *ret_rule);
/* As zone_offset() of a zone that has this rule alone. */
int32_t zone_rule_offset(const struct zone_rule *rule, int64_t at, int64_t *ret_from,
                         int64_t *ret_until);
#endif

/* SPDX-License-Identifier: MIT
 * redis/login.h: AUTH, SELECT, ROLE and CLIENT SETNAME, sent ahead of a connection's first
 * command. ROLE only where a finder has named the server: it may have been wrong. */
#ifndef ROTA_REDIS_LOGIN_H
#define ROTA_REDIS_LOGIN_H
#include "redis/fault.h"
#include "redis/outbox.h"
#include "redis/store.h"
#include <hiredis/hiredis.h>

struct redis_login {
    unsigned int left; /* replies that are still to come */
    bool named;        /* the last of them is that of CLIENT SETNAME */
    bool role;         /* the one before is that of ROLE */
};

/* Appends what the settings ask for, which may be nothing. 0 or -ENOMEM. */
int redis_login_begin(const struct redis_settings *settings, struct redis_outbox *outbox,
                      struct redis_login *ret_login);
/* Takes the next reply. 0; -EACCES and *ret_fault where it is an error that ends the connection:
 * without AUTH or SELECT commands would go to the wrong place, the name is only for people;
 * so it is, too, where the role is not a master's. -EBADMSG where it is neither what was wanted nor
 * an error. */
int redis_login_take(struct redis_login *login, const redisReply *reply,
                     struct redis_fault *ret_fault);
#endif

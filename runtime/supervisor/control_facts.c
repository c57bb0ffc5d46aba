/* SPDX-License-Identifier: MIT
 * Facts by name, so that a newer rotad can say more to an older client. */
#include "base/text.h"
#include "supervisor/control_internal.h"
#include <string.h>

int control_add_text(sd_bus_message *reply, const char *name, const char *text)
{
    static char shown[1024]; /* in the one thread */

    if (!text)
        return 0;
    return sd_bus_message_append(reply, "{sv}", name, "s",
                                 text_escape(shown, sizeof shown, text, strlen(text)));
}

int control_add_number(sd_bus_message *reply, const char *name, int64_t number)
{
    return sd_bus_message_append(reply, "{sv}", name, "x", number);
}

int control_add_flag(sd_bus_message *reply, const char *name, bool flag)
{
    return flag ? sd_bus_message_append(reply, "{sv}", name, "b", 1) : 0;
}

/* SPDX-License-Identifier: MIT */
#include "guard/probe_answer.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* What is shown of a plugin's own texts; they may be of any length, and a frame is not. */
#define VERSION_SIZE 64
#define SUMMARY_SIZE 512

void probe_answer_pack(struct frame *answer, uint32_t index, const struct plugin *plugin,
                       const struct problems *problems)
{
    struct message_probed m = { .index = index, .loaded = plugin != NULL };
    char version[VERSION_SIZE], summary[SUMMARY_SIZE];

    if (plugin) {
        text_copy(version, sizeof(version), plugin->contract.version);
        text_copy(summary, sizeof(summary), plugin->contract.summary);
        m.name = plugin->contract.name;
        m.version = version;
        m.summary = summary;
    }
    for (uint32_t i = 0; i < problems->count; i++)
        m.errors[m.error_count++] =
            (struct probe_error){ .param = problems->param[i], .text = problems->text[i] };
    message_pack_probed(answer, &m);
}

void probe_answer_error(struct frame *answer, uint32_t index, const char *format, ...)
{
    struct message_probed m = { .index = index, .loaded = false };
    char sentence[SENTENCE_SIZE];
    va_list args;

    va_start(args, format);
    /* clang-tidy 14 overlooks this va_start. NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    vsnprintf(sentence, sizeof(sentence), format, args);
    va_end(args);
    m.errors[m.error_count++] = (struct probe_error){ .param = -1, .text = sentence };
    message_pack_probed(answer, &m);
}

void probe_answer_death(struct frame *answer, uint32_t index, int status)
{
    const char *name = sigabbrev_np(WTERMSIG(status));

    if (WIFSIGNALED(status))
        probe_answer_error(answer, index,
                           "the plugin crashed while it was loaded and checked: killed by signal "
                           "%d (SIG%s)",
                           WTERMSIG(status), name ? name : "?");
    else
        probe_answer_error(answer, index,
                           "the plugin ended its process with exit status %d while it was loaded "
                           "and checked",
                           WEXITSTATUS(status));
}

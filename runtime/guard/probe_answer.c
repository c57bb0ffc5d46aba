/* SPDX-License-Identifier: MIT */
#include "guard/probe_answer.h"
#include "base/text.h"

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

void probe_answer_error(struct frame *answer, uint32_t index, const char *sentence)
{
    struct message_probed m = { .index = index, .loaded = false };

    m.errors[m.error_count++] = (struct probe_error){ .param = -1, .text = sentence };
    message_pack_probed(answer, &m);
}

void probe_answer_death(struct frame *answer, uint32_t index, int status)
{
    char sentence[SENTENCE_SIZE];

    if (WIFSIGNALED(status))
        text_format(sentence, sizeof(sentence),
                    "the plugin crashed while it was loaded and checked: killed by signal %d "
                    "(SIG%s)",
                    WTERMSIG(status),
                    sigabbrev_np(WTERMSIG(status)) ? sigabbrev_np(WTERMSIG(status)) : "?");
    else
        text_format(sentence, sizeof(sentence),
                    "the plugin ended its process with exit status %d while it was loaded and "
                    "checked",
                    WEXITSTATUS(status));
    probe_answer_error(answer, index, sentence);
}

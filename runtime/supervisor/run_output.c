/* SPDX-License-Identifier: MIT */
#include "supervisor/run_output.h"
#include "base/text.h"
#include "supervisor/clock.h"
#include "supervisor/journal.h"
#include "supervisor/words.h"
#include <string.h>

/* Of a line in the tail, on average, with what base/tail.h adds: memory is for what is usual. */
#define LINE_BYTES 200
/* And at least one of the longest. */
#define BYTES_MIN ((size_t)JOURNAL_TEXT_SIZE + 64)

void run_output_begin(struct tail *tail, uint32_t lines)
{
    size_t bytes = (size_t)lines * LINE_BYTES;

    tail_done(tail);
    tail_init(tail, lines, bytes < BYTES_MIN ? BYTES_MIN : bytes);
}

static void take(struct tail *tail, const struct job *job, uint8_t stream, int level,
                 const char *raw)
{
    char text[JOURNAL_TEXT_SIZE];

    if (!raw[0])
        return;
    text_escape(text, sizeof text, raw, strlen(raw));
    words_output(job, level, text);
    (void)tail_add(
        tail, &(struct tail_line){
                  .at = clock_boot(), .stream = stream, .level = (uint8_t)level, .text = text });
}

void run_output_take(struct tail *tail, const struct job *job, const struct message_output *m)
{
    int level = LOG_INFO;
    const char *text = text_skip_level(m->text, &level);

    if (m->dropped > 0)
        words_left_out(job, m->dropped);
    take(tail, job, (uint8_t)m->stream, level, text);
}

void run_output_take_log(struct tail *tail, const struct job *job, const struct message_log *m)
{
    bool known = m->level >= LOG_ERR && m->level <= LOG_DEBUG;

    take(tail, job, 0, known ? (int)m->level : LOG_INFO, m->text);
}

const char *run_output_last(const struct tail *tail)
{
    struct tail_line line = { .text = "" };

    for (size_t at = 0; tail_next(tail, &at, &line);)
        ;
    return line.text;
}

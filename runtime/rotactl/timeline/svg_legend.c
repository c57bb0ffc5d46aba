/* SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "rotactl/timeline/svg_parts.h"
#include "rotactl/timeline/timeline_look.h"
#include <string.h>

#define LEFT 12
#define LINE_HEIGHT 24
#define BASELINE 15
/* A sign with the space behind it, the space behind a word, and about what a letter takes. */
#define SIGN_WIDTH 30
#define SPACE 18
#define LETTER_TENTHS 64
#define WORDS_SIZE 64

/* The outcomes, and behind them: */
enum { ENTRY_DUE = RUN_OUTCOMES, ENTRY_MISSED, ENTRY_TAKEOVER, ENTRY_NOW, ENTRIES };

struct entry {
    int what;
    char words[WORDS_SIZE];
    int x, y;
};

struct legend {
    struct entry entry[ENTRIES];
    size_t count;
    int width, end; /* of the picture; of the last entry */
};

static void add(struct legend *l, int what, const char *words)
{
    struct entry *e = &l->entry[l->count];
    int width = SIGN_WIDTH + (int)strlen(words) * LETTER_TENTHS / 10 + SPACE;

    *e = (struct entry){ .what = what, .x = l->end, .y = l->count > 0 ? e[-1].y : 0 };
    text_copy(e->words, sizeof e->words, words);
    if (e->x + width > l->width && e->x > LEFT) {
        e->x = LEFT;
        e->y += LINE_HEIGHT;
    }
    l->end = e->x + width;
    l->count++;
}

static void add_count(struct legend *l, int what, size_t count, const char *one, const char *many)
{
    char words[WORDS_SIZE];

    if (count > 0)
        add(l, what, timeline_look_count(count, one, many, words, sizeof words));
}

static void lay_out(const struct svg *s, struct legend *l)
{
    static const char over[] = "went on to another device";
    const struct timeline *t = s->view;
    size_t due = 0;

    *l = (struct legend){ .width = s->width, .end = LEFT };
    for (enum run_outcome o = 0; o < RUN_OUTCOMES; o++)
        add_count(l, (int)o, t->outcomes[o], runs_outcome_name(o), runs_outcome_name(o));
    for (size_t i = 0; i < t->job_count; i++)
        due += t->job[i].due_count;
    add_count(l, ENTRY_DUE, due, "due instant", "due instants");
    add_count(l, ENTRY_MISSED, t->missed, "that nobody ran", "that nobody ran");
    add_count(l, ENTRY_TAKEOVER, t->takeovers, over, over);
    if (svg_shows_now(s))
        add(l, ENTRY_NOW, "now");
}

static void put_outcome(FILE *out, enum run_outcome o, int x, int y)
{
    const char *name = runs_outcome_name(o);

    fprintf(out, "<rect class=\"bar %s\" x=\"%d\" y=\"%d\" width=\"24\" height=\"%d\"/>", name, x,
            y + 6, SVG_BAR_HEIGHT);
    if (timeline_look(o)->mark[0])
        fprintf(out, "<use href=\"#rota-mark-%s\" class=\"mark\" x=\"%d\" y=\"%d\"/>", name, x + 12,
                y + 1);
}

static void put_sign(FILE *out, int what, int x, int y)
{
    switch (what) {
    case ENTRY_DUE:
        fprintf(out, "<path class=\"due\" d=\"M%d.5 %dv10\"/>", x + 20, y + 6);
        break;
    case ENTRY_MISSED:
        fprintf(out,
                "<path class=\"gap\" d=\"M%d %dh10v16h-10z\"/>"
                "<use href=\"#rota-gone\" class=\"gone\" x=\"%d\" y=\"%d\"/>",
                x + 13, y + 3, x + 18, y + 11);
        break;
    case ENTRY_TAKEOVER:
        fprintf(out, "<path class=\"over\" marker-end=\"url(#rota-tip)\" d=\"M%d %dl20 11\"/>",
                x + 2, y + 4);
        break;
    case ENTRY_NOW:
        fprintf(out, "<path class=\"now\" d=\"M%d.5 %dv16\"/>", x + 20, y + 3);
        break;
    default:
        put_outcome(out, (enum run_outcome)what, x, y);
    }
}

int svg_legend_height(const struct svg *s)
{
    struct legend l;

    lay_out(s, &l);
    return (l.count > 0 ? l.entry[l.count - 1].y : 0) + LINE_HEIGHT;
}

void svg_legend_put(const struct svg *s, int y)
{
    struct legend l;

    lay_out(s, &l);
    for (size_t i = 0; i < l.count; i++) {
        const struct entry *e = &l.entry[i];

        put_sign(s->out, e->what, e->x, y + e->y);
        fprintf(s->out, "<text x=\"%d\" y=\"%d\">%s</text>\n", e->x + SIGN_WIDTH,
                y + e->y + BASELINE, e->words);
    }
}

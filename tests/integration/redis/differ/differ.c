/* SPDX-License-Identifier: MIT
 * differ: plays random commands against the in-memory store and the scripts in a redis-server, and
 * demands the same of both: each reply in every field, each key.
 *
 *   differ SOCKET CLOCK play COMMANDS [SCRIPT OLD NEW]
 *   differ SOCKET CLOCK replay FILE   [SCRIPT OLD NEW]
 *
 * The redis-server at SOCKET runs under the virtual clock in the file CLOCK, lets be debugged, and
 * has the users of test_memory_store.py.
 * COMMANDS are played in sequences that each begin with nothing; ROTA_SEED plays one again. The
 * first sequence that ends differently is shrunk and printed; `replay` takes what was printed. With
 * SCRIPT, the server's script of that name has NEW in the place of OLD: to see that it is found.
 *
 * Ends with 0 where all was the same, 1 where not, 2 where it could not be tried. */
#include "redis/differ/play.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SEQUENCE_STEPS 300
/* So many meet every kind of answer. */
#define COMMANDS_FOR_ALL_ANSWERS 100000
/* One step of so many compares the records. */
#define COMPARE_EVERY 10
#define LINE_SIZE 1024
#define CROWD_STEPS 30

struct sequence {
    struct step steps[SEQUENCE_STEPS];
    size_t count;
};

/* Plays what is written, and ends the sequence with the step that differs; false: none does. */
static bool replay_differs(struct sides *s, struct sequence *q)
{
    sides_reset(s);
    for (size_t i = 0; i < q->count; i++)
        if (!sides_do(s, &q->steps[i])) {
            q->count = i + 1;
            return true;
        }
    return false;
}

static bool take_out(struct sides *s, struct sequence *q, size_t at, size_t count)
{
    struct sequence less = { .count = q->count - count };

    memcpy(less.steps, q->steps, at * sizeof q->steps[0]);
    memcpy(less.steps + at, q->steps + at + count, (less.count - at) * sizeof q->steps[0]);
    if (!replay_differs(s, &less))
        return false;
    *q = less;
    return true;
}

/* Takes out all that the difference does not need: halves first, single steps last, and these again
 * until none goes, but for a crowd, where one more pass takes as long as all before. */
static void shrink(struct sides *s, struct sequence *q)
{
    for (size_t count = q->count / 2; count > 0;) {
        bool less = false;

        for (size_t at = 0; at + count <= q->count;)
            if (take_out(s, q, at, count))
                less = true;
            else
                at += count;
        if (!less || count > 1 || q->count > CROWD_STEPS)
            count /= 2;
    }
}

static void print_sequence(const struct sides *s, const struct sequence *q)
{
    printf("# %s\n", s->difference[0] ? s->difference : "no difference");
    for (size_t i = 0; i < q->count; i++)
        step_print(stdout, &q->steps[i]);
}

/* One sequence. Returns the commands in it; below 0 where it differs: then `q` holds it. */
static int64_t play_sequence(struct sides *s, struct play *p, struct sequence *q)
{
    int64_t commands = 0;

    sides_reset(s);
    play_reset(p);
    for (q->count = 0; q->count < SEQUENCE_STEPS;) {
        bool compare = (q->count + 1) % COMPARE_EVERY == 0;
        struct step step = compare ? (struct step){ .kind = STEP_COMPARE } : play_draw(p, s);

        q->steps[q->count++] = step;
        commands += step.kind != STEP_CLOCK && step.kind != STEP_COMPARE;
        if (!sides_do(s, &step))
            return -1;
        play_note(p, &step, s);
    }
    return commands;
}

static int play(struct sides *s, int64_t commands)
{
    const char *given = getenv("ROTA_SEED");
    struct play p = { .random = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) };
    struct sequence q;
    int64_t done = 0;

    printf("# ROTA_SEED=%" PRIu64 "\n", p.random);
    while (done < commands) {
        int64_t more = play_sequence(s, &p, &q);

        if (more < 0) {
            printf("# after about %" PRId64 " commands: %s\n", done, s->difference);
            shrink(s, &q);
            if (!replay_differs(s, &q))
                printf("# and a replay does not show it\n");
            print_sequence(s, &q);
            return 1;
        }
        done += more;
    }
    printf("# %" PRId64 " commands, and no difference\n", done);
    return play_report(&p) || done < COMMANDS_FOR_ALL_ANSWERS ? 0 : 1;
}

static int replay(struct sides *s, const char *path)
{
    struct sequence q = { .count = 0 };
    FILE *file = fopen(path, "re");
    char line[LINE_SIZE];
    bool differs;

    if (!file) {
        fprintf(stderr, "differ: %s: %m\n", path);
        return 2;
    }
    while (q.count < SEQUENCE_STEPS && fgets(line, sizeof line, file)) {
        if (line[0] == '#')
            continue;
        if (!step_parse(line, &q.steps[q.count])) {
            fprintf(stderr, "differ: this line is no step: %s\n", line);
            fclose(file);
            return 2;
        }
        q.count++;
    }
    fclose(file);
    differs = replay_differs(s, &q);
    print_sequence(s, &q);
    return differs ? 1 : 0;
}

int main(int argc, char **argv)
{
    struct defect defect = { 0 };
    struct sides sides;
    int status = 2;

    if (argc == 8)
        defect = (struct defect){ .script = argv[5], .old = argv[6], .instead = argv[7] };
    if (argc != 5 && argc != 8) {
        fputs("usage: differ SOCKET CLOCK play COMMANDS | replay FILE [SCRIPT OLD NEW]\n", stderr);
        return status;
    }
    sides_open(&sides, argv[1], argv[2], &defect);
    if (strcmp(argv[3], "play") == 0)
        status = play(&sides, strtoll(argv[4], NULL, 10));
    else if (strcmp(argv[3], "replay") == 0)
        status = replay(&sides, argv[4]);
    sides_close(&sides);
    return status;
}

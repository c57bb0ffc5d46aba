/* SPDX-License-Identifier: MIT
 * Lines on a screen: by the columns that a terminal gives to a character, not by its bytes. */
#include "rotactl/screen.h"
#include "rotactl/table.h"
#include "unit.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WIDE "\xe5\xa4\x9c"     /* two columns */
#define LETTER "\xc3\xa4"       /* one */
#define ACUTE "\xcc\x81"        /* none: over the one before */
#define OVERRIDE "\xe2\x80\xae" /* is escaped */

typedef void print_lines(FILE *out, const struct screen *s, const char *text);

static void check(print_lines *print, size_t width, const char *text, const char *expected)
{
    const struct screen screen = { .width = width };
    char *drawn = NULL;
    size_t size;
    FILE *out = open_memstream(&drawn, &size);

    assert_non_null(out);
    print(out, &screen, text);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(drawn, expected);
    free(drawn);
}

static void test_columns(void **state)
{
    (void)state;
    assert_int_equal(screen_columns(""), 0);
    assert_int_equal(screen_columns("a" LETTER), 2);
    assert_int_equal(screen_columns(WIDE WIDE), 4);
    assert_int_equal(screen_columns("e" ACUTE), 1);
    assert_int_equal(screen_part(WIDE WIDE, 3), strlen(WIDE));
    assert_int_equal(screen_part("e" ACUTE "x", 1), strlen("e" ACUTE));
    /* What is cut off, and what is none, ends all the same. */
    assert_int_equal(screen_columns("\xe5\xa4"), 1);
    assert_int_equal(screen_columns("\xa4\xa4x"), 2);
}

static void test_broken_lines(void **state)
{
    (void)state;
    check(screen_print_text, 0, "a b", "a b\n");
    check(screen_print_text, 8, "abc defgh", "abc\n  defgh\n");
    check(screen_print_text, 8, "abcdefghij", "abcdefgh\n  ij\n");
    check(screen_print_text, 8, WIDE WIDE WIDE WIDE, WIDE WIDE WIDE WIDE "\n");
    check(screen_print_text, 8, WIDE WIDE " " WIDE WIDE, WIDE WIDE "\n  " WIDE WIDE "\n");
    check(screen_print_text, 7, WIDE WIDE WIDE WIDE, WIDE WIDE WIDE "\n  " WIDE "\n");
    check(screen_print_text, 20, "x " OVERRIDE, "x \\xe2\\x80\\xae\n");
}

static void test_cut_lines(void **state)
{
    (void)state;
    check(screen_print_cut, 0, WIDE WIDE, WIDE WIDE "\n");
    check(screen_print_cut, 3, WIDE WIDE, WIDE "\n");
    check(screen_print_cut, 4, WIDE WIDE, WIDE WIDE "\n");
    check(screen_print_cut, 2, LETTER LETTER LETTER, LETTER LETTER "\n");
}

/* --- a table, with one text over two of its cells --- */

static const char *heading(const void *context, size_t column)
{
    static const char *const names[] = { "A", "B", "C" };

    (void)context;
    return names[column];
}

static void cell(const void *context, size_t row, size_t column, char *buf)
{
    static const char *const cells[2][3] = { { WIDE, "long", "end" }, { "x", "", "end" } };

    (void)context;
    strcpy(buf, cells[row][column]);
}

static const char *no_colour(const void *context, size_t row)
{
    (void)context;
    (void)row;
    return NULL;
}

static bool span(const void *context, size_t row, struct table_span *ret_span)
{
    (void)context;
    if (row != 1)
        return false;
    *ret_span = (struct table_span){ .from = 1, .to = 2, .text = WIDE };
    return true;
}

static void test_a_table(void **state)
{
    const struct screen screen = { .headings = true };
    const struct table table = { .screen = &screen,
                                 .columns = 3,
                                 .rows = 2,
                                 .heading = heading,
                                 .cell = cell,
                                 .colour = no_colour,
                                 .span = span };
    char *drawn = NULL;
    size_t size;
    FILE *out = open_memstream(&drawn, &size);

    (void)state;
    assert_non_null(out);
    assert_int_equal(table_print(out, &table), 0);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(drawn, "A   B     C\n" WIDE "  long  end\n"
                               "x   " WIDE "    end\n");
    free(drawn);
}

static void mixed_cell(const void *context, size_t row, size_t column, char *buf)
{
    (void)context;
    (void)row;
    strcpy(buf, column == 0 ? "M\xc3\xbcller" : "");
}

/* A text that was cut: its last character lacks a byte. */
static void cut_cell(const void *context, size_t row, size_t column, char *buf)
{
    (void)context;
    (void)row;
    memset(buf, 'x', TABLE_CELL_SIZE - 2);
    strcpy(buf + TABLE_CELL_SIZE - 2, "\xe5");
    if (column > 0)
        strcpy(buf, "\xff\xe5\xa4z");
}

static bool mixed_span(const void *context, size_t row, struct table_span *ret_span)
{
    (void)context;
    (void)row;
    *ret_span = (struct table_span){ .from = 1, .to = 2, .text = "M\xc3\xbcller\xe5" };
    return true;
}

/* A row, in which libsmartcols may go round for ever. */
static char *draw_row(const struct table *table)
{
    char *drawn = NULL;
    size_t size;
    FILE *out = open_memstream(&drawn, &size);

    assert_non_null(out);
    alarm(20);
    assert_int_equal(table_print(out, table), 0);
    alarm(0);
    assert_int_equal(fclose(out), 0);
    return drawn;
}

static void test_a_table_where_the_locale_is_not_utf8(void **state)
{
    const struct screen screen = { .width = 80 };
    struct table table = { .screen = &screen,
                           .columns = 2,
                           .rows = 1,
                           .heading = heading,
                           .cell = mixed_cell,
                           .colour = no_colour };
    char *drawn;

    (void)state;
    assert_non_null(setlocale(LC_CTYPE, "C"));
    drawn = draw_row(&table);
    assert_ptr_equal(strstr(drawn, "M\\xc3\\xbcller"), drawn);
    free(drawn);
    table.span = mixed_span;
    drawn = draw_row(&table);
    assert_string_equal(drawn, "M\\xc3\\xbcller  M\\xc3\\xbcller\\xe5\n");
    free(drawn);
    assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
}

/* Nor does libsmartcols come past a byte that is no UTF-8. */
static void test_a_table_of_broken_characters(void **state)
{
    const struct screen screen = { .width = 0 };
    struct table table = { .screen = &screen,
                           .columns = 2,
                           .rows = 1,
                           .heading = heading,
                           .cell = cut_cell,
                           .colour = no_colour };
    char *drawn = draw_row(&table);

    (void)state;
    assert_non_null(strstr(drawn, "xx\\xe5  \\xff\\xe5\\xa4z"));
    free(drawn);
    table.span = mixed_span;
    drawn = draw_row(&table);
    assert_non_null(strstr(drawn, "xx\\xe5  M\xc3\xbcller\\xe5"));
    free(drawn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_broken_lines),
        cmocka_unit_test(test_cut_lines),
        cmocka_unit_test(test_a_table),
        cmocka_unit_test(test_a_table_where_the_locale_is_not_utf8),
        cmocka_unit_test(test_a_table_of_broken_characters),
    };

    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

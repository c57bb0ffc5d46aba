/* SPDX-License-Identifier: MIT */
#include "rotactl/timeline/timeline_parts.h"
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t digits(const char *at)
{
    return strspn(at, "0123456789");
}

/* Two numbers, by value; the names go on behind them. */
static int compare_values(const char **a, const char **b)
{
    size_t x, y;
    int order;

    *a += strspn(*a, "0");
    *b += strspn(*b, "0");
    x = digits(*a);
    y = digits(*b);
    if (x != y)
        return x < y ? -1 : 1;
    order = strncmp(*a, *b, x);
    *a += x;
    *b += y;
    return order;
}

int timeline_order_names(const char *a, const char *b)
{
    const char *x = a, *y = b;

    while (*x && *y) {
        int order;

        if (is_digit(*x) && is_digit(*y))
            order = compare_values(&x, &y);
        else
            order = (unsigned char)*x++ - (unsigned char)*y++;
        if (order != 0)
            return order;
    }
    return *x || *y ? (*x != '\0') - (*y != '\0') : strcmp(a, b);
}

int timeline_order_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

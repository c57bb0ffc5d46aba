/* SPDX-License-Identifier: MIT
 * write_manual FILE: rotad.conf(5) for scdoc, from the table of keys that rotad itself reads by.
 * Runs while rota is built; not installed. */
#include "config/config.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    FILE *out;
    int r;

    if (argc != 2) {
        fputs("write_manual needs the file to write\n", stderr);
        return 64;
    }
    out = fopen(argv[1], "we");
    if (!out) {
        perror(argv[1]);
        return 1;
    }
    r = config_write_manual(out);
    if (fclose(out) != 0 || r < 0) {
        fprintf(stderr, "%s cannot be written: %s\n", argv[1], strerror(r < 0 ? -r : EIO));
        return 1;
    }
    return 0;
}

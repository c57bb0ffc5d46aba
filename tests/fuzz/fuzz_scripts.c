/* SPDX-License-Identifier: MIT
 * The packer of the build and the unpacker of rotad, both compiled into this, on any text: what is
 * packed unpacks to the same, a part of it as well. */
#include "fuzz.h"
#include "redis/scripts.h"
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* The packer's time grows with the square of it. */
#define TEXT_MAX 1200

/* tools/pack_scripts.c's main() */
int pack_main(int argc, char **argv);
/* The unpacker's constant, under another name: here it is whatever was packed last. */
extern unsigned char fuzz_packed[];
unsigned char fuzz_packed[2 * TEXT_MAX];

/* The packer takes files. */
struct memory_file {
    int fd;
    char path[64];
};

static struct memory_file new_file(const char *name)
{
    struct memory_file f = { .fd = memfd_create(name, MFD_CLOEXEC) };

    assert(f.fd >= 0);
    snprintf(f.path, sizeof(f.path), "/proc/self/fd/%d", f.fd);
    return f;
}

/* The packer writes a number a byte, each with a comma and an end of line. */
static void read_packed(const char *path)
{
    FILE *in = fopen(path, "re");
    unsigned byte;
    size_t size = 0;

    assert(in);
    while (fscanf(in, "%3u,", &byte) == 1) {
        assert(byte < 256 && size < sizeof(fuzz_packed));
        fuzz_packed[size++] = (unsigned char)byte;
    }
    fclose(in);
}

static void pack(const char *text, size_t size)
{
    struct memory_file in = new_file("text"), out = new_file("packed");
    char name[] = "pack", *arguments[] = { name, in.path, out.path, NULL };

    assert(write(in.fd, text, size) == (ssize_t)size);
    assert(pack_main(3, arguments) == 0);
    read_packed(out.path);
    close(in.fd);
    close(out.fd);
}

static void check_part(const char *text, size_t begin, size_t size)
{
    struct redis_script part = { .begin = (uint16_t)begin, .size = (uint16_t)size };
    char *body = redis_scripts_body(&part);

    assert(body);
    assert(memcmp(body, text + begin, size) == 0 && body[size] == '\0');
    free(body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[TEXT_MAX];
    size_t begin;

    size = size < TEXT_MAX ? size : TEXT_MAX;
    for (size_t i = 0; i < size; i++)
        text[i] = (char)(data[i] & 127);
    pack(text, size);
    begin = (size_t)fuzz_number(data, size, (int64_t)size + 1);
    check_part(text, 0, size);
    check_part(text, begin, size - begin);
    check_part(text, begin / 2, begin - begin / 2);
    return 0;
}

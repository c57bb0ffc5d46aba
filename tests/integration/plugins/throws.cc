/* SPDX-License-Identifier: MIT
 * A C++ plugin that throws what nobody catches: where RUN, CHECK or LOAD says. */
#include <rota/plugin.h>

#include <new>
#include <stdexcept>
#include <thread>

static int throw_it()
{
    throw std::runtime_error("thrown by the plugin");
}

#ifdef LOAD
static const int at_load = throw_it();
#endif

static int run(const rota_run *r)
{
#ifdef THREAD
    std::thread(throw_it).join();
#endif
#ifdef CAUGHT
    try {
        throw_it();
    } catch (const std::exception &e) {
        return rota_fail(r, ROTA_REFUSED, "%s", e.what());
    }
#endif
    return rota_is_set(r, "nowhere") ? ROTA_NOTHING : throw_it();
}

static int check(const rota_run *r)
{
#ifdef CHECK
    return throw_it();
#endif
    return rota_is_set(r, "nowhere");
}

static const rota_param params[] = {
    { .name = "nowhere", .type = ROTA_STRING, .flags = 0, .def = nullptr, .min = nullptr,
      .max = nullptr, .choices = nullptr, .help = nullptr },
    {},
};

ROTA_PLUGIN(.needs = 0, .name = "throws", .version = "1", .summary = "Throws.", .params = params,
            .run = run, .check = check);

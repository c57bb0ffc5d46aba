/* SPDX-License-Identifier: MIT
 * core/memory_fleet.h: what the in-memory store keeps of the fleet: the keys of
 * redis/scripts/{hello,index,config_get,config_put}.lua, as far as their replies depend on them. */
#ifndef ROTA_CORE_MEMORY_FLEET_H
#define ROTA_CORE_MEMORY_FLEET_H
#include "core/memory_table.h"
#include "core/store.h"

/* A digest's and a boot id's, with the end. */
#define MEMORY_DIGEST_SIZE 65
#define MEMORY_BOOT_SIZE 41
/* Configurations: the scripts keep 64, and one more where the clock was set back; one is on its
 * way. */
#define MEMORY_CONFS_MAX 66

struct memory_greeter {
    char name[MEMORY_NAME_SIZE]; /* a device's */
    struct wall time;            /* of its last hello; 0: none is known */
    char boot[MEMORY_BOOT_SIZE], older_boot[MEMORY_BOOT_SIZE];
    char digest[MEMORY_DIGEST_SIZE]; /* of its configuration; "": none */
};

struct memory_settled {
    char name[MEMORY_NAME_SIZE]; /* a job's key */
    struct wall done;            /* 0: not known */
};

struct memory_conf {
    char digest[MEMORY_DIGEST_SIZE];
    struct wall seen;
    bool has_text;
    uint32_t slot; /* of its text */
};

/* The caller's arrays. */
struct memory_fleet_room {
    struct memory_greeter *devices;
    struct memory_settled *jobs;
    uint32_t *devices_by_name, *jobs_by_name; /* of as many as devices and jobs */
    uint32_t devices_max, jobs_max;
    char *texts; /* MEMORY_CONFS_MAX of text_size bytes each */
    size_t text_size;
    struct wall *done; /* STORE_HELLO_JOBS_MAX: those of the last answer */
};

/* All zero but the room: nothing is kept. Where the room does not last, the answer is STORE_ERROR
 * with FAULT_STORAGE. */
struct memory_fleet {
    struct memory_fleet_room room;
    /* The hour's number since the epoch; the weights of this hour's hellos and the last one's; how
     * many they were; and how many first ones. */
    int64_t hour, now_ms, before_ms;
    uint32_t hellos, hellos_before, boots, boots_before;
    uint32_t devices, jobs; /* in use */
    uint32_t look_at_device, look_at_job;
    struct memory_conf confs[MEMORY_CONFS_MAX]; /* the eldest first */
    uint32_t conf_count;
    char others[STORE_HELLO_OTHERS_MAX][MEMORY_DIGEST_SIZE]; /* of the last answer */
    /* Last milliseconds of each as a whole. */
    struct wall size_end, devices_end, jobs_end, texts_end, confs_end;
};

/* As memory_answer(), for STORE_HELLO, STORE_INDEX, STORE_CONFIG_GET and STORE_CONFIG_PUT. */
void memory_fleet_answer(struct memory_fleet *f, struct wall now,
                         const struct store_request *request, struct store_reply *ret_reply);
#endif

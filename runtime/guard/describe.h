/* SPDX-License-Identifier: MIT
 * guard/describe.h: `rota-guard --describe FILE`: a plugin's contract for people. */
#ifndef ROTA_GUARD_DESCRIBE_H
#define ROTA_GUARD_DESCRIBE_H
/* Loads the file into this process, as the user who named it. The program's exit status. */
int describe_main(const char *file);
/* What to write instead of a file that is not there, where a plugin's name was written: "" or
 * "; ...". */
const char *describe_advice(const char *file);
#endif

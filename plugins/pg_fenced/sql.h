/* SPDX-License-Identifier: MIT
 * sql.h: the operator's SQL, from the parameter sql or the file that sql_file names. */
#ifndef FENCED_SQL_H
#define FENCED_SQL_H
#include <rota/plugin.h>

/* ROTA_SUCCEEDED; or ROTA_REFUSED, and why is told. A file may come later. */
int sql_check(const struct rota_run *r);
/* ROTA_SUCCEEDED, and the text, to be freed; or another result, and why is told. */
int sql_read(const struct rota_run *r, char **ret_sql);
/* How messages name it: "sql", or the file. */
const char *sql_name(const struct rota_run *r);
#endif

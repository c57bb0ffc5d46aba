/* SPDX-License-Identifier: MIT
 * failing.h: whose fault it is that a statement failed, and what is said of it. */
#ifndef FAILING_H
#define FAILING_H
#include "batch.h"

/* The other rows of the batch may well be handled: it is for on_failure. */
bool failing_is_of_row(const struct session *s);

/* Each tells why the run ends, and returns its result. */
int failing_flight(const struct queue *q, enum session_end end);
int failing_statement(const struct queue *q, const char *param);
int failing_row(const struct queue *q, const PGresult *rows, int row, const char *param);
int failing_commit(const struct queue *q);
int failing_conflict(const struct queue *q, int times);
int failing_stop(const struct queue *q);
int failing_repeat(const struct queue *q, const PGresult *rows, int row);
int failing_parameter(const struct queue *q, const char *param, int highest, int count);
int failing_memory(const struct queue *q);
#endif

-- SPDX-License-Identifier: MIT
-- The table in which rota's plugin pg_fenced keeps, for each job, the newest fence that has written. Once for a
-- database, by its owner:  psql -d shop -f rota_fence.sql
-- Then, for the user that the jobs log in as:  GRANT SELECT, INSERT, UPDATE ON rota_fence TO reports;
CREATE TABLE rota_fence (
    name   text        PRIMARY KEY,             -- the job, or its fence_name
    fence  bigint      NOT NULL,                -- of the lease that has written last
    turn   bigint      NOT NULL,                -- the turn that was done then, Unix milliseconds
    device text        NOT NULL,                -- who that was, for people
    at     timestamptz NOT NULL DEFAULT now()   -- when, by the database's clock
);

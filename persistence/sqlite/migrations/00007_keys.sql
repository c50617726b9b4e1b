-- +goose Up

-- The keys of callers, in the order in which they were made. Of a secret there is
-- only a hash, keyed as those of tombstones are. revoked_ms is 0 while a key is
-- good. Nothing was ever stored in the table that this one replaces.
DROP TABLE keys;
CREATE TABLE keys (
    num         INTEGER PRIMARY KEY,
    id          TEXT    NOT NULL UNIQUE,
    secret_hash BLOB    NOT NULL UNIQUE,
    owner       TEXT    NOT NULL,
    role        TEXT    NOT NULL CHECK (role IN ('user', 'admin')),
    name        TEXT    NOT NULL,
    per_second  INTEGER NOT NULL,
    burst       INTEGER NOT NULL,
    created_ms  INTEGER NOT NULL,
    revoked_ms  INTEGER NOT NULL DEFAULT 0
) STRICT;

-- +goose Up

-- What owners have saved to make sessions from. It is configuration, as keys are,
-- and hangs on no session. num is never used again, so that a claim on it finds
-- this agent or none. Into settings the database does not look.
CREATE TABLE saved_agents (
    num         INTEGER PRIMARY KEY AUTOINCREMENT,
    owner       TEXT    NOT NULL,
    id          TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    profile_key TEXT    NOT NULL,
    settings    BLOB    NOT NULL,
    metadata    TEXT    NOT NULL,
    created_ms  INTEGER NOT NULL,
    updated_ms  INTEGER NOT NULL,
    version     INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX saved_agents_by_id ON saved_agents (owner, id);

-- Which request saved which agent, also when that is gone. Both tables hold keyed
-- hashes, never an id.
CREATE TABLE agent_claims (
    request_hash BLOB    PRIMARY KEY,
    num          INTEGER NOT NULL,
    fingerprint  BLOB    NOT NULL,
    expires_ms   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX agent_claims_expiring ON agent_claims (expires_ms);

CREATE TABLE agent_tombstones (
    agent_hash BLOB    PRIMARY KEY,
    expires_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX agent_tombstones_expiring ON agent_tombstones (expires_ms);

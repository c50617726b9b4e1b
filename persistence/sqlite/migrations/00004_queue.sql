-- +goose Up

-- Prompts that are not in the history yet: of queued turns, and texts that wait
-- for the next model call of the turn waits_for (its num, 0 for none). Queued
-- turns start in the order of place and num. A text has what it needs to become
-- a turn.
CREATE TABLE pending_prompts (
    num               INTEGER PRIMARY KEY,
    sid               INTEGER NOT NULL REFERENCES sessions (sid),
    turn_id           TEXT    NOT NULL UNIQUE,
    request_id        TEXT    NOT NULL,
    waits_for         INTEGER NOT NULL,
    place             INTEGER NOT NULL,
    steers            INTEGER NOT NULL CHECK (steers IN (0, 1)),
    created_ms        INTEGER NOT NULL,
    claim_ttl_ms      INTEGER NOT NULL,
    max_iterations    INTEGER NOT NULL,
    prompt_timeout_ms INTEGER NOT NULL,
    inference         TEXT    NOT NULL,
    body              BLOB    NOT NULL,
    crc               INTEGER NOT NULL
) STRICT;
CREATE INDEX pending_prompts_by_session ON pending_prompts (sid);

-- How many texts the turn was ever sent.
ALTER TABLE turns ADD COLUMN steered INTEGER NOT NULL DEFAULT 0;

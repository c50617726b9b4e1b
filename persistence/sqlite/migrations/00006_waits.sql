-- +goose Up

-- Calls that clients answer, in the order of place within their turn (its num).
-- digest is of the answer, NULL while there is none. When the turn waits no more
-- those without an answer go, and of the others what their answers are told apart
-- by stays, for as long as the session lives. A call may wait once for its approval
-- and once for its result.
CREATE TABLE waited_calls (
    sid        INTEGER NOT NULL REFERENCES sessions (sid),
    turn       INTEGER NOT NULL,
    place      INTEGER NOT NULL,
    call_id    TEXT    NOT NULL,
    kind       TEXT    NOT NULL CHECK (kind IN ('approval', 'clientTool')),
    waits      INTEGER NOT NULL CHECK (waits IN (0, 1)),
    digest     BLOB,
    body       BLOB    NOT NULL,
    crc        INTEGER NOT NULL,
    answer     BLOB,
    answer_crc INTEGER,
    PRIMARY KEY (sid, call_id, kind)
) STRICT;
CREATE INDEX waited_calls_open ON waited_calls (sid, place) WHERE waits = 1;

-- For how long the turn has waited before, and since when it does, 0 for no wait.
ALTER TABLE turns ADD COLUMN wait_timeout_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN waited_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN waiting_since_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE pending_prompts ADD COLUMN wait_timeout_ms INTEGER NOT NULL DEFAULT 0;

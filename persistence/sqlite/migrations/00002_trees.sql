-- +goose Up

-- A parent's record of a sub-session, in the order of num. location alone decides
-- what it is. status and ended_ms are of remote children only; those of a local
-- one are its session's.
CREATE TABLE refs (
    num         INTEGER PRIMARY KEY,
    sid         INTEGER NOT NULL REFERENCES sessions (sid),
    child_id    TEXT    NOT NULL,
    location    TEXT    NOT NULL CHECK (location IN ('local', 'remote')),
    profile_key TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    host        TEXT    NOT NULL,
    turn_id     TEXT    NOT NULL,
    call_id     TEXT    NOT NULL,
    status      TEXT    NOT NULL,
    created_ms  INTEGER NOT NULL,
    ended_ms    INTEGER NOT NULL DEFAULT 0
) STRICT;

INSERT INTO refs (sid, child_id, location, profile_key, name, host, turn_id, call_id, status, created_ms)
    SELECT r.sid, r.child_id, r.location,
        coalesce((SELECT c.profile_key FROM sessions c JOIN sessions p ON p.owner = c.owner
            WHERE p.sid = r.sid AND c.id = r.child_id AND c.deleted_ms IS NULL), ''),
        '', '', '', '', CASE r.location WHEN 'remote' THEN 'idle' ELSE '' END, r.created_ms
    FROM sub_session_refs r ORDER BY r.created_ms, r.sid, r.child_id;

DROP TABLE sub_session_refs;
ALTER TABLE refs RENAME TO sub_session_refs;

CREATE UNIQUE INDEX sub_session_refs_once ON sub_session_refs (sid, child_id);
CREATE UNIQUE INDEX sub_session_refs_by_call ON sub_session_refs (sid, turn_id, call_id) WHERE call_id <> '';
CREATE UNIQUE INDEX sub_session_refs_by_name ON sub_session_refs (sid, host, profile_key, name) WHERE name <> '';
CREATE INDEX sub_session_refs_by_child ON sub_session_refs (child_id);

CREATE INDEX sessions_forked_from ON sessions (owner, forked_from) WHERE forked_from <> '';

-- Sessions that were deleted and whose end somebody still has to hear of, oldest
-- first. epoch is the one they ended in.
CREATE TABLE unheard_deletes (
    num        INTEGER PRIMARY KEY,
    owner      TEXT    NOT NULL,
    session_id TEXT    NOT NULL,
    sid        INTEGER NOT NULL UNIQUE,
    epoch      INTEGER NOT NULL
) STRICT;

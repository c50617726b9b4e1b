-- +goose Up

-- The host itself: how often the file was opened, the key of the hashes in
-- tombstones, which is set at the first open, whether the last host closed the
-- file rather than leave it, and then left no file of frames to remove.
CREATE TABLE host (
    one           INTEGER PRIMARY KEY CHECK (one = 1),
    epoch         INTEGER NOT NULL,
    tombstone_key BLOB    NOT NULL,
    checks        INTEGER NOT NULL,
    closed        INTEGER NOT NULL DEFAULT 1,
    tidy          INTEGER NOT NULL DEFAULT 1
) STRICT;
INSERT INTO host (one, epoch, tombstone_key, checks) VALUES (1, 0, x'', 0);

-- cleared_sid is the owner's tombstone: every life up to it ended in a clear.
CREATE TABLE owners (
    owner       TEXT    PRIMARY KEY,
    generation  INTEGER NOT NULL DEFAULT 1,
    cleared_sid INTEGER NOT NULL DEFAULT 0,
    cleared_ms  INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE keys (
    key_hash   BLOB    PRIMARY KEY,
    owner      TEXT    NOT NULL REFERENCES owners (owner),
    name       TEXT    NOT NULL,
    admin      INTEGER NOT NULL CHECK (admin IN (0, 1)),
    created_ms INTEGER NOT NULL,
    revoked_ms INTEGER
) STRICT, WITHOUT ROWID;

-- sid is the incarnation: AUTOINCREMENT never issues one twice. filed says that
-- the session's frames are in files, first_frame which of them retention has
-- left.
CREATE TABLE sessions (
    sid               INTEGER PRIMARY KEY AUTOINCREMENT,
    owner             TEXT    NOT NULL REFERENCES owners (owner),
    generation        INTEGER NOT NULL,
    id                TEXT    NOT NULL,
    target_key        TEXT    NOT NULL,
    profile_key       TEXT    NOT NULL,
    epoch             INTEGER NOT NULL,
    status            TEXT    NOT NULL CHECK (status IN ('created', 'running', 'waiting', 'idle', 'failed', 'closed')),
    damaged           INTEGER NOT NULL DEFAULT 0,
    title             TEXT    NOT NULL,
    preview           TEXT    NOT NULL DEFAULT '',
    labels            TEXT    NOT NULL,
    parent_id         TEXT    NOT NULL,
    parent_location   TEXT    NOT NULL CHECK (parent_location IN ('', 'local', 'remote')),
    forked_from       TEXT    NOT NULL DEFAULT '',
    turn_count        INTEGER NOT NULL DEFAULT 0,
    message_count     INTEGER NOT NULL DEFAULT 0,
    frame_count       INTEGER NOT NULL DEFAULT 0,
    queued            INTEGER NOT NULL DEFAULT 0,
    created_ms        INTEGER NOT NULL,
    last_active_ms    INTEGER NOT NULL,
    closed_ms         INTEGER NOT NULL DEFAULT 0,
    closed_reason     TEXT    NOT NULL DEFAULT '',
    active_turn       TEXT    NOT NULL DEFAULT '',
    active_request    TEXT    NOT NULL DEFAULT '',
    active_started_ms INTEGER NOT NULL DEFAULT 0,
    input_tokens      INTEGER NOT NULL DEFAULT 0,
    output_tokens     INTEGER NOT NULL DEFAULT 0,
    cached_tokens     INTEGER NOT NULL DEFAULT 0,
    calls             INTEGER NOT NULL DEFAULT 0,
    last_error        TEXT    NOT NULL DEFAULT '',
    deleted_ms        INTEGER,
    filed             INTEGER NOT NULL DEFAULT 0 CHECK (filed IN (0, 1)),
    first_frame       INTEGER NOT NULL DEFAULT 1,
    CHECK ((parent_id = '') = (parent_location = ''))
) STRICT;

CREATE UNIQUE INDEX sessions_by_id ON sessions (owner, id) WHERE deleted_ms IS NULL;
CREATE UNIQUE INDEX sessions_by_key ON sessions (owner, target_key, profile_key)
    WHERE deleted_ms IS NULL AND target_key <> '';
CREATE INDEX sessions_deleted ON sessions (deleted_ms) WHERE deleted_ms IS NOT NULL;

-- One keyset index for each filter of the list.
CREATE INDEX sessions_list ON sessions (owner, last_active_ms, id) WHERE deleted_ms IS NULL;
CREATE INDEX sessions_list_status ON sessions (owner, status, last_active_ms, id) WHERE deleted_ms IS NULL;
CREATE INDEX sessions_list_target ON sessions (owner, target_key, last_active_ms, id)
    WHERE deleted_ms IS NULL AND target_key <> '';
CREATE INDEX sessions_list_profile ON sessions (owner, profile_key, last_active_ms, id) WHERE deleted_ms IS NULL;
CREATE INDEX sessions_list_parent ON sessions (owner, parent_id, last_active_ms, id) WHERE deleted_ms IS NULL;

CREATE TABLE session_messages (
    sid        INTEGER NOT NULL REFERENCES sessions (sid),
    seq        INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    body       BLOB    NOT NULL,
    crc        INTEGER NOT NULL,
    PRIMARY KEY (sid, seq)
) STRICT;

-- A removed value keeps its row, so that its versions never repeat in a life.
CREATE TABLE session_state (
    sid        INTEGER NOT NULL REFERENCES sessions (sid),
    name       TEXT    NOT NULL,
    version    INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    removed    INTEGER NOT NULL DEFAULT 0,
    body       BLOB    NOT NULL,
    crc        INTEGER NOT NULL,
    PRIMARY KEY (sid, name)
) STRICT;

-- turn is the num of the frame's turn, 0 for none. A frame about a message
-- names it by message_seq and has no body of its own.
CREATE TABLE activity_frames (
    sid         INTEGER NOT NULL REFERENCES sessions (sid),
    seq         INTEGER NOT NULL,
    turn        INTEGER NOT NULL,
    type        TEXT    NOT NULL,
    at_ms       INTEGER NOT NULL,
    message_seq INTEGER NOT NULL DEFAULT 0,
    body        BLOB    NOT NULL,
    crc         INTEGER NOT NULL,
    PRIMARY KEY (sid, seq)
) STRICT;

-- The frames of a session that is filed: from first_seq up to the next run they
-- are in the file of one turn.
CREATE TABLE frame_runs (
    sid       INTEGER NOT NULL REFERENCES sessions (sid),
    first_seq INTEGER NOT NULL,
    turn      INTEGER NOT NULL,
    PRIMARY KEY (sid, first_seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE turns (
    num               INTEGER PRIMARY KEY,
    sid               INTEGER NOT NULL REFERENCES sessions (sid),
    turn_id           TEXT    NOT NULL UNIQUE,
    request_id        TEXT    NOT NULL,
    status            TEXT    NOT NULL CHECK (status IN
        ('queued', 'running', 'waiting', 'completed', 'failed', 'cancelled', 'interrupted')),
    created_ms        INTEGER NOT NULL,
    started_ms        INTEGER NOT NULL,
    ended_ms          INTEGER NOT NULL DEFAULT 0,
    iterations        INTEGER NOT NULL DEFAULT 0,
    attempts          INTEGER NOT NULL DEFAULT 0,
    input_tokens      INTEGER NOT NULL DEFAULT 0,
    output_tokens     INTEGER NOT NULL DEFAULT 0,
    cached_tokens     INTEGER NOT NULL DEFAULT 0,
    calls             INTEGER NOT NULL DEFAULT 0,
    error             TEXT    NOT NULL DEFAULT '',
    max_iterations    INTEGER NOT NULL,
    prompt_timeout_ms INTEGER NOT NULL,
    first_frame       INTEGER NOT NULL,
    last_frame        INTEGER NOT NULL DEFAULT 0,
    user_seq          INTEGER NOT NULL,
    final_seq         INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX turns_by_session ON turns (sid);
CREATE INDEX turns_by_request ON turns (sid, request_id);
CREATE UNIQUE INDEX turns_active ON turns (sid) WHERE status IN ('running', 'waiting');
CREATE INDEX turns_busy ON turns (num) WHERE status IN ('queued', 'running', 'waiting');

-- A parent's record of a sub-session. location alone decides what it is.
CREATE TABLE sub_session_refs (
    sid        INTEGER NOT NULL REFERENCES sessions (sid),
    child_id   TEXT    NOT NULL,
    location   TEXT    NOT NULL CHECK (location IN ('local', 'remote')),
    address    TEXT,
    created_ms INTEGER NOT NULL,
    PRIMARY KEY (sid, child_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX sub_session_refs_by_child ON sub_session_refs (child_id);

-- expires_ms is NULL while the claim's turn has not ended.
CREATE TABLE dedupe_claims (
    owner       TEXT    NOT NULL,
    request_id  TEXT    NOT NULL,
    sid         INTEGER NOT NULL REFERENCES sessions (sid),
    fingerprint BLOB    NOT NULL,
    turn_id     TEXT    NOT NULL,
    appended    INTEGER NOT NULL DEFAULT 0,
    expires_ms  INTEGER,
    PRIMARY KEY (owner, request_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX dedupe_claims_by_session ON dedupe_claims (sid);
CREATE INDEX dedupe_claims_expiring ON dedupe_claims (expires_ms) WHERE expires_ms IS NOT NULL;

-- Tombstones hold keyed hashes, never an id or a key.
CREATE TABLE claim_tombstones (
    request_hash BLOB    PRIMARY KEY,
    session_hash BLOB    NOT NULL,
    sid          INTEGER NOT NULL,
    fingerprint  BLOB    NOT NULL,
    expires_ms   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX claim_tombstones_by_session ON claim_tombstones (session_hash);
CREATE INDEX claim_tombstones_expiring ON claim_tombstones (expires_ms);

CREATE TABLE session_tombstones (
    session_hash BLOB    PRIMARY KEY,
    sid          INTEGER NOT NULL,
    expires_ms   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX session_tombstones_expiring ON session_tombstones (expires_ms);

-- day counts days since the Unix epoch, UTC.
CREATE TABLE usage (
    sid           INTEGER NOT NULL REFERENCES sessions (sid),
    day           INTEGER NOT NULL,
    model         TEXT    NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    calls         INTEGER NOT NULL,
    PRIMARY KEY (sid, day, model)
) STRICT, WITHOUT ROWID;

CREATE TABLE owner_usage (
    owner         TEXT    NOT NULL REFERENCES owners (owner),
    day           INTEGER NOT NULL,
    model         TEXT    NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    calls         INTEGER NOT NULL,
    PRIMARY KEY (owner, day, model)
) STRICT, WITHOUT ROWID;

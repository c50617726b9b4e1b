-- +goose Up

-- What stands for the beginning of a conversation in what a model gets: the newest
-- counts, earlier ones are for forks. kept_seq is 0 for none.
CREATE TABLE session_summaries (
    sid         INTEGER NOT NULL REFERENCES sessions (sid),
    through_seq INTEGER NOT NULL,
    kept_seq    INTEGER NOT NULL,
    created_ms  INTEGER NOT NULL,
    body        BLOB    NOT NULL,
    crc         INTEGER NOT NULL,
    PRIMARY KEY (sid, through_seq)
) STRICT;

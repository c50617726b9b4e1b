-- +goose Up

-- What consumed: '' for the model calls of turns. A table without rowids cannot get
-- another primary key.
ALTER TABLE usage RENAME TO usage_before;
ALTER TABLE owner_usage RENAME TO owner_usage_before;

CREATE TABLE usage (
    sid           INTEGER NOT NULL REFERENCES sessions (sid),
    day           INTEGER NOT NULL,
    model         TEXT    NOT NULL,
    kind          TEXT    NOT NULL DEFAULT '',
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    calls         INTEGER NOT NULL,
    PRIMARY KEY (sid, day, model, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE owner_usage (
    owner         TEXT    NOT NULL REFERENCES owners (owner),
    day           INTEGER NOT NULL,
    model         TEXT    NOT NULL,
    kind          TEXT    NOT NULL DEFAULT '',
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    calls         INTEGER NOT NULL,
    PRIMARY KEY (owner, day, model, kind)
) STRICT, WITHOUT ROWID;

INSERT INTO usage SELECT sid, day, model, '', input_tokens, output_tokens, cached_tokens, calls FROM usage_before;
INSERT INTO owner_usage SELECT owner, day, model, '', input_tokens, output_tokens, cached_tokens, calls FROM owner_usage_before;

DROP TABLE usage_before;
DROP TABLE owner_usage_before;

-- +goose Up

-- When a turn last went on after a wait or a stop of the host, 0 for never: no frame
-- tells it.
ALTER TABLE turns ADD COLUMN resumed_ms INTEGER NOT NULL DEFAULT 0;

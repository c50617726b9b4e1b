-- +goose Up

-- What the turn asks of models beside the conversation, as JSON; '' for nothing.
ALTER TABLE turns ADD COLUMN inference TEXT NOT NULL DEFAULT '';

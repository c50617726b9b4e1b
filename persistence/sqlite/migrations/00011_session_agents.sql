-- +goose Up

-- The saved agent that a session was made from, '' for none. It is a name and no
-- reference: the agent may be gone.
ALTER TABLE sessions ADD COLUMN agent_id TEXT NOT NULL DEFAULT '';
CREATE INDEX sessions_by_agent ON sessions (owner, agent_id, id) WHERE agent_id <> '' AND deleted_ms IS NULL;

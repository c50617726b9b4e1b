package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"io/fs"
	"path"

	"github.com/pressly/goose/v3"

	"agenthost/sessions"
)

//go:embed migrations/*.sql
var embedded embed.FS

// upgrade brings the schema of db to the version of this program.
func upgrade(ctx context.Context, db *sql.DB) error {
	files, err := fs.Sub(embedded, "migrations")
	if err != nil {
		return unavailable("The schema of the store cannot be read.", err)
	}
	return migrate(ctx, db, files)
}

const createHashes = `CREATE TABLE IF NOT EXISTS migration_hashes (
    version INTEGER PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL) STRICT`

// migrate brings the schema of db to the newest version in files. It refuses a
// database that is newer than the program, and one whose applied migrations
// differ from the program's.
func migrate(ctx context.Context, db *sql.DB, files fs.FS) error {
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files,
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return unavailable("The schema of the store cannot be read.", err)
	}
	if _, err := db.ExecContext(ctx, createHashes); err != nil {
		return translate(err)
	}
	current, target, err := provider.GetVersions(ctx)
	if err != nil {
		return translate(err)
	}
	if current > target {
		return sessions.Errorf(sessions.CodeConflict,
			"The store has schema version %d and this program knows %d; use a newer program.", current, target)
	}
	if err := checkHashes(ctx, db, files); err != nil {
		return err
	}
	if _, err := provider.Up(ctx); hasKnownCause(err) {
		return translate(err)
	} else if err != nil {
		return sessions.Errorf(sessions.CodeConflict,
			"The store's schema, version %d, cannot be brought to version %d; use the program that made the store.", current, target).Because(err)
	}
	return recordHashes(ctx, db, files, provider.ListSources())
}

func hashOf(files fs.FS, name string) (string, error) {
	text, err := fs.ReadFile(files, name)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// checkHashes compares what was applied with what the program holds.
func checkHashes(ctx context.Context, db *sql.DB, files fs.FS) error {
	rows, err := db.QueryContext(ctx, "SELECT name, sha256 FROM migration_hashes")
	if err != nil {
		return translate(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name, recorded string
		if err := rows.Scan(&name, &recorded); err != nil {
			return translate(err)
		}
		if have, err := hashOf(files, name); err != nil || have != recorded {
			return sessions.Errorf(sessions.CodeConflict,
				"Migration %s was applied with another content than this program has; use the program that made the store.", name).Because(err)
		}
	}
	return translate(rows.Err())
}

// recordHashes adds the hashes of what was applied since the last time.
func recordHashes(ctx context.Context, db *sql.DB, files fs.FS, sources []*goose.Source) error {
	for _, source := range sources {
		name := path.Base(source.Path)
		sum, err := hashOf(files, name)
		if err != nil {
			return unavailable("The schema of the store cannot be read.", err)
		}
		if _, err := db.ExecContext(ctx,
			"INSERT INTO migration_hashes (version, name, sha256) VALUES (?, ?, ?) ON CONFLICT (version) DO NOTHING",
			source.Version, name, sum); err != nil {
			return translate(err)
		}
	}
	return nil
}

package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver named "sqlite"

	"agenthost/sessions"
)

// minVersion is the oldest SQLite whose write-ahead log is free of a fault that
// can damage the file.
const minVersion = 3_051_003

// fileURL names the file to the driver, whatever characters its path has.
func fileURL(full string, query url.Values) string {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(full), RawQuery: query.Encode()}
	return u.String()
}

// openReaders returns the pool of read-only connections, none open yet.
func openReaders(full string) (*sql.DB, error) {
	return sql.Open("sqlite", fileURL(full, url.Values{
		"mode":    {"ro"},
		"_pragma": {"busy_timeout(5000)", "query_only(1)", "temp_store(2)"},
	}))
}

// dialWriter opens the writing connection and checks what the store relies on.
func dialWriter(ctx context.Context, full, durability string) (*link, error) {
	synchronous := "synchronous(FULL)"
	if durability == DurabilityProcess {
		synchronous = "synchronous(NORMAL)"
	}
	db, err := sql.Open("sqlite", fileURL(full, url.Values{
		"_txlock": {"immediate"},
		"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", synchronous, "foreign_keys(1)",
			"secure_delete(1)", "temp_store(2)",
			fmt.Sprintf("wal_autocheckpoint(%d)", checkpointPages)},
	}))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if err := checkEngine(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if err := upgrade(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	l, err := newLink(ctx, db)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return l, nil
}

func checkEngine(ctx context.Context, db *sql.DB) error {
	var version, mode string
	var foreignKeys, major, minor, patch int
	err := db.QueryRowContext(ctx, `SELECT sqlite_version(),
        (SELECT foreign_keys FROM pragma_foreign_keys), (SELECT journal_mode FROM pragma_journal_mode)`).
		Scan(&version, &foreignKeys, &mode)
	if err != nil {
		return err
	}
	if _, err := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); err != nil {
		return err
	}
	if major*1_000_000+minor*1_000+patch < minVersion {
		return sessions.Errorf(sessions.CodeInternal, "SQLite is %s and must be at least 3.51.3; build with a newer driver.", version)
	}
	if foreignKeys != 1 || mode != "wal" {
		return sessions.Errorf(sessions.CodeInternal,
			"The store needs foreign keys and a write-ahead log; the file has foreign_keys %d and journal mode %s.", foreignKeys, mode)
	}
	return nil
}

// opening is what the store must know of its file before it serves.
type opening struct {
	tombstoneKey []byte
	newest       sessions.Time // the newest activity of any session
	clean        bool          // the last process closed the store
	tidy         bool          // and knew of no file that was left to remove
}

// enter counts the opening, makes the tombstone key of a new file, and finds
// the newest activity by one look per owner.
func (s *Store) enter(ctx context.Context, l *link) (opening, error) {
	var o opening
	fresh := make([]byte, 32)
	rand.Read(fresh) // never fails
	if err := l.tx.row(ctx, "SELECT closed, tidy FROM host WHERE one = 1").Scan(&o.clean, &o.tidy); err != nil {
		return o, err
	}
	err := l.tx.row(ctx, `UPDATE host SET epoch = epoch + 1, closed = 0,
        tombstone_key = CASE length(tombstone_key) WHEN 0 THEN ? ELSE tombstone_key END
        WHERE one = 1 RETURNING tombstone_key`, fresh).Scan(&o.tombstoneKey)
	if err != nil {
		return o, err
	}
	err = l.tx.row(ctx, `SELECT coalesce(max((SELECT last_active_ms FROM sessions INDEXED BY sessions_list
        WHERE owner = o.owner AND deleted_ms IS NULL ORDER BY last_active_ms DESC LIMIT 1)), 0)
        FROM owners o`).Scan(&o.newest)
	return o, err
}

// Package rows reads databases as tests see them: by the schema as it is, so that
// a table of tomorrow is looked at too.
package rows

import (
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"
)

// Source is a database, or one connection to it.
type Source interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Query returns the columns of a query's answer, and its cells as text.
func Query(t testing.TB, from Source, query string, args ...any) (columns []string, cells [][]string) {
	t.Helper()
	found, err := from.QueryContext(context.WithoutCancel(t.Context()), query, args...)
	require.NoError(t, err)
	defer found.Close()
	columns, err = found.Columns()
	require.NoError(t, err)
	for found.Next() {
		texts, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range texts {
			into[i] = &texts[i]
		}
		require.NoError(t, found.Scan(into...))
		row := make([]string, len(columns))
		for i, text := range texts {
			row[i] = text.String
		}
		cells = append(cells, row)
	}
	require.NoError(t, found.Err())
	return columns, cells
}

// Column returns the first column of a query's answer.
func Column(t testing.TB, from Source, query string, args ...any) []string {
	t.Helper()
	_, cells := Query(t, from, query, args...)
	var values []string
	for _, row := range cells {
		values = append(values, row[0])
	}
	return values
}

// Tables names the tables of a database, whatever views stand before them.
func Tables(t testing.TB, from Source) []string {
	t.Helper()
	return Column(t, from, "SELECT name FROM main.sqlite_schema WHERE type = 'table' ORDER BY name")
}

// Of returns the columns and the rows of a table.
func Of(t testing.TB, from Source, table string) (columns []string, cells [][]string) {
	t.Helper()
	return Query(t, from, `SELECT * FROM main."`+table+`"`)
}

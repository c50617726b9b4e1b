package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/persistence/sqlite"
)

func TestTheWriterHasTheOptionsTheStoreReliesOn(t *testing.T) {
	for durability, synchronous := range map[string]string{"": "2", sqlite.DurabilityPower: "2", sqlite.DurabilityProcess: "1"} {
		s := open(t, filepath.Join(t.TempDir(), "a.db"), sqlite.Config{Durability: durability})
		for name, want := range map[string]string{
			"synchronous":        synchronous,
			"journal_mode":       "wal",
			"foreign_keys":       "1",
			"secure_delete":      "1",
			"temp_store":         "2",
			"busy_timeout":       "5000",
			"wal_autocheckpoint": "900",
		} {
			got, err := s.Pragma(name)
			require.NoError(t, err)
			require.Equal(t, want, got, "%s of a store with durability %q", name, durability)
		}
	}
}

package sessions_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"agenthost/sessions"
)

func TestTimeOnTheWire(t *testing.T) {
	for ms, want := range map[sessions.Time]string{
		0:                   `"1970-01-01T00:00:00.000Z"`,
		1_700_000_000_000:   `"2023-11-14T22:13:20.000Z"`,
		1_700_000_000_007:   `"2023-11-14T22:13:20.007Z"`,
		-1:                  `"1969-12-31T23:59:59.999Z"`,
		253402300799999:     `"9999-12-31T23:59:59.999Z"`,
		-62_135_596_800_000: `"0001-01-01T00:00:00.000Z"`,
	} {
		wire, err := json.Marshal(ms)
		require.NoError(t, err)
		require.Equal(t, want, string(wire))
	}
}

func TestTimeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := sessions.Time(rapid.Int64Range(-62_135_596_800_000, 253402300799999).Draw(t, "ms"))
		wire, err := json.Marshal(at)
		require.NoError(t, err)
		var back sessions.Time
		require.NoError(t, json.Unmarshal(wire, &back))
		require.Equal(t, at, back)
		require.Equal(t, at, sessions.TimeOf(at.Std()))
	})
}

func TestTimeReadsAnyRFC3339(t *testing.T) {
	for wire, want := range map[string]sessions.Time{
		`"2023-11-14T22:13:20Z"`:               1_700_000_000_000,
		`"2023-11-15T00:13:20.5+02:00"`:        1_700_000_000_500,
		`"2023-11-14T22:13:20.123999999Z"`:     1_700_000_000_123,
		`"2023-11-14T22:13:20.0000000000001Z"`: 1_700_000_000_000,
		"\"2023-11-14T22:13:20.000\\u005a\"":   1_700_000_000_000,
	} {
		var got sessions.Time
		require.NoError(t, json.Unmarshal([]byte(wire), &got), wire)
		require.Equal(t, want, got, wire)
	}
	for _, bad := range []string{`""`, `"now"`, `1700000000`, `{}`, `"2023-11-14"`, `"2023-11-14 22:13:20Z"`, `"2023-11-14T22:13:20"`, `"2023-02-30T00:00:00Z"`,
		`"9999-12-31T23:59:59-01:00"`, `"0000-01-01T00:00:00+01:00"`} {
		at := sessions.Time(7)
		require.Error(t, json.Unmarshal([]byte(bad), &at), bad)
		require.Equal(t, sessions.Time(7), at)
	}
}

func TestZeroTimeIsLeftOut(t *testing.T) {
	wire, err := json.Marshal(struct {
		At sessions.Time `json:"at,omitzero"`
	}{})
	require.NoError(t, err)
	require.Equal(t, `{}`, string(wire))
}

func TestTimeArithmetic(t *testing.T) {
	at := sessions.TimeOf(time.UnixMilli(1_000))
	require.Equal(t, sessions.Time(2_500), at.Add(1500*time.Millisecond))
	require.Equal(t, at, at.Add(time.Microsecond), "less than a millisecond does not count")
	require.Equal(t, 1500*time.Millisecond, sessions.Time(2_500).Sub(at))
	require.Equal(t, "1970-01-01T00:00:01.000Z", at.String())
}

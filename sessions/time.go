package sessions

import (
	"encoding/json"
	"fmt"
	"time"
)

// Time is an instant in milliseconds since the Unix epoch, UTC: the resolution
// in which the host stores and compares times. On the wire it is RFC 3339 with
// three fraction digits and Z. The zero Time means "none" and is left out of
// JSON by omitzero.
type Time int64

const wireTime = "2006-01-02T15:04:05.000Z"

// TimeOf returns t in milliseconds.
func TimeOf(t time.Time) Time { return Time(t.UnixMilli()) }

// Std returns the instant as a time.Time in UTC.
func (t Time) Std() time.Time { return time.UnixMilli(int64(t)).UTC() }

// Add returns the instant d later, in whole milliseconds.
func (t Time) Add(d time.Duration) Time { return t + Time(d.Milliseconds()) }

// Sub returns the time from u to t.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t-u) * time.Millisecond }

// String formats the instant as on the wire.
func (t Time) String() string { return t.Std().Format(wireTime) }

// MarshalJSON writes the wire form.
func (t Time) MarshalJSON() ([]byte, error) { return []byte(`"` + t.String() + `"`), nil }

// UnmarshalJSON reads the wire form.
func (t *Time) UnmarshalJSON(data []byte) error {
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	std, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return fmt.Errorf("not an RFC 3339 time: %w", err)
	}
	if year := std.UTC().Year(); year < 0 || year > 9999 {
		return fmt.Errorf("%q lies outside the years 0 to 9999 in UTC, which is all the wire form has room for", s)
	}
	*t = TimeOf(std)
	return nil
}

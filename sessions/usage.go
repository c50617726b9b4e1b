package sessions

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// UsageKind says what consumed something. Tools and embedders name kinds of
// their own; each kind is summed up apart from all others.
type UsageKind string

// The kinds of the host itself.
const (
	UsageOfTurns         UsageKind = ""              // model calls of turns
	UsageOfSideQuestions UsageKind = "sideQuestions" // model calls of side questions
)

// MaxUsageKindBytes is the longest name of a kind, in bytes.
const MaxUsageKindBytes = 64

// maxUsage is more than one record may count of anything. Sums of it do not
// overflow.
const maxUsage = 1 << 40

// UsageScope says whose usage is summed up.
type UsageScope string

// The scopes.
const (
	UsageBySession UsageScope = "session" // of one session
	UsageByTree    UsageScope = "tree"    // of it and its local descendants
	UsageByOwner   UsageScope = "owner"   // of all sessions there are or ever were
)

// AddUsage adds to the sums of a session and of its owner.
type AddUsage struct {
	Life  Incarnation
	Kind  UsageKind // one of UsageOfSideQuestions and the kinds of others
	Model string    // what consumed it; "" for nothing that has a name
	Usage Usage
	Now   Time
}

// Check returns INVALID_REQUEST when the kind is that of turns or no printable
// ASCII of up to 64 bytes, or when a count is negative or over 2^40.
func (c AddUsage) Check() error {
	odd := func(r rune) bool { return r <= ' ' || r > '~' }
	if c.Kind == UsageOfTurns || len(c.Kind) > MaxUsageKindBytes || strings.ContainsFunc(string(c.Kind), odd) {
		return InvalidField("/kind", "A kind of usage has 1 to %d printable ASCII characters without spaces.", MaxUsageKindBytes)
	}
	for _, n := range []int64{c.Usage.InputTokens, c.Usage.OutputTokens, c.Usage.CachedTokens, c.Usage.Calls} {
		if n < 0 || n > maxUsage {
			return InvalidField("/usage", "Usage counts from 0 to %d.", int64(maxUsage))
		}
	}
	return nil
}

// CheckForeign is Check for what tools and embedders add: the host's own kinds are
// INVALID_REQUEST too.
func (c AddUsage) CheckForeign() error {
	if c.Kind == UsageOfSideQuestions {
		return InvalidField("/kind", "The kind %q is the host's own; use another name.", c.Kind)
	}
	return c.Check()
}

// Tokens is what budgets count: input and output together.
func (u Usage) Tokens() int64 { return u.InputTokens + u.OutputTokens }

// UsageQuery asks for sums of usage.
type UsageQuery struct {
	By    UsageScope
	Owner Owner
	Life  Incarnation // not with UsageByOwner
	Since Time        // only of this time's day, in UTC, and later; 0 means all
}

// UsageSum is what was consumed on one day by one model for one kind.
type UsageSum struct {
	Day   int64 // in UTC, since the Unix epoch
	Model string
	Kind  UsageKind
	Usage Usage
}

const msPerDay = 24 * 60 * 60 * 1000

// Day is the number of the instant's day in UTC, since the Unix epoch.
func (t Time) Day() int64 { return int64(t) / msPerDay }

// UsageReport is usage as clients see it: that of turns, and apart from it that
// of side questions and of each kind of others.
type UsageReport struct {
	Usage
	SideQuestions Usage               `json:"sideQuestions"`
	Kinds         map[UsageKind]Usage `json:"kinds,omitempty"`
	Days          []DayUsage          `json:"days,omitempty"` // newest first
}

// DayUsage is one row of a report by days.
type DayUsage struct {
	Day   string    `json:"day"` // such as 2026-11-30, in UTC
	Model string    `json:"model"`
	Kind  UsageKind `json:"kind,omitempty"` // "" for turns
	Usage
}

// ReportUsage adds sums up by kind, without Days.
func ReportUsage(sums []UsageSum) UsageReport {
	var r UsageReport
	for _, sum := range sums {
		switch sum.Kind {
		case UsageOfTurns:
			r.Usage = r.Plus(sum.Usage)
		case UsageOfSideQuestions:
			r.SideQuestions = r.SideQuestions.Plus(sum.Usage)
		default:
			if r.Kinds == nil {
				r.Kinds = map[UsageKind]Usage{}
			}
			r.Kinds[sum.Kind] = r.Kinds[sum.Kind].Plus(sum.Usage)
		}
	}
	return r
}

// UsageDays returns sums as rows of a report, newest first, without those of days
// before from.
func UsageDays(sums []UsageSum, from Time) (days []DayUsage) {
	sorted := slices.SortedFunc(slices.Values(sums), func(a, b UsageSum) int {
		return cmp.Or(cmp.Compare(b.Day, a.Day), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Kind, b.Kind))
	})
	for _, sum := range sorted {
		if sum.Day >= from.Day() {
			day := Time(sum.Day * msPerDay).Std().Format(time.DateOnly)
			days = append(days, DayUsage{Day: day, Model: sum.Model, Kind: sum.Kind, Usage: sum.Usage})
		}
	}
	return days
}

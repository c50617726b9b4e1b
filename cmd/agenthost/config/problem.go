package config

import (
	"strconv"
	"strings"

	"agenthost/sessions"
)

// problem is INVALID_REQUEST about what is written at origin: a file, a
// variable or a flag.
func problem(origin, format string, args ...any) *sessions.Error {
	e := sessions.Errorf(sessions.CodeInvalidRequest, format, args...)
	e.Message = origin + ": " + e.Message
	return e
}

// unknownKey names the key, the nearest one, and all there are in its place.
func unknownKey(k key, origin string) *sessions.Error {
	fields := fieldsOf(k.section)
	if len(fields) == 0 {
		k, fields = key{field: k.section}, fieldsOf("")
	}
	near := k
	near.field = nearest(k.field, fields)
	return problem(origin, "there is no setting %s; the nearest is %s. Settings in this place: %s.",
		strconv.Quote(k.String()), strconv.Quote(near.String()), strings.Join(fields, ", "))
}

// nearest returns the candidate that the fewest edits lead to, the first of
// equals. Case does not count.
func nearest(word string, candidates []string) string {
	best, fewest := "", -1
	for _, candidate := range candidates {
		n := edits(strings.ToLower(word), strings.ToLower(candidate))
		if fewest < 0 || n < fewest {
			best, fewest = candidate, n
		}
	}
	return best
}

// edits counts the insertions, deletions and replacements between two words.
func edits(a, b string) int {
	from, to := []rune(a), []rune(b)
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i := range from {
		diagonal := row[0]
		row[0] = i + 1
		for j := range to {
			replace := diagonal
			if from[i] != to[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(to)]
}

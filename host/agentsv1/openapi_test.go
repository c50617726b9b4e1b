package agentsv1

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is served is what is described, operation for operation.
func TestTheRoutesAreThoseDescribed(t *testing.T) {
	line := regexp.MustCompile(`^(?:  (/\S*)|    (get|put|post|delete|options|head|patch|trace)):$`)
	var described, served []string
	var path string
	for text := range strings.Lines(string(description)) {
		switch found := line.FindStringSubmatch(strings.TrimSuffix(text, "\n")); {
		case found == nil:
		case found[1] != "":
			path = found[1]
		default:
			described = append(described, strings.ToUpper(found[2])+" "+path)
		}
	}
	for _, r := range routes {
		served = append(served, r.method+" "+Path+r.pattern)
	}
	require.ElementsMatch(t, described, served)
}

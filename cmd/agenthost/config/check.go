package config

import (
	"fmt"
	"math"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"agenthost/tools"
)

// Each check is given a value of the right form, says what is wrong with it as
// the end of a sentence, and repeats no value that may hold a secret.

func oneOf(allowed ...string) func(any) string {
	return func(value any) string {
		if slices.Contains(allowed, value.(string)) {
			return ""
		}
		return fmt.Sprintf("is %q, but must be one of %s", value, strings.Join(allowed, ", "))
	}
}

func checkStore(value any) string {
	text := value.(string)
	scheme, rest, hasScheme := strings.Cut(text, ":")
	switch {
	case text == "", scheme == schemeSQLite && rest == "":
		return "needs a path, as in sqlite:agenthost.db"
	case hasScheme && scheme != schemeSQLite && !strings.ContainsAny(scheme, `/\`) && len(scheme) > 1:
		return fmt.Sprintf("names the store %q, which this version does not have; use sqlite:PATH", scheme)
	}
	return ""
}

func checkListen(value any) string {
	_, port, err := net.SplitHostPort(value.(string))
	if err != nil {
		return fmt.Sprintf("is %q, but must be host:port, as in 127.0.0.1:7777", value)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Sprintf("has the port %q, but a port is a number from 0 to 65535", port)
	}
	return ""
}

func checkPath(value any) string {
	text := value.(string)
	if path, err := tools.ParsePath(text); err != nil || path != text {
		return fmt.Sprintf("is %q, but must be a path such as /targets", text)
	}
	return ""
}

func checkTools(value any) string {
	for _, entry := range value.([]string) {
		if tools.CheckAllowed([]string{entry}) != nil {
			return fmt.Sprintf("has the entry %q, but each must be %s or a path such as /builtin", entry, tools.TargetEntry)
		}
	}
	return ""
}

func checkPaths(value any) string {
	for _, entry := range value.([]string) {
		if problem := checkPath(entry); problem != "" {
			return fmt.Sprintf("has the entry %q, but each must be a path such as /builtin/time", entry)
		}
	}
	return ""
}

func checkMaxIterations(value any) string {
	if value.(int64) > math.MaxInt32 {
		return fmt.Sprintf("must be at most %d", math.MaxInt32)
	}
	return ""
}

func checkURL(value any) string {
	u, err := url.Parse(value.(string))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "must be a URL that begins with http:// or https://"
	}
	if u.User != nil {
		return "must hold no user or password; secrets come by apiKeyEnv or apiKeyFile"
	}
	return ""
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// checkVariable is careful with its value: someone may have put the key itself
// where its variable's name belongs.
func checkVariable(value any) string {
	if variable.MatchString(value.(string)) {
		return ""
	}
	return "must be the name of an environment variable, as in OPENAI_API_KEY, never the key itself"
}

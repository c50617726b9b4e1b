package main

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// endless is a stdin that never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

func TestOddInputIsRefused(t *testing.T) {
	db := filepath.Join(t.TempDir(), "a.db")
	env := []string{"AGENTHOST_LISTEN=" + freeAddress(t)}
	for name, c := range map[string]struct {
		args  []string
		stdin io.Reader
		code  int
		says  string
	}{
		"a prompt without end":           {[]string{"--db", db, "prompt", "--target", "k", "-"}, endless{}, exitFailed, "PAYLOAD_TOO_LARGE: "},
		"a prompt that is no text":       {[]string{"--db", db, "prompt", "--target", "k", "-"}, strings.NewReader("a\xffb"), exitFailed, "INVALID_REQUEST: "},
		"an argument that is no text":    {[]string{"--db", db, "prompt", "--target", "k\xff", "hi"}, nil, exitUsage, "argument 5 is not valid UTF-8"},
		"a database that has no name":    {[]string{"--db", "", "sessions", "clear", "--yes"}, nil, exitUsage, "--db is empty"},
		"a host that has no name":        {[]string{"sessions", "list", "--host="}, nil, exitUsage, "--host is empty"},
		"a number that is none":          {[]string{"sessions", "list", "--limit", "x"}, nil, exitUsage, `agenthost: --limit is "x", but must be a whole number` + "\n"},
		"a number that is too large":     {[]string{"sessions", "list", "--limit", "99999999999999999999"}, nil, exitUsage, "but must be a whole number\n"},
		"a time that is none":            {[]string{"sessions", "delete", "id", "--grace", "x"}, nil, exitUsage, `--grace is "x", but must be a time such as 10s or 5m` + "\n"},
		"a choice that is none":          {[]string{"sessions", "list", "--json=x"}, nil, exitUsage, `--json is "x", but must be true or false` + "\n"},
		"a misspelt command":             {[]string{"promt", "hi"}, nil, exitUsage, `unknown command "promt"; did you mean prompt?` + "\n"},
		"a misspelt one with its flags":  {[]string{"promt", "--target", "t", "hi"}, nil, exitUsage, `unknown command "promt"; did you mean prompt?` + "\n"},
		"a misspelt command below":       {[]string{"sessions", "lst"}, nil, exitUsage, `unknown command "lst"; did you mean list?` + "\n"},
		"a command unlike any":           {[]string{"keys", "bogus"}, nil, exitUsage, `unknown command "bogus"; there are create, list, revoke` + "\n"},
		"no command":                     {[]string{"keys"}, nil, exitUsage, "name a command: create, list, revoke"},
		"a host without a port":          {[]string{"sessions", "list", "--host", "localhost"}, nil, exitUsage, `agenthost: the address "localhost" of the host has no port; use one such as 127.0.0.1:7777` + "\n"},
		"a host whose port is none":      {[]string{"sessions", "list", "--host", "http://localhost:99999"}, nil, exitUsage, `the port of the address "http://localhost:99999" is none; a port is a number from 1 to 65535` + "\n"},
		"a host with a password":         {[]string{"sessions", "list", "--host", "http://me:hunter2@127.0.0.1:1"}, nil, exitUsage, "agenthost: the address of the host has a user name in it; leave it out, since hosts know their callers by keys\n"},
		"a host that is no address":      {[]string{"sessions", "list", "--host", "http://[::1"}, nil, exitUsage, `the address "http://[::1" of the host is malformed; use one such as http://127.0.0.1:7777` + "\n"},
		"a socket without a path":        {[]string{"sessions", "list", "--host", "unix:"}, nil, exitUsage, "the address unix: has no path; use one such as unix:/run/agenthost.sock\n"},
		"a configuration without a name": {[]string{"--config=", "config"}, nil, exitUsage, "--config is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(context.Background(), append([]string{"agenthost"}, c.args...), env, c.stdin, &stdout, &stderr)
			require.Equal(t, c.code, code, stderr.String())
			require.Contains(t, stderr.String(), c.says)
			require.Empty(t, stdout.String())
		})
	}
}

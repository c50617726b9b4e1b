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

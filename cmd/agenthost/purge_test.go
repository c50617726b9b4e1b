package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/host/client"
	"agenthost/sessions"
)

// elsewhere is a host whose files are not on this machine. A purge of it takes
// until finish is closed.
func elsewhere(t *testing.T, files []string, finish <-chan struct{}) (address string, asked func() []api.Op) {
	t.Helper()
	var ops []api.Op
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"status":"ok"}`) })
	mux.HandleFunc("/v1/call", func(w http.ResponseWriter, r *http.Request) {
		var request api.Request
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		ops = append(ops, request.Op)
		var result any = struct{}{}
		if request.Op == api.OpPurge {
			if !strings.Contains(string(request.Args), "dryRun") {
				<-finish
			}
			result = api.PurgeResult{Compaction: sessions.Compaction{BytesBefore: 20, BytesAfter: 10, Files: files}}
		}
		line, err := api.Encode(api.ResultReply(request.ID, result))
		if err == nil {
			_, err = w.Write(line)
		}
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL, func() []api.Op { return ops }
}

var finished = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

func TestAPurgeOfAHostElsewhereSaysThatItProvesNothing(t *testing.T) {
	p := newProgram(t)
	lookalike := filepath.Join(p.folder, "a.db")
	require.NoError(t, os.WriteFile(lookalike, []byte("the database of another host"), 0o600))
	for files, why := range map[string]string{
		"/nowhere/a.db": "the host's files are not on this machine",
		lookalike:       "what was just stored is not in the files that are here, so that they are not the host's",
	} {
		address, asked := elsewhere(t, []string{files}, finished)
		purge := p.command("purge", "--host", address, "--find", "the database")
		out, err := purge.Output()
		exit := requireExit(t, err, 1)
		require.Equal(t, "purged, 20 bytes before and 10 bytes after\n", string(out))
		require.Equal(t, "NOT_SUPPORTED: The store was purged, but that cannot be proven from here, since "+why+
			"; run the command on the host's machine as the host's user.\n", exit)
		require.Equal(t, []api.Op{api.OpPurge, api.OpSessionCreate, api.OpSessionSeed, api.OpSessionDelete, api.OpPurge}, asked())
	}
}

func TestAPurgeShowsOnATerminalThatItGoesOn(t *testing.T) {
	p := newProgram(t)
	finish := make(chan struct{})
	address, _ := elsewhere(t, []string{"/nowhere/a.db"}, finish)
	purge := p.command("purge", "--host", address)
	x := openTerminal(t, purge)
	x.sees("\rcompacting… 1 s")
	close(finish)
	x.sees("purged, 20 bytes before and 10 bytes after")
	requireExit(t, purge.Wait(), 1)
}

// requireExit requires an exit code, and returns what was said on stderr.
func requireExit(t *testing.T, err error, code int) string {
	t.Helper()
	require.Equal(t, code, exitCode(err))
	exit, ok := errors.AsType[*exec.ExitError](err)
	require.True(t, ok)
	return string(exit.Stderr)
}

// A host is killed while it writes its database anew. Nothing is lost, and the
// next purge does what this one did not.
func TestAHostKilledInTheMiddleOfAPurge(t *testing.T) {
	p := newProgram(t)
	host, _ := p.serve()
	const seeds, size = 40, 900_000
	ctx := context.Background()
	c, err := client.Dial(ctx, p.listen, client.Config{})
	require.NoError(t, err)
	defer c.Close()
	for i := range seeds {
		word := "remember "
		if i%2 == 1 {
			word = "obliterate "
		}
		_, err := c.SessionSeed(ctx, api.SessionSeedArgs{Address: api.Address{TargetKey: fmt.Sprint(i)},
			Messages: []api.SeedMessage{{Role: sessions.RoleUser, Content: sessions.Text(strings.Repeat(word, size/len(word)))}}})
		require.NoError(t, err)
		if i%2 == 1 {
			_, err = c.SessionDelete(ctx, api.SessionDeleteArgs{Address: api.Address{TargetKey: fmt.Sprint(i)}})
			require.NoError(t, err)
		}
	}
	before, _ := p.run("sessions", "list", "--json")

	// What is kept goes through the journal, which is never so large otherwise.
	purged := make(chan error, 1)
	go func() { _, err := c.Purge(ctx, api.PurgeArgs{}); purged <- err }()
	journal := filepath.Join(p.folder, "agenthost.db-wal")
	require.NoError(t, await(func() bool {
		info, err := os.Stat(journal)
		return err == nil && info.Size() > seeds/2*size/3
	}))
	require.NoError(t, host.Process.Kill())
	require.Error(t, host.Wait())
	require.Error(t, <-purged, "nobody was told that it is done")
	info, err := os.Stat(journal)
	require.NoError(t, err)
	require.Positive(t, info.Size(), "the kill came in the middle")

	p.serve()
	after, _ := p.run("sessions", "list", "--json")
	require.Equal(t, before, after)
	out, _ := p.run("purge", "--find", "obliterate obliterate")
	require.Contains(t, out, "proven, ")
	page, err := c.Messages(ctx, api.MessagesArgs{Address: api.Address{TargetKey: "0"}})
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("remember ", size/len("remember ")), sessions.TextOf(page.Messages[0].Content))
}

package crash

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/sessions"
)

// plainly is a model with one answer.
const plainly = "steps: [{text: fine, repeat: true}]\n"

// say prompts the session of a key, once it is free, and requires the answer.
func say(t *testing.T, w *wire, key, text string) {
	t.Helper()
	prompt := api.PromptArgs{Address: byKey(key), Text: text}
	result, err := ask[api.PromptResult](waiting(t), w, api.OpPrompt, prompt)
	for sessions.CodeOf(err) == sessions.CodeAgentBusy {
		result, err = ask[api.PromptResult](waiting(t), w, api.OpPrompt, prompt)
	}
	require.NoError(t, err)
	require.Equal(t, "fine", sessions.TextOf(result.Message.Content))
}

// refusesToServe starts the command, requires that it ends at once, and returns
// what it said.
func refusesToServe(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	p, err := launch(cmd)
	require.NoError(t, err)
	if p.url != "" {
		p.kill()
		require.Fail(t, "it serves")
	}
	require.Equal(t, 1, cmd.ProcessState.ExitCode())
	return p.output.String()
}

func TestASecondHostIsRefusedNamingTheFirst(t *testing.T) {
	folder := t.TempDir()
	args := append(writeScript(t, folder, plainly), "--listen", "127.0.0.1:0")
	first := serve(t, folder, args...)
	said := refusesToServe(t, serveCommand(t, folder, args...))
	require.Contains(t, said, "CONFLICT")
	require.Contains(t, said, fmt.Sprintf("process %d", first.cmd.Process.Pid))
	w := wireTo(t, first.url)
	say(t, w, "k", "the first host is not disturbed")
	first.kill()
	serve(t, folder, args...).stop(t) // a lock ends with its process
}

// asNobody makes the command run without the rights of root, whom permissions
// do not bind.
func asNobody(t *testing.T, cmd *exec.Cmd, folder string) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	const nobody = 65534
	require.NoError(t, os.Chmod(within(folder, "/.."), 0o755)) // t.TempDir's own is closed to others
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	cmd.Env = append(os.Environ(), "HOME="+folder)
}

func TestAStoreThatCannotBeWrittenIsRefusedByName(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, folder string){
		"a file that may only be read": func(t *testing.T, folder string) {
			t.Helper()
			require.NoError(t, os.Chmod(folder, 0o777))
			require.NoError(t, os.Chmod(within(folder, "a.db.lock"), 0o666))
			require.NoError(t, os.Chmod(within(folder, "a.db"), 0o444))
		},
		"a folder that may only be read": func(t *testing.T, folder string) {
			t.Helper()
			require.NoError(t, os.Chmod(within(folder, "a.db"), 0o644))
			require.NoError(t, os.Chmod(folder, 0o555))
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			args := append(writeScript(t, folder, plainly), "--listen", "127.0.0.1:0")
			host := serve(t, folder, args...)
			say(t, wireTo(t, host.url), "k", "hello")
			host.stop(t)
			before, err := os.ReadFile(within(folder, "a.db"))
			require.NoError(t, err)

			change(t, folder)
			t.Cleanup(func() { _ = os.Chmod(folder, 0o755) })
			cmd := serveCommand(t, folder, args...)
			asNobody(t, cmd, folder)
			said := refusesToServe(t, cmd)
			require.Contains(t, said, "STORE_UNAVAILABLE")
			require.Contains(t, said, "writ", "it says what is wrong: %s", said)
			after, err := os.ReadFile(within(folder, "a.db"))
			require.NoError(t, err)
			require.Equal(t, before, after)

			require.NoError(t, os.Chmod(folder, 0o755))
			require.NoError(t, os.Chmod(within(folder, "a.db"), 0o644))
			host = serve(t, folder, args...)
			say(t, wireTo(t, host.url), "k", "and now?")
			host.stop(t)
		})
	}
}

// A journal whose end is damaged loses what was in that end and nothing else.
func TestADamagedEndOfTheJournal(t *testing.T) {
	for name, damage := range map[string]func(journal []byte) []byte{
		"cut in the middle of a page": func(j []byte) []byte { return j[:len(j)-1000] },
		"cut to a half":               func(j []byte) []byte { return j[:len(j)/2] },
		"garbled at its end":          func(j []byte) []byte { return append(j[:len(j)-3000], []byte(strings.Repeat("x", 3000))...) },
		"garbled in the middle": func(j []byte) []byte {
			copy(j[len(j)/2:], strings.Repeat("x", 5000))
			return j
		},
		"with rubbish behind it": func(j []byte) []byte { return append(j, []byte(strings.Repeat("rubbish", 2000))...) },
		"empty":                  func([]byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			args := append(writeScript(t, folder, plainly), "--listen", "127.0.0.1:0")
			host := serve(t, folder, args...)
			w := wireTo(t, host.url)
			said := []string{}
			for n := range 20 {
				said = append(said, fmt.Sprintf("number %d", n))
				say(t, w, "k", said[n])
			}
			host.kill()
			path := within(folder, "a.db-wal")
			journal, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, damage(journal), 0o600))
			if name != "empty" { // then there is no table yet
				requireSound(t, within(folder, "a.db"), nil)
			}

			host = serve(t, folder, args...)
			w = wireTo(t, host.url)
			if name == "with rubbish behind it" {
				require.Equal(t, said, texts(history(t, w, byKey("k")), sessions.RoleUser))
			} else if list := fetch[api.SessionListResult](t, w, api.OpSessionList, api.SessionListArgs{}); len(list.Sessions) > 0 {
				kept := texts(history(t, w, byKey("k")), sessions.RoleUser)
				require.Equal(t, said[:len(kept)], kept, "all but an end is there")
			}
			say(t, w, "k", "and now?")
			host.stop(t)
			requireSound(t, within(folder, "a.db"), nil)
			requireValidHistories(t, within(folder, "a.db"))
		})
	}
}

// A database that is none any more is refused, with a reason.
func TestADamagedDatabaseIsRefusedByName(t *testing.T) {
	folder := t.TempDir()
	args := append(writeScript(t, folder, plainly), "--listen", "127.0.0.1:0")
	host := serve(t, folder, args...)
	say(t, wireTo(t, host.url), "k", "hello")
	host.stop(t)
	file, err := os.OpenFile(within(folder, "a.db"), os.O_RDWR, 0)
	require.NoError(t, err)
	_, err = file.WriteAt([]byte(strings.Repeat("x", 200)), 0)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	said := refusesToServe(t, serveCommand(t, folder, args...))
	require.Contains(t, said, "STORE_UNAVAILABLE")
	require.Contains(t, said, "no database")
}

// ready asks whether a host says that it is.
func ready(t *testing.T, w *wire) int {
	t.Helper()
	request, err := http.NewRequestWithContext(waiting(t), http.MethodGet, w.url+"/readyz", nil)
	require.NoError(t, err)
	response, err := w.http.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	require.NoError(t, err)
	return response.StatusCode
}

// The database is moved away, and another put in its place, while a host serves
// it: nothing is acknowledged until it is back, or the host is started again.
func TestTheDatabaseIsReplacedUnderTheHost(t *testing.T) {
	folder := t.TempDir()
	args := append(writeScript(t, folder, plainly), "--listen", "127.0.0.1:0")
	host := serve(t, folder, args...)
	w := wireTo(t, host.url)
	say(t, w, "k", "one")
	require.Equal(t, http.StatusOK, ready(t, w))
	path, away := within(folder, "a.db"), within(folder, "away")
	require.NoError(t, os.Rename(path, away))
	require.NoError(t, os.WriteFile(path, nil, 0o600))

	prompt := api.PromptArgs{Address: byKey("k"), Text: "two", RequestID: "r2"}
	err := refused(t, w, api.OpPrompt, prompt)
	require.Equal(t, sessions.CodeStoreUnavailable, err.Code)
	require.Contains(t, err.Message, "replaced or removed")
	require.Equal(t, sessions.CodeStoreUnavailable, refused(t, w, api.OpSessionList, api.SessionListArgs{}).Code)
	require.Equal(t, http.StatusServiceUnavailable, ready(t, w))

	require.NoError(t, os.Rename(away, path))
	result := fetch[api.PromptResult](t, w, api.OpPrompt, prompt)
	require.False(t, result.Duplicate, "the refused one was not accepted")
	require.Equal(t, http.StatusOK, ready(t, w))
	require.Equal(t, []string{"one", "two"}, texts(history(t, w, byKey("k")), sessions.RoleUser))

	require.NoError(t, os.Remove(path))
	require.Equal(t, sessions.CodeStoreUnavailable, refused(t, w, api.OpPrompt, prompt).Code)
	host.stop(t)
	host = serve(t, folder, args...) // a new file
	say(t, wireTo(t, host.url), "k", "one")
	host.stop(t)
}

// A stored body is damaged: its session says so, and can be deleted; the others
// do not notice.
func TestADamagedBodyHarmsItsSessionOnly(t *testing.T) {
	folder := t.TempDir()
	args := append(writeScript(t, folder, plainly), "--listen", "127.0.0.1:0")
	host := serve(t, folder, args...)
	w := wireTo(t, host.url)
	for _, key := range []string{"hurt", "well"} {
		say(t, w, key, "remember this")
	}
	host.stop(t)
	damageMessage(t, folder, "hurt")

	host = serve(t, folder, args...)
	w = wireTo(t, host.url)
	damaged := func(op api.Op, args any) {
		t.Helper()
		require.Equal(t, sessions.CodeSessionDamaged, refused(t, w, op, args).Code)
	}
	damaged(api.OpMessages, api.MessagesArgs{Address: byKey("hurt")})
	damaged(api.OpPrompt, api.PromptArgs{Address: byKey("hurt"), Text: "and?"})
	got := fetch[api.SessionGetResult](t, w, api.OpSessionGet, api.SessionGetArgs{Address: byKey("hurt")}).Session
	require.Equal(t, sessions.StatusFailed, got.Status)
	require.NotNil(t, got.LastError)
	require.Equal(t, sessions.CodeSessionDamaged, got.LastError.Code)
	say(t, w, "well", "and you?")
	list := fetch[api.SessionListResult](t, w, api.OpSessionList, api.SessionListArgs{})
	require.Len(t, list.Sessions, 2)
	require.True(t, fetch[api.SessionDeleteResult](t, w, api.OpSessionDelete, api.SessionDeleteArgs{Address: byKey("hurt")}).Deleted)
	say(t, w, "hurt", "a new life")
	require.Equal(t, []string{"remember this", "and you?"}, texts(history(t, w, byKey("well")), sessions.RoleUser))
	host.stop(t)
}

// damageMessage changes the first message of a key's session, which no host has open.
func damageMessage(t *testing.T, folder, key string) {
	t.Helper()
	db := opened(t, within(folder, "a.db"))
	defer db.Close()
	done, err := db.ExecContext(context.Background(), `UPDATE session_messages SET body = CAST(replace(CAST(body AS TEXT), '"text"', '"tExt"') AS BLOB)
        WHERE seq = 1 AND sid = (SELECT sid FROM sessions WHERE target_key = ?)`, key)
	require.NoError(t, err)
	n, err := done.RowsAffected()
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
}

// A turn that a crash has cut cannot be taken up when its history is damaged. It
// ends, and the host and the other sessions go on.
func TestADamagedBodyUnderATurnToTakeUp(t *testing.T) {
	folder := t.TempDir()
	args := append(writeScript(t, folder, slowly), "--listen", freeAddress(t))
	host := serve(t, folder, args...)
	w := wireTo(t, host.url)
	say(t, w, "hurt", "hello")
	for _, key := range []string{"hurt", "well"} {
		prompt := api.PromptArgs{Address: byKey(key), Text: "slowly", RequestID: sessions.RequestID("r-" + key)}
		attach(waiting(t), w, prompt).until(t, sessions.FrameStarted)
	}
	host.kill()
	damageMessage(t, folder, "hurt")

	host = serve(t, folder, args...)
	ended := fetch[api.TurnResult](t, w, api.OpTurn, api.TurnArgs{Address: byKey("hurt"), RequestID: "r-hurt", Wait: api.WaitDone}).Turn
	require.Equal(t, sessions.TurnIsFailed, ended.Status)
	require.Equal(t, sessions.CodeSessionDamaged, ended.Error.Code)
	ended = fetch[api.TurnResult](t, w, api.OpTurn, api.TurnArgs{Address: byKey("well"), RequestID: "r-well", Wait: api.WaitDone}).Turn
	require.Equal(t, sessions.TurnIsCompleted, ended.Status)
	require.Equal(t, slowAnswer, sessions.TextOf(ended.Message.Content))
	require.Equal(t, sessions.CodeSessionDamaged, refused(t, w, api.OpPrompt, api.PromptArgs{Address: byKey("hurt"), Text: "and?"}).Code)
	require.True(t, fetch[api.SessionDeleteResult](t, w, api.OpSessionDelete, api.SessionDeleteArgs{Address: byKey("hurt")}).Deleted)
	host.stop(t)
}

package crash

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/persistence/sqlite"
	"agenthost/sessions"
)

// roleVariable makes this test program one of the processes that tests start.
const roleVariable = "AGENTHOST_CRASH_ROLE"

// The roles. What each needs to know is in its environment too.
const (
	roleWriter = "writer" // a store that acknowledges writes, one after another
	roleLocker = "locker" // a process that has a database locked
)

const (
	fileVariable       = "AGENTHOST_CRASH_FILE"
	durabilityVariable = "AGENTHOST_CRASH_DURABILITY"
	framesVariable     = "AGENTHOST_CRASH_FRAMES"
)

// play is what a process of a role does.
func play(role string) error {
	file := os.Getenv(fileVariable)
	switch role {
	case roleWriter:
		return writeAndAcknowledge(file, sqlite.Config{
			Durability: os.Getenv(durabilityVariable), Frames: os.Getenv(framesVariable),
		})
	case roleLocker:
		return lockUntilTold(file)
	default:
		return fmt.Errorf("there is no role %q", role)
	}
}

// inRole is a command that plays a role.
func inRole(t *testing.T, role string, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), append(env, roleVariable+"="+role)...)
	cmd.Stderr = os.Stderr
	return cmd
}

// writes is how many prompts writeAndAcknowledge accepts, and ends.
const writes = 20

// acknowledged is what it says of each.
const acknowledged = "acknowledged "

// writeAndAcknowledge accepts prompts and ends their turns, and after each of
// the two says on its standard output that they are stored.
func writeAndAcknowledge(file string, config sqlite.Config) error {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, file, config)
	if err != nil {
		return err
	}
	say := func(n int) error {
		_, err := os.Stdout.WriteString(acknowledged + strconv.Itoa(n) + "\n")
		return err
	}
	for n := range writes {
		accepted, err := store.AcceptTurn(ctx, acceptance(n))
		if err = errors.Join(err, say(2*n)); err != nil {
			return err
		}
		_, err = store.CommitTurn(ctx, ending(accepted))
		if err = errors.Join(err, say(2*n+1)); err != nil {
			return err
		}
	}
	return store.Close()
}

func acceptance(n int) sessions.AcceptTurn {
	name := strconv.Itoa(n)
	return sessions.AcceptTurn{
		Owner: sessions.LocalOwner, At: sessions.Address{Key: sessions.Key{Target: "k", Profile: sessions.DefaultProfile}},
		Request: sessions.Request{ID: sessions.RequestID(name), TTLMs: 60_000}, TurnID: sessions.TurnID("turn-" + name), NewID: "s",
		Content: sessions.Text("question " + name), Admitted: true, Now: sessions.Time(1_750_000_000_000 + n),
	}
}

func ending(a sessions.AcceptedTurn) sessions.CommitTurn {
	m := sessions.Message{Seq: a.Session.MessageCount + 1, Role: sessions.RoleAssistant, Content: sessions.Text("answer")}
	return sessions.CommitTurn{
		Fence: a.Session.Fence, TurnID: a.Turn.TurnID, RequestID: a.Turn.RequestID,
		Messages: []sessions.Message{m}, Frames: []sessions.FrameBody{sessions.MessageAppended{Message: m}},
		Iterations: 1, Now: a.Turn.StartedAt, End: &sessions.TurnEnd{Status: sessions.TurnIsCompleted, FinalSeq: m.Seq, ClaimTTLMs: 60_000},
	}
}

// lockUntilTold locks the database for each line of its input that says lock,
// until the next one, and says when that is done.
func lockUntilTold(file string) error {
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(60000)")
	if err != nil {
		return err
	}
	defer db.Close()
	conn, err := db.Conn(context.Background())
	if err != nil {
		return err
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if _, err := conn.ExecContext(context.Background(), lines.Text()); err != nil {
			return err
		}
		if _, err := os.Stdout.WriteString("done\n"); err != nil {
			return err
		}
	}
	return nil
}

// locker is a process that can lock a database.
type locker struct {
	in  io.WriteCloser
	out *bufio.Reader
}

func startLocker(t *testing.T, file string) *locker {
	t.Helper()
	cmd := inRole(t, roleLocker, fileVariable+"="+file)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close() // ends it
		require.NoError(t, cmd.Wait())
	})
	return &locker{in, bufio.NewReader(out)}
}

// do runs a statement in the process and returns once that is done.
func (l *locker) do(t *testing.T, statement string) {
	t.Helper()
	_, err := io.WriteString(l.in, statement+"\n")
	require.NoError(t, err)
	line, err := l.out.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "done\n", line)
}

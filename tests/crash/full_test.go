package crash

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/sessions"
)

// smallDisk mounts a file system of a size, or says that it cannot.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	folder := t.TempDir()
	out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "none", folder).CombinedOutput()
	if err != nil {
		notRun(t, "no file system can be mounted here: %v: %s", err, out)
	}
	t.Cleanup(func() {
		out, err := exec.Command("umount", folder).CombinedOutput()
		require.NoError(t, err, "%s", out)
	})
	return folder
}

// filler takes the room of a folder.
type filler struct {
	folder string
	files  int
}

// fill writes until there is no room for a byte.
func (f *filler) fill() {
	for size := 1 << 20; size > 0; size /= 2 {
		for os.WriteFile(f.next(), make([]byte, size), 0o600) == nil {
		}
	}
}

func (f *filler) next() string {
	f.files++
	return within(f.folder, fmt.Sprintf("filler-%d", f.files))
}

// remove gives the room back.
func (f *filler) remove() {
	for n := range f.files {
		_ = os.Remove(within(f.folder, fmt.Sprintf("filler-%d", n+1))) // the last of each size may not be there
	}
}

// Field case 21: the disk is full in the middle of a turn. Its caller is told,
// nothing acknowledged is lost, sessions can be deleted, and once there is room
// the turn has its real end without a restart.
func TestCase21FullDiskInMidTurn(t *testing.T) {
	for _, place := range []string{"record", "file"} {
		t.Run(place, func(t *testing.T) { fullDiskInMidTurn(t, "frames: "+place) })
	}
}

func fullDiskInMidTurn(t *testing.T, setting string) {
	t.Helper()
	folder := smallDisk(t, "24m")
	text := strings.Replace(slowly, "steps: [{text: fine", "  - {when: large, steps: [{text: noted}]}\nsteps: [{text: fine", 1)
	host := serve(t, folder, append(writeScript(t, folder, text, setting), "--listen", freeAddress(t))...)
	w := wireTo(t, host.url)
	told := map[sessions.RequestID]sessions.TurnID{}
	large := func(name string) (api.PromptResult, error) {
		id := sessions.RequestID("large-" + name)
		result, err := ask[api.PromptResult](waiting(t), w, api.OpPrompt, api.PromptArgs{
			Address: byKey(name), Text: "large " + strings.Repeat("x", 500<<10), RequestID: id})
		if err == nil {
			told[id] = result.TurnID
		}
		return result, err
	}
	for n := range 4 {
		_, err := large(fmt.Sprint(n))
		require.NoError(t, err)
	}
	prompt := api.PromptArgs{Address: byKey("k"), Text: "slowly", RequestID: "r1"}
	running := attach(waiting(t), w, prompt)
	told["r1"] = running.until(t, sessions.FrameStarted)[0].TurnID

	disk := &filler{folder: folder}
	disk.fill()
	refusals := 0
	for n := 0; refusals < 3; n++ { // room inside the files is used up first
		require.Less(t, n, 100, "the disk does not get full")
		if _, err := large(fmt.Sprintf("more-%d", n)); err != nil {
			require.Equal(t, sessions.CodeStoreUnavailable, sessions.CodeOf(err), "%v", err)
			refusals++
		}
		disk.fill()
	}
	reply := <-running.reply
	require.Equal(t, sessions.CodeStoreUnavailable, codeOf(reply), "the end of the turn has no room: %s", reply.Result)
	require.Equal(t, string(told["r1"]), reply.Error.Details["turnId"])

	deleted := fetch[api.SessionDeleteResult](t, w, api.OpSessionDelete, api.SessionDeleteArgs{Address: byKey("0")})
	require.True(t, deleted.Deleted)
	require.Equal(t, sessions.CodeSessionNotFound, refused(t, w, api.OpSessionGet, api.SessionGetArgs{Address: byKey("0")}).Code)
	delete(told, "large-0")

	disk.remove()
	joined, err := ask[api.PromptResult](waiting(t), w, api.OpPrompt, prompt)
	for sessions.CodeOf(err) == sessions.CodeStoreUnavailable { // what it tried last may have come before the room
		joined, err = ask[api.PromptResult](waiting(t), w, api.OpPrompt, prompt)
	}
	require.NoError(t, err)
	require.Equal(t, told["r1"], joined.TurnID)
	require.Equal(t, slowAnswer, sessions.TextOf(joined.Message.Content))
	_, err = large("after")
	require.NoError(t, err)
	host.stop(t)
	requireSound(t, within(folder, "a.db"), told)
	requireValidHistories(t, within(folder, "a.db"))
}

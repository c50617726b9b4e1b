package actors

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func TestTheLibrarysLogHoldsNoContent(t *testing.T) {
	var text strings.Builder
	log := slog.New(libraryLog{slog.NewTextHandler(&text, nil)}).With("part", "actors")

	log.Info("[DeadLetter]", slog.Any("pid", &PID{Id: "agents/7"}), slog.Int("throttled", 3),
		slog.Any("message", &Prompt{Content: sessions.Text("my secret")}))

	require.NotContains(t, text.String(), "my secret")
	require.Contains(t, text.String(), "message=*actors.Prompt")
	require.Contains(t, text.String(), "pid=agents/7")
	require.Contains(t, text.String(), "throttled=3")
	require.Contains(t, text.String(), "part=actors")
}

package actors_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

// wildObserver panics at whatever it hears.
type wildObserver struct{}

func (wildObserver) Prompted(actors.PromptOutcome)                               { panic("wild") }
func (wildObserver) TurnBegan(bool)                                              { panic("wild") }
func (wildObserver) TurnEnded(sessions.TurnStatus, sessions.Code, time.Duration) { panic("wild") }
func (wildObserver) ToolCalled(string, actors.CallOutcome, time.Duration)        { panic("wild") }
func (wildObserver) Deleted(bool, sessions.Receipt)                              { panic("wild") }
func (wildObserver) ModelCalled(string, actors.CallOutcome, sessions.Usage, time.Duration) {
	panic("wild")
}
func (wildObserver) SideAsked(string, actors.CallOutcome, sessions.Usage, time.Duration) {
	panic("wild")
}

// What an observer does wrong is logged, and nobody else hears of it.
func TestPanicsOfAnObserver(t *testing.T) {
	log := &lines{}
	w := actortest.New(t, profiles(script(calls("/t/one"), scripted.Step{Hang: true})), actortest.Config{Config: actors.Config{
		Tools: treeOf(t, mounts{"/t/one": output(`1`)}), Observer: wildObserver{}, Logger: log.logger(),
	}})
	at := actortest.Key("a")
	require.Equal(t, "fine", w.Say(at, "hello"))
	first := w.Send(at, "work")
	first.Accepted()
	queued := w.Send(at, "queued", with(sessions.BusyQueue))
	queued.Accepted()
	require.Equal(t, "fine", w.Say(at, "urgent", with(sessions.BusyInterrupt)))
	first.Failed(sessions.CodeCancelled)
	require.Equal(t, "fine", queued.Completed())
	requireNoBusy(t, w)
	require.EqualValues(t, 1, w.Delete(at).Receipt.Sessions)
	require.Contains(t, log.String(), "observer panicked")
}

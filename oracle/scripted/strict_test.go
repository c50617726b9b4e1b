package scripted_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/oracle"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

func TestStrictPassesValidRequestsOn(t *testing.T) {
	o := scripted.Strict(scripted.New(scripted.Step{Text: "fine", Repeat: true}))
	history := []sessions.Message{user("a"), calling("1", "2"), result("2"), result("1"), assistant("b"), user("c")}
	require.Equal(t, "fine", says(t, o, history...))
	require.Equal(t, "scripted", o.Name())
	require.Len(t, o.Requests(), 1)
	require.Equal(t, history, o.Requests()[0].Messages)
}

func TestStrictRefusesWhatAProviderWould(t *testing.T) {
	tools := func(list ...oracle.Tool) oracle.Request { return oracle.Request{Tools: list} }
	says := func(list ...sessions.Message) oracle.Request { return oracle.Request{Messages: list} }
	for name, r := range map[string]oracle.Request{
		"no result":        says(user("a"), calling("1", "2"), result("1"), user("b")),
		"result at last":   says(user("a"), calling("1")),
		"two results":      says(user("a"), calling("1"), result("1"), result("1")),
		"result alone":     says(user("a"), result("1")),
		"id used twice":    says(user("a"), calling("1"), result("1"), calling("1"), result("1")),
		"nothing said":     says(user("a"), sessions.Message{Role: sessions.RoleAssistant}),
		"order of tools":   tools(oracle.Tool{Path: "/b", Name: "b"}, oracle.Tool{Path: "/a", Name: "a"}),
		"same name":        tools(oracle.Tool{Path: "/a", Name: "a"}, oracle.Tool{Path: "/b", Name: "a"}),
		"tool not named":   tools(oracle.Tool{Path: "/a"}),
		"same path, twice": tools(oracle.Tool{Path: "/a", Name: "a"}, oracle.Tool{Path: "/a", Name: "b"}),
	} {
		inner := scripted.Strict(scripted.New(scripted.Step{Text: "fine"}))
		o := scripted.Strict(inner)
		for part, err := range o.Infer(t.Context(), r) {
			require.Nil(t, part, name)
			require.Equal(t, sessions.CodeLLMAPIFailure, sessions.CodeOf(err), name)
		}
		require.Empty(t, inner.Requests(), name)
		require.Equal(t, []oracle.Request{r}, o.Requests(), name)
	}
}

func TestStrictKeepsWhatItSawThen(t *testing.T) {
	o := scripted.Strict(scripted.New(scripted.Step{Repeat: true}))
	history := make([]sessions.Message, 1, 8)
	history[0] = user("a")
	says(t, o, history...)
	history[0] = user("changed")
	require.Equal(t, "a", sessions.TextOf(o.Requests()[0].Messages[0].Content))
}

func TestAwaitSeesRequestsOfManyCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := scripted.Strict(scripted.New(scripted.Step{Hang: true, Repeat: true}))
		ctx, cancel := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		for range 10 {
			callers.Go(func() { _, _ = infer(ctx, o, user("a")) })
		}
		require.NoError(t, o.Await(t.Context(), 10))
		require.Len(t, o.Requests(), 10)
		cancel()
		callers.Wait()

		late, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		require.ErrorIs(t, o.Await(late, 11), context.DeadlineExceeded)
	})
}

package api_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/host/api/strictjson"
	"agenthost/sessions"
)

// FuzzRequest takes a text as the arguments of every operation, and as an
// envelope. Nothing panics, every refusal has one of three codes and names a
// field, and what is accepted survives being encoded by a client.
func FuzzRequest(f *testing.F) {
	for _, c := range invalid {
		f.Add([]byte(c.args))
	}
	f.Add([]byte(`{"id":"7","op":"$prompt","args":{"targetKey":"k","text":"x"}}`))
	f.Add([]byte(`{"targetKey":"k","messages":[` + userMessage + `,` + callMessage + `,` + result1 + `,` + result2 + `],"state":{"a":[1]}}`))
	f.Add([]byte(`{"parentId":null,"status":"idle","label":{"a":"b"},"limit":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := api.DecodeRequest(data); err != nil {
			requireRefusal(t, err)
		} else if args, err := r.DecodeArgs(); err == nil {
			requireSound(t, args)
		}
		for _, row := range api.Ops() {
			args := row.NewArgs()
			if err := strictjson.Decode(data, "/args", args); err != nil {
				requireRefusal(t, err)
				continue
			}
			requireSound(t, args)
			if args.Validate(sessions.DefaultLimits()) == nil {
				requireRoundTrip(t, args, row.NewArgs())
			}
		}
	})
}

func requireRefusal(t *testing.T, err error) {
	t.Helper()
	require.Contains(t, []sessions.Code{sessions.CodeInvalidRequest, sessions.CodePayloadTooLarge}, sessions.CodeOf(err), "%v", err)
	require.Contains(t, sessions.AsError(err).Details, "field", "%v", err)
	require.True(t, json.Valid([]byte(marshal(t, sessions.AsError(err).Info()))))
}

func requireSound(t *testing.T, args api.Args) {
	t.Helper()
	if err := args.Validate(sessions.DefaultLimits()); err != nil {
		requireRefusal(t, err)
	}
	_ = args.Authorize(api.Caller{Owner: sessions.LocalOwner})
	if f, ok := args.(interface{ Fingerprint() [32]byte }); ok {
		first := f.Fingerprint()
		require.Equal(t, first, f.Fingerprint())
	}
}

func requireRoundTrip(t *testing.T, args, fresh api.Args) {
	t.Helper()
	text := marshal(t, args)
	require.NoError(t, strictjson.Decode([]byte(text), "/args", fresh), "%s", text)
	require.Equal(t, text, marshal(t, fresh))
	require.NoError(t, fresh.Validate(sessions.DefaultLimits()))
	if f, ok := args.(interface{ Fingerprint() [32]byte }); ok {
		require.Equal(t, f.Fingerprint(), fresh.(interface{ Fingerprint() [32]byte }).Fingerprint())
	}
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

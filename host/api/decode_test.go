package api_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/sessions"
)

// requireField asserts an error of the code about the pointer.
func requireField(t *testing.T, err error, code sessions.Code, pointer string) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, code, sessions.CodeOf(err), "%v", err)
	require.Equal(t, pointer, sessions.AsError(err).Details["field"], "%v", err)
}

// parse takes a request through all three steps of the package.
func parse(data string) (api.Args, error) {
	r, err := api.DecodeRequest([]byte(data))
	if err != nil {
		return nil, err
	}
	args, err := r.DecodeArgs()
	if err != nil {
		return nil, err
	}
	return args, args.Validate(sessions.DefaultLimits())
}

func TestDecodeRequest(t *testing.T) {
	r, err := api.DecodeRequest([]byte(`{"id":"7","op":"$prompt","args":{"text": "x"}}`))
	require.NoError(t, err)
	require.Equal(t, new("7"), r.ID)
	require.Equal(t, api.OpPrompt, r.Op)
	require.Equal(t, `{"text": "x"}`, string(r.Args))
	require.NoError(t, r.RequireID())

	r, err = api.DecodeRequest([]byte(`{"op":"$ping","args":null}`))
	require.NoError(t, err)
	require.Nil(t, r.ID)
	require.Nil(t, r.Args)
	requireField(t, r.RequireID(), sessions.CodeInvalidRequest, "/id")
	args, err := r.DecodeArgs()
	require.NoError(t, err)
	require.Equal(t, &api.PingArgs{}, args)
}

func TestRefusedEnvelopesKeepTheirID(t *testing.T) {
	for name, c := range map[string]struct {
		data, field string
		id          *string
	}{
		"no JSON":            {`{"id":"7",`, "", nil},
		"a list":             {`[]`, "", nil},
		"null":               {`null`, "", nil},
		"unknown field":      {`{"x":1,"op":"$ping","id":"7"}`, "/x", new("7")},
		"other case":         {`{"ID":"7","op":"$ping"}`, "/ID", nil},
		"no op":              {`{"id":"7"}`, "/op", new("7")},
		"op of another type": {`{"op":1,"id":"7"}`, "/op", new("7")},
		"id of another type": {`{"id":7,"op":"$ping"}`, "/id", nil},
		"two wrong fields":   {`{"op":1,"id":7}`, "/op", nil},
		"null and wrong":     {`{"op":1,"id":null}`, "/op", nil},
		"id twice":           {`{"id":"7","id":"8","op":"$ping"}`, "/id", nil},
		"id too long":        {`{"id":"` + strings.Repeat("é", 65) + `","op":"$ping"}`, "/id", nil},
		"id with NUL":        {`{"id":"a\u0000","op":"$ping"}`, "/id", nil},
		"fault in args":      {`{"op":"$ping","args":{"a":"\ud800"},"id":"7"}`, "/args/a", new("7")},
		"duplicate in args":  {`{"id":"7","op":"$ping","args":{"a":[{"b":1,"b":1}]}}`, "/args/a/0/b", new("7")},
		"trailing data":      {`{"id":"7","op":"$ping"} 1`, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := api.DecodeRequest([]byte(c.data))
			requireField(t, err, sessions.CodeInvalidRequest, c.field)
			require.Equal(t, c.id, r.ID)
		})
	}
}

func TestTheOperationIsJudgedBeforeItsArguments(t *testing.T) {
	for op, code := range map[string]sessions.Code{
		"$nope": sessions.CodeUnknownOp, "ping": sessions.CodeUnknownOp, "$Ping": sessions.CodeUnknownOp,
	} {
		_, err := parse(`{"op":"` + op + `","args":{"whatever":1}}`)
		requireField(t, err, code, "/op")
	}
}

func TestOpsListsTheProtocol(t *testing.T) {
	seen := map[api.Op]bool{}
	for _, row := range api.Ops() {
		require.False(t, seen[row.Op], "%s is listed twice", row.Op)
		seen[row.Op] = true
		require.True(t, strings.HasSuffix(row.Summary, "."), "%s", row.Op)
		require.NotNil(t, row.NewArgs)
		found, err := api.Lookup(row.Op)
		require.NoError(t, err)
		require.Equal(t, row.Summary, found.Summary)
	}
	require.Len(t, seen, 31)
}

func TestAuthorize(t *testing.T) {
	local, admin := api.Caller{Owner: "local"}, api.Caller{Owner: "local", Admin: true}
	for op, args := range map[string]string{"$prompt": `"targetKey":"k","text":"x",`, "$sessionList": ``, "$sessionDelete": `"sessionId":"s",`} {
		own, err := parse(`{"op":"` + op + `","args":{` + args + `"owner":"local"}}`)
		require.NoError(t, err)
		require.NoError(t, own.Authorize(local))
		other, err := parse(`{"op":"` + op + `","args":{` + args + `"owner":"other"}}`)
		require.NoError(t, err)
		requireField(t, other.Authorize(local), sessions.CodeForbidden, "/args/owner")
		require.NoError(t, other.Authorize(admin))
		all, err := parse(`{"op":"` + op + `","args":{` + args + `"owner":"*"}}`)
		require.NoError(t, err)
		requireField(t, all.Authorize(local), sessions.CodeForbidden, "/args/owner")
		if op == "$sessionList" {
			require.NoError(t, all.Authorize(admin))
		} else {
			requireField(t, all.Authorize(admin), sessions.CodeInvalidRequest, "/args/owner")
		}
	}
	for _, args := range []api.Args{api.PurgeArgs{}, api.KeyCreateArgs{}, api.KeyListArgs{}, api.KeyRevokeArgs{}} {
		require.Equal(t, sessions.CodeForbidden, sessions.CodeOf(args.Authorize(local)), "%T", args)
		require.NoError(t, args.Authorize(admin), "%T", args)
	}
	clear, err := parse(`{"op":"$sessionClearAll","args":{"allOwners":true}}`)
	require.NoError(t, err)
	requireField(t, clear.Authorize(local), sessions.CodeForbidden, "/args/allOwners")
	require.NoError(t, clear.Authorize(admin))
	require.NoError(t, api.PingArgs{}.Authorize(local))
}

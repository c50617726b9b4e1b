package host

import (
	"context"
	"reflect"

	"agenthost/host/api"
	"agenthost/sessions"
)

// emitter gets the frames of a request. An error of it ends the frames and not
// the operation.
type emitter = func(sessions.Frame) error

// Do runs the operation whose arguments it gets, a pointer to one of api's …Args
// types, as caller. emit, when not nil, gets the frames that the request asked
// for, in order, from the calling goroutine and before Do returns.
func (h *Host) Do(ctx context.Context, caller api.Caller, args any, emit func(sessions.Frame) error) (any, error) {
	run, ok := operations[reflect.TypeOf(args)]
	if !ok {
		return nil, sessions.Errorf(sessions.CodeInternal, "The host has no operation for %T.", args)
	}
	a := h.As(caller)
	result, err := run(ctx, a, args, emit)
	a.noteForeign(ctx, args, result, err)
	return result, err
}

// operation is a method of Access whose types are known at run time only.
type operation func(ctx context.Context, a *Access, args any, emit emitter) (any, error)

// operations finds the method by the type of its arguments.
var operations = byArgs(
	plain((*Access).Ping),
	plain((*Access).HostInfo),
	plain((*Access).SessionCreate),
	plain((*Access).SessionGet),
	plain((*Access).SessionList),
	plain((*Access).SessionUpdate),
	plain((*Access).SessionClose),
	plain((*Access).SessionDetach),
	plain((*Access).SessionDelete),
	plain((*Access).SessionClearAll),
	plain((*Access).SessionSeed),
	plain((*Access).SessionFork),
	plain((*Access).Cancel),
	plain((*Access).Answer),
	plain((*Access).SideQuestion),
	plain((*Access).Turn),
	plain((*Access).Turns),
	plain((*Access).Messages),
	plain((*Access).Frames),
	plain((*Access).State),
	plain((*Access).StateSet),
	plain((*Access).Purge),
	plain((*Access).KeyCreate),
	plain((*Access).KeyList),
	plain((*Access).KeyRevoke),
	plain((*Access).Children),
	plain((*Access).Usage),
	streaming((*Access).Prompt),
	streaming((*Access).Retry),
)

// row is one entry of operations.
type row struct {
	args reflect.Type
	run  operation
}

func byArgs(rows ...row) map[reflect.Type]operation {
	table := map[reflect.Type]operation{}
	for _, r := range rows {
		table[r.args] = r.run
	}
	return table
}

// plain is the row of an operation that sends no frames.
func plain[A, R any](method func(*Access, context.Context, *A) (*R, error)) row {
	return row{reflect.TypeFor[*A](), func(ctx context.Context, a *Access, args any, _ emitter) (any, error) {
		result, err := method(a, ctx, args.(*A))
		if err != nil {
			return nil, err // not a nil pointer in an interface
		}
		return result, nil
	}}
}

// streaming is the row of an operation that sends frames when it is asked to.
func streaming[A, R any](method func(*Access, context.Context, *A, emitter) (*R, error)) row {
	return row{reflect.TypeFor[*A](), func(ctx context.Context, a *Access, args any, emit emitter) (any, error) {
		if !args.(api.Streamer).Streams() {
			emit = nil
		}
		result, err := method(a, ctx, args.(*A), emit)
		if err != nil {
			return nil, err
		}
		return result, nil
	}}
}

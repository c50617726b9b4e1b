package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"agenthost/host/api"
	"agenthost/sessions"
)

// framesFlags are the flags of sessions frames.
type framesFlags struct {
	sessionCommand
	pageFlags
	requestID, after, before string
	follow                   bool
}

func (a *app) framesCommand() *cobra.Command {
	var f framesFlags
	command := f.make(a, &cobra.Command{
		Use:   "frames",
		Short: "Print the activity of a session",
		Long: `Print the activity of a session, one frame a line. With --follow go on with
frames as they come, until the session ends or SIGINT.`,
	}, func(ctx context.Context, conn *connection, at api.Address) error {
		if f.follow {
			return a.follow(ctx, conn, at, &f)
		}
		return a.frames(ctx, conn, at, &f)
	})
	flags := command.Flags()
	flags.StringVar(&f.requestID, "request-id", "", "only those of the latest turn of a request `id`")
	flags.StringVar(&f.after, "after", "", "only frames after this `cursor`")
	flags.StringVar(&f.before, "before", "", "only frames before this `cursor`")
	page := &f.pageFlags
	flags.BoolVar(&f.follow, "follow", false, "go on with frames as they come")
	page.add(command)
	for _, other := range []string{"request-id", "before", "limit", "newest-first"} {
		command.MarkFlagsMutuallyExclusive("follow", other)
	}
	return command
}

func (a *app) frames(ctx context.Context, conn *connection, at api.Address, f *framesFlags) error {
	got, err := conn.Frames(ctx, api.FramesArgs{
		Address: at, RequestID: sessions.RequestID(f.requestID), Order: f.order(), Limit: &f.limit,
		After: sessions.Cursor(f.after), Before: sessions.Cursor(f.before),
	})
	if err != nil {
		return err
	}
	for _, frame := range got.Frames {
		if err := a.printFrame(frame, f.json); err != nil {
			return err
		}
	}
	if got.HasMore {
		a.complain("there are more: --%s %s", f.further(), got.Frames[len(got.Frames)-1].Cursor)
	}
	return nil
}

// follow prints frames until nothing more can come. A reader that was too slow
// subscribes again where it was.
func (a *app) follow(ctx context.Context, conn *connection, at api.Address, f *framesFlags) error {
	after := sessions.Cursor(f.after)
	if after == "" {
		after = sessions.CursorStart
	}
	for ctx.Err() == nil {
		sub, err := conn.Subscribe(ctx, api.SubscribeArgs{Address: at, After: after})
		if err != nil {
			return err
		}
		err = a.printFrames(ctx, sub.Next, f.json)
		sub.Close()
		end, ended := errors.AsType[*api.EndError](err)
		switch {
		case ctx.Err() != nil: // to be interrupted is how it is meant to end
		case !ended:
			return err
		case end.Reason != api.EndSlow:
			a.complain("no more frames: %s", end.Reason)
			return nil
		default:
			after = end.Cursor
		}
	}
	return nil
}

func (a *app) printFrames(ctx context.Context, next func(context.Context) (sessions.Frame, error), asJSON bool) error {
	for {
		frame, err := next(ctx)
		if err != nil {
			return err
		}
		if err := a.printFrame(frame, asJSON); err != nil {
			return err
		}
	}
}

// The columns of a frame's line. They are fixed, since frames may come one by one.
const (
	frameHead      = "%5s  %s  %-14s  "
	frameHeadWidth = 5 + 2 + 12 + 2 + 14 + 2
	frameTime      = "15:04:05.000"
)

func (a *app) printFrame(f sessions.Frame, asJSON bool) error {
	if asJSON {
		return a.printJSON(f)
	}
	seq, at := strconv.FormatInt(f.Seq, 10), f.At.Std().Format(frameTime)
	if f.Seq == 0 {
		seq, at = "-", fmt.Sprintf("%*s", len(frameTime), "")
	}
	line := fmt.Sprintf(frameHead, seq, at, f.Type()) + oneLine(frameText(f), tableWidth-frameHeadWidth)
	_, err := fmt.Fprintln(a.stdout, strings.TrimRight(line, " "))
	return err
}

// frameText is what a frame says, as people read it.
func frameText(f sessions.Frame) string {
	switch body := f.Body.(type) {
	case sessions.Accepted:
		return "request " + string(f.RequestID)
	case sessions.Delta:
		return body.Text
	case sessions.TextPart:
		return body.Text
	case sessions.MessageAppended:
		return fmt.Sprintf("#%d %s: %s", body.Message.Seq, body.Message.Role, messageText(body.Message))
	case sessions.CallStarted:
		return body.Call.Path + " " + string(body.Call.Args)
	case sessions.CallEnded:
		return outcome(body)
	case sessions.UsageReported:
		return fmt.Sprintf("%d in, %d out", body.Usage.InputTokens, body.Usage.OutputTokens)
	case sessions.Summarised:
		return fmt.Sprintf("up to #%d: %s", body.ThroughSeq, body.Text)
	case sessions.Failed:
		return string(body.Error.Code) + ": " + body.Error.Message
	case sessions.Interrupted:
		return string(body.Error.Code) + ": " + body.Error.Message
	case sessions.Gap:
		return fmt.Sprintf("%d to %d are no longer kept", body.From, body.To)
	default:
		return ""
	}
}

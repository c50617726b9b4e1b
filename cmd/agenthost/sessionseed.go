package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"agenthost/host/api"
	"agenthost/host/api/strictjson"
	"agenthost/sessions"
)

// seedFlags are the flags of sessions seed.
type seedFlags struct {
	at        addressFlags
	requestID string
	json      bool
}

func (a *app) seedCommand() *cobra.Command {
	var f seedFlags
	command := &cobra.Command{
		Use:   "seed FILE | -",
		Short: "Append messages from a file to a session",
		Long: `Append messages to an idle session, or to a new one. The file, or stdin for "-",
holds them as a JSON list, one a line, or as {"messages": […], "state": {…}}.
What "sessions messages --json" prints can be seeded.

Without --session or --target a new session is made.`,
		Args: cobra.ExactArgs(1),
		RunE: a.does(func(ctx context.Context, args []string) error { return a.seed(ctx, &f, args[0]) }),
	}
	f.at.add(command)
	command.Flags().StringVar(&f.requestID, "request-id", "", "`id` that makes the command safe to repeat")
	jsonFlag(command, &f.json)
	a.hostFlag(command)
	return command
}

func (a *app) seed(ctx context.Context, f *seedFlags, file string) error {
	if f.requestID != "" && f.at.isZero() {
		return usagef("--request-id needs --session or --target, which a repetition must name again")
	}
	data, err := a.readInput(file)
	if err != nil {
		return err
	}
	args, err := decodeSeed(data)
	if err != nil {
		return err
	}
	args.RequestID = sessions.RequestID(f.requestID)
	return a.withHost(ctx, func(conn *connection) error {
		if args.Address, err = a.addressOrNew(ctx, conn, &f.at); err != nil {
			return err
		}
		done, err := conn.SessionSeed(ctx, args)
		if err != nil {
			return err
		}
		if f.json {
			return a.printJSON(done)
		}
		a.complain("appended %s", counted(int64(done.Appended), "message"))
		return nil
	})
}

// readInput reads a file, or stdin for "-".
func (a *app) readInput(file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(a.stdin)
	}
	data, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		return nil, sessions.Errorf(sessions.CodeInvalidRequest, "The file %s cannot be read.", file).Because(err)
	}
	return data, nil
}

// seededMessage is a message of a seed, or one as the host prints it, whose
// place and time are then not kept.
type seededMessage struct {
	api.SeedMessage
	Seq       int64           `json:"seq,omitempty"`
	TurnID    sessions.TurnID `json:"turnId,omitempty"`
	CreatedAt sessions.Time   `json:"createdAt,omitzero"`
}

// seedFile is a whole seed.
type seedFile struct {
	Messages []seededMessage            `json:"messages"`
	State    map[string]json.RawMessage `json:"state"`
}

// decodeSeed reads a seed in any of its forms.
func decodeSeed(data []byte) (api.SessionSeedArgs, error) {
	var file seedFile
	values, err := splitJSON(data)
	if err != nil {
		return api.SessionSeedArgs{}, err
	}
	switch {
	case len(values) == 1 && values[0][0] == '[':
		err = strictjson.Decode(values[0], "", &file.Messages)
	case len(values) == 1 && hasMessages(values[0]):
		err = strictjson.Decode(values[0], "", &file)
	default:
		file.Messages = make([]seededMessage, len(values))
		for i := range values {
			if err = strictjson.Decode(values[i], strictjson.PointerAt("", i), &file.Messages[i]); err != nil {
				break
			}
		}
	}
	args := api.SessionSeedArgs{State: file.State}
	for _, m := range file.Messages {
		args.Messages = append(args.Messages, m.SeedMessage)
	}
	return args, err
}

// splitJSON cuts a text into the JSON values it is made of.
func splitJSON(data []byte) ([]json.RawMessage, error) {
	var values []json.RawMessage
	decoder := json.NewDecoder(bytes.NewReader(data))
	for {
		var value json.RawMessage
		err := decoder.Decode(&value)
		if errors.Is(err, io.EOF) {
			return values, nil
		}
		if err != nil {
			return nil, sessions.Errorf(sessions.CodeInvalidRequest,
				"The seed is no JSON after its first %s: %v.", counted(int64(len(values)), "value"), err)
		}
		values = append(values, value)
	}
}

func hasMessages(value json.RawMessage) bool {
	var fields map[string]json.RawMessage
	return json.Unmarshal(value, &fields) == nil && fields["messages"] != nil
}

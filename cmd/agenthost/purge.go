package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"agenthost/host/api"
	"agenthost/sessions"
)

// purgeFlags are the flags of purge.
type purgeFlags struct {
	find    []string
	profile string
	json    bool
}

func (a *app) purgeCommand() *cobra.Command {
	var f purgeFlags
	command := &cobra.Command{
		Use:   "purge",
		Short: "Remove the last bytes of what was deleted, and prove it",
		Long: `Remove the last bytes of what was deleted from the database, its journal and
the files of frames, and give the space back. Whatever writes meanwhile waits.

The proof: a session with a random text is made, found in the files, deleted,
and after the purge it is looked for again, together with each text of --find.
When one is found the command fails and says where it is. The files can only be
searched on the host's own machine.

Name short texts that occur nowhere else: a database cuts a long text into
pieces, and what else has the text is found too.`,
		Args: cobra.NoArgs,
		RunE: a.does(func(ctx context.Context, _ []string) error {
			if slices.Contains(f.find, "") {
				return usagef("--find is empty; name a text that is to be gone")
			}
			return a.withHost(ctx, func(conn *connection) error { return a.purge(ctx, conn, f) })
		}),
	}
	command.Flags().StringArrayVar(&f.find, "find", nil, "a deleted `text` that must not be found afterwards; may be repeated")
	command.Flags().StringVar(&f.profile, "profile", "", "profile `key` of the session that is made for the proof (default \"default\")")
	jsonFlag(command, &f.json)
	a.hostFlag(command)
	return command
}

func (a *app) purge(ctx context.Context, conn *connection, f purgeFlags) error {
	p := &proof{app: a, conn: conn, texts: f.find}
	// It also refuses who may not purge, before anything is stored.
	look, err := conn.Purge(ctx, api.PurgeArgs{DryRun: true})
	if err != nil {
		return err
	}
	if err := p.begin(ctx, look.Files, f.profile); err != nil {
		return err
	}
	working := a.showProgress("compacting")
	done, err := conn.Purge(ctx, api.PurgeArgs{})
	working.end()
	if err != nil {
		return err
	}
	result, err := p.end(ctx, done.Files)
	if err != nil {
		return err
	}
	result.Compaction = done.Compaction
	if f.json {
		err = a.printJSON(result)
	} else {
		err = a.printPurge(result)
	}
	if err != nil {
		return err
	}
	return result.verdict(len(f.find))
}

// purgeResult is what purge prints.
type purgeResult struct {
	sessions.Compaction
	Proven    bool    `json:"proven"` // nothing that was looked for is left
	NotProven string  `json:"notProven,omitempty"`
	Searched  int64   `json:"searchedBytes,omitempty"`
	Found     []found `json:"found"`
}

// found is a text that should be gone.
type found struct {
	Text   string `json:"text"` // as --find has it, or the proof's own
	Path   string `json:"path"`
	Offset int64  `json:"offset"` // in bytes
}

// verdict returns the error that the command ends with, nil when all is well.
func (r purgeResult) verdict(texts int) error {
	switch {
	case r.Proven:
		return nil
	case r.NotProven != "":
		return sessions.Errorf(sessions.CodeNotSupported,
			"The store was purged, but that cannot be proven from here, since %s; run the command on the host's machine as the host's user.", r.NotProven)
	default:
		first := r.Found[0]
		return sessions.Errorf(sessions.CodeConflict, "Of %s looked for, %d can be found, the first of them in %s at byte %d.",
			counted(int64(texts+1), "text"), len(r.Found), first.Path, first.Offset)
	}
}

func (a *app) printPurge(r purgeResult) error {
	_, err := fmt.Fprintf(a.stdout, "purged, %s before and %s after\n", counted(r.BytesBefore, "byte"), counted(r.BytesAfter, "byte"))
	for i := 0; err == nil && i < len(r.Found); i++ {
		_, err = fmt.Fprintf(a.stdout, "found %q in %s at byte %d\n", oneLine(r.Found[i].Text, 40), r.Found[i].Path, r.Found[i].Offset)
	}
	if err == nil && r.Proven {
		_, err = fmt.Fprintf(a.stdout, "proven, nothing that was looked for is in %s searched\n", counted(r.Searched, "byte"))
	}
	return err
}

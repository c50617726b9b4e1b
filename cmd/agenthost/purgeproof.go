package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"agenthost/cmd/agenthost/search"
	"agenthost/host/api"
	"agenthost/sessions"
)

// proof shows that a purge leaves nothing: a text that was found in the store's
// files, and then deleted, is found there no more.
//
// The text is given to a session as a message and as state, by a seed: a turn
// would ask a model, which may cost, and run tools.
type proof struct {
	app    *app
	conn   *connection
	texts  []string // that the user wants looked for
	marker string   // "" until it is planted
	doubt  string   // why nothing can be proven, "" when it can
}

// looks is how often the planted text is looked for: a running host may move it
// within its files while they are read.
const looks = 3

// begin plants the text, finds it, and deletes it, also when it fails.
func (p *proof) begin(ctx context.Context, files []string, profile string) error {
	p.marker = "purge-marker-" + rand.Text()
	at, err := p.plant(ctx, profile)
	if err == nil {
		err = p.lookForMarker(ctx, files)
	}
	// Also when the user gives up, or nobody knows whether it was planted: a
	// session of the proof must not stay.
	removing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	_, removed := p.conn.SessionDelete(removing, api.SessionDeleteArgs{Address: at})
	return cmp.Or(err, removed)
}

func (p *proof) plant(ctx context.Context, profile string) (api.Address, error) {
	at := newAddress("")
	value, err := json.Marshal(p.marker)
	if err != nil {
		return at, err
	}
	_, err = p.conn.SessionCreate(ctx, api.SessionCreateArgs{Address: api.Address{SessionID: at.SessionID, ProfileKey: profile}})
	if err != nil {
		return at, err
	}
	_, err = p.conn.SessionSeed(ctx, api.SessionSeedArgs{
		Address:  at,
		Messages: []api.SeedMessage{{Role: sessions.RoleUser, Content: sessions.Text(p.marker)}},
		State:    map[string]json.RawMessage{"marker": value},
	})
	return at, err
}

// lookForMarker notes a doubt unless the text is found.
func (p *proof) lookForMarker(ctx context.Context, files []string) error {
	if !slices.ContainsFunc(files, isThere) {
		p.doubt = "the host's files are not on this machine"
		return nil
	}
	for range looks {
		report, err := p.search(ctx, files, p.marker)
		switch {
		case ctx.Err() != nil:
			return err
		case err != nil:
			p.doubt = fmt.Sprintf("the files cannot be read (%s)", err)
			return nil
		case len(report.Found) > 0:
			return nil
		}
	}
	p.doubt = "what was just stored is not in the files that are here, so that they are not the host's"
	return nil
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// end looks for all that must be gone.
func (p *proof) end(ctx context.Context, files []string) (purgeResult, error) {
	result := purgeResult{NotProven: p.doubt, Found: []found{}}
	if p.doubt != "" {
		return result, nil
	}
	texts := append([]string{p.marker}, p.texts...)
	report, err := p.search(ctx, files, texts...)
	if err != nil {
		return result, err
	}
	for _, place := range report.Found {
		result.Found = append(result.Found, found{Text: texts[place.Text], Path: place.Path, Offset: place.Offset})
	}
	result.Searched, result.Proven = report.Bytes, len(result.Found) == 0
	return result, nil
}

// search looks for texts in the files, the last one first: a host names its
// database before the journal, and moves what it has from this to that.
func (p *proof) search(ctx context.Context, files []string, texts ...string) (search.Report, error) {
	backwards := slices.Clone(files)
	slices.Reverse(backwards)
	working := p.app.showProgress("searching")
	defer working.end()
	return p.app.searchInChild(ctx, search.Order{Paths: backwards, Texts: texts})
}

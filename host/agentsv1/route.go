package agentsv1

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"agenthost/host/api"
	"agenthost/sessions"
)

// route finds the operation by method and path, and runs it.
func (v *visit) route() error {
	rest, ok := strings.CutPrefix(v.r.URL.EscapedPath(), Path)
	if !ok {
		return unsupported()
	}
	var parts []string
	if rest != "" {
		for part := range strings.SplitSeq(rest[1:], "/") {
			name, err := url.PathUnescape(part)
			if err != nil {
				return notFound()
			}
			parts = append(parts, name)
		}
	}
	switch {
	case len(parts) > 0 && parts[0] == "openapi.yaml":
		return v.openAPI(parts[1:])
	case len(parts) > 0 && parts[0] == "sessions":
		return v.routeSessions(parts[1:])
	case len(parts) > 0 && slices.Contains(otherRooms, parts[0]):
		return unsupported()
	default:
		return v.routeAgents(parts)
	}
}

// otherRooms are the parts of the beta that this host does not offer, and whose
// names are therefore no agents'.
var otherRooms = []string{"automations", "environments", "vaults"}

func (v *visit) routeAgents(parts []string) error {
	switch {
	case len(parts) == 0 && v.r.Method == http.MethodGet:
		return v.listAgents()
	case len(parts) == 0 && v.r.Method == http.MethodPost:
		return v.createAgent()
	case len(parts) == 1 && v.r.Method == http.MethodGet:
		return v.getAgent(parts[0])
	case len(parts) == 1 && (v.r.Method == http.MethodPost || v.r.Method == http.MethodDelete):
		return v.changeAgent(parts[0])
	}
	return unsupported()
}

func (v *visit) routeSessions(parts []string) error {
	if len(parts) == 0 {
		switch v.r.Method {
		case http.MethodGet:
			return v.listSessions()
		case http.MethodPost:
			return v.createSession()
		}
		return unsupported()
	}
	at := api.Address{SessionID: sessions.SessionID(parts[0])}
	// Of the operations below a session only these write.
	if len(parts) == 1 {
		switch v.r.Method {
		case http.MethodGet:
			return v.getSession(at)
		case http.MethodPost:
			return v.updateSession(at)
		case http.MethodDelete:
			return v.deleteSession(at)
		}
		return unsupported()
	}
	if v.r.Method == http.MethodPost && len(parts) == 2 && parts[1] == "events" {
		return v.postEvents(at)
	}
	if v.r.Method != http.MethodGet {
		return unsupported()
	}
	if len(parts) == 2 && parts[1] == "events" {
		return v.streamEvents(at)
	}
	if parts[1] == "subagents" {
		return v.routeSubagents(at, parts[2:])
	}
	return v.routeHistory(at, "", parts[1:])
}

// routeHistory routes the turns and items of a session or a subagent.
func (v *visit) routeHistory(at api.Address, subagent sessions.SessionID, parts []string) error {
	switch {
	case len(parts) == 1 && parts[0] == "items":
		return v.listItems(at)
	case len(parts) == 1 && parts[0] == "turns":
		return v.listTurns(at, subagent)
	case len(parts) == 2 && parts[0] == "turns":
		return v.getTurn(at, subagent, sessions.TurnID(parts[1]))
	case len(parts) == 3 && parts[0] == "turns" && parts[2] == "items":
		return v.listTurnItems(at, sessions.TurnID(parts[1]))
	}
	return unsupported()
}

func (v *visit) routeSubagents(at api.Address, parts []string) error {
	switch len(parts) {
	case 0:
		return v.listSubagents(at)
	case 1:
		return v.getSubagent(at, sessions.SessionID(parts[0]))
	}
	child, err := v.child(at, sessions.SessionID(parts[0]))
	if err != nil {
		return err
	}
	return v.routeHistory(child, child.SessionID, parts[1:])
}

// session returns the session that a path names; whatever is wrong with its id is
// the same to the caller.
func (v *visit) session(at api.Address) (sessions.Session, error) {
	if sessions.CheckSessionID("", at.SessionID) != nil {
		return sessions.Session{}, notFound()
	}
	got, err := v.access.SessionGet(v.ctx(), &api.SessionGetArgs{Address: at})
	if err != nil {
		return sessions.Session{}, err
	}
	return got.Session, nil
}

// reply answers with a value.
func (v *visit) reply(value any) error {
	writeJSON(v.w, http.StatusOK, value, v.config.StallAfter)
	return nil
}

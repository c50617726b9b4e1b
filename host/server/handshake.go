package server

import (
	"encoding/base64"
	"net/http"
	"strings"

	"agenthost/host/api"
	"agenthost/sessions"
)

// checkHandshake returns INVALID_REQUEST unless r is a proper WebSocket
// handshake that offers the subprotocol. What it lets through, the WebSocket
// library accepts; that one would answer failures in another form.
func checkHandshake(r *http.Request) error {
	switch {
	case !r.ProtoAtLeast(1, 1) || r.ProtoMajor != 1,
		!hasToken(r.Header, "Connection", "upgrade"),
		!hasToken(r.Header, "Upgrade", "websocket"):
		return sessions.Errorf(sessions.CodeInvalidRequest, "This path takes WebSocket handshakes only.")
	case r.Header.Get("Sec-WebSocket-Version") != "13":
		return sessions.Errorf(sessions.CodeInvalidRequest, "The WebSocket version must be 13.")
	case !hasToken(r.Header, "Sec-WebSocket-Protocol", api.Subprotocol):
		return sessions.Errorf(sessions.CodeInvalidRequest, "The handshake must offer the subprotocol %s.", api.Subprotocol)
	}
	keys := r.Header.Values("Sec-WebSocket-Key")
	if len(keys) == 1 {
		key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(keys[0]))
		if err == nil && len(key) == 16 {
			return nil
		}
	}
	return sessions.Errorf(sessions.CodeInvalidRequest, "The handshake must carry one Sec-WebSocket-Key of 16 bytes.")
}

// hasToken reports whether a comma-separated header holds token.
func hasToken(header http.Header, name, token string) bool {
	for _, value := range header.Values(name) {
		for entry := range strings.SplitSeq(value, ",") {
			if strings.EqualFold(strings.TrimSpace(entry), token) {
				return true
			}
		}
	}
	return false
}

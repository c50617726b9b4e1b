package server

import (
	"encoding/base64"
	"net"
	"net/http"
	"strings"

	"agenthost/host/api"
	"agenthost/sessions"
)

// bearerProtocol begins the subprotocol by which a browser sends a key, since it
// can set no header of a handshake. The rest is the key in base64url.
const bearerProtocol = "agenthost.bearer."

// Bearer returns an Authenticate that asks admit who has the secret of a request:
// that of Authorization: Bearer, or of the subprotocol agenthost.bearer. "" means
// that there is none, and what is malformed is no key. A request without one that
// did not come over a network, but by a Unix socket or within the process, is the
// administrator's, whom the file system or the program has let in. FORBIDDEN is the
// answer when admit lets everyone in and the request has come to a loopback address
// by a name of elsewhere, as a page's would that had its name point here.
func Bearer(admit func(secret string) (api.Caller, error)) func(*http.Request) (api.Caller, error) {
	return func(r *http.Request) (api.Caller, error) {
		secret := secretOf(r.Header)
		if secret == "" && isAtHome(r) {
			return api.Caller{Owner: sessions.LocalOwner, Admin: true, Home: true}, nil
		}
		caller, err := admit(secret)
		if err == nil && caller.Anyone {
			err = checkName(r, nil)
		}
		return caller, err
	}
}

// malformed stands for what is no secret of any key.
const malformed = "malformed "

// secretOf returns the secret that a header carries, "" for none.
func secretOf(header http.Header) string {
	if given := header.Values("Authorization"); len(given) > 0 {
		all := strings.Join(given, ",")
		scheme, secret, _ := strings.Cut(all, " ")
		if secret = strings.TrimSpace(secret); secret != "" && strings.EqualFold(scheme, "Bearer") {
			return secret
		}
		return malformed // a variable of a script that is not set is not the absence of a key
	}
	for _, value := range header.Values("Sec-WebSocket-Protocol") {
		for protocol := range strings.SplitSeq(value, ",") {
			encoded, ok := strings.CutPrefix(strings.TrimSpace(protocol), bearerProtocol)
			if !ok {
				continue
			}
			if secret, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(encoded, "=")); err == nil && len(secret) > 0 {
				return string(secret)
			}
			return malformed
		}
	}
	return ""
}

// isAtHome reports whether a request came by a Unix socket or a pipe within the
// process.
func isAtHome(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && (local.Network() == "unix" || local.Network() == "pipe")
}

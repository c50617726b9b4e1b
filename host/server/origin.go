package server

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"agenthost/sessions"
)

// checkOrigin returns FORBIDDEN when a browser sends r for a page that may not
// call: one that is neither the host's own nor of the origins allowed. Without
// the check every page a person visits could use a host on their machine.
func checkOrigin(r *http.Request, allowed []string) error {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return nil // no browser, or a page's own read
	}
	u, err := url.Parse(origin)
	if err == nil && u.Host != "" {
		matches := func(o string) bool {
			return strings.EqualFold(o, u.Host) || strings.EqualFold(o, u.Scheme+"://"+u.Host)
		}
		if slices.ContainsFunc(allowed, matches) {
			return nil
		}
		if strings.EqualFold(u.Host, r.Host) && !isRebound(r) {
			return nil
		}
	}
	return sessions.Errorf(sessions.CodeForbidden, "Pages of this origin may not call this host; its configuration lists the origins that may.")
}

// isRebound reports whether r came in on a loopback address under a name that is
// not one of this machine: what a page gets by pointing its own name here.
func isRebound(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	addr, err := netip.ParseAddrPort(local.String())
	if err != nil || !addr.Addr().Unmap().IsLoopback() {
		return false
	}
	name := (&url.URL{Host: r.Host}).Hostname()
	if ip, err := netip.ParseAddr(name); err == nil {
		return !ip.Unmap().IsLoopback()
	}
	name = strings.ToLower(name)
	return name != "localhost" && !strings.HasSuffix(name, ".localhost")
}

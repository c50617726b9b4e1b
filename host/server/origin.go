package server

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"

	"agenthost/sessions"
)

// checkPage returns FORBIDDEN for what a browser asks for a page that may not.
func (s *Server) checkPage(r *http.Request) error {
	err := checkOrigin(r, s.config.Origins)
	if err == nil && s.open {
		err = checkName(r, s.config.Origins)
	}
	return err
}

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
	return sessions.Errorf(sessions.CodeForbidden,
		"Pages of this origin may not call this host; serve them below the host's own address, or have the program that runs the host allow their origin.")
}

// checkName returns FORBIDDEN when r, which shows nothing of who makes it, came in
// on a loopback address under a name that is none of this machine: a page has
// pointed its own name here, and would read what everyone on the machine may.
// Browsers send no Origin with such a page's own reads.
func checkName(r *http.Request, allowed []string) error {
	matches := func(o string) bool {
		_, host, schemed := strings.Cut(o, "://")
		return strings.EqualFold(o, r.Host) || schemed && strings.EqualFold(host, r.Host)
	}
	if !isRebound(r) || slices.ContainsFunc(allowed, matches) {
		return nil
	}
	return sessions.Errorf(sessions.CodeForbidden,
		"As long as this host asks for no key it answers to names of its own machine only; reach it as localhost, or make a key.")
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
	return !isOwnName(strings.ToLower(strings.TrimSuffix(name, ".")))
}

// isOwnName reports whether a name in lower case can only lead to this machine. No
// page has a name below .internal, by which containers reach the machine they run
// on; and no browser sends none.
func isOwnName(name string) bool {
	own, err := os.Hostname()
	return name == "" || name == "localhost" || strings.HasSuffix(name, ".localhost") || strings.HasSuffix(name, ".internal") ||
		err == nil && name == strings.ToLower(own)
}

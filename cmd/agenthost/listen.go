package main

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"syscall"

	"agenthost/sessions"
)

// resolve resolves the address to listen on.
func resolve(address string) (*net.TCPAddr, error) {
	resolved, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, sessions.Errorf(sessions.CodeInvalidRequest, "The address %s to listen on cannot be resolved.", address).Because(err)
	}
	return resolved, nil
}

// reachable returns where this machine reaches what listens on an address. All
// addresses are none that a request could be for.
func reachable(address string) string {
	name, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(name); err != nil || name != "" && (ip == nil || !ip.IsUnspecified()) {
		return address
	}
	return net.JoinHostPort("127.0.0.1", port)
}

// checkReach refuses a host that asks for no keys at an address that other machines
// could reach: whoever reaches it could do everything.
func checkReach(address string, at *net.TCPAddr, demandsKeys bool) error {
	if demandsKeys || at.IP.IsLoopback() {
		return nil
	}
	return sessions.Errorf(sessions.CodeInvalidRequest,
		"The host has no keys, and %s is open to others; make one with agenthost keys create, or listen on 127.0.0.1 or [::1].", address)
}

// listen opens a TCP listener and, unless path is "", one on a Unix socket.
func listen(address *net.TCPAddr, path string) ([]net.Listener, error) {
	tcp, err := net.ListenTCP("tcp", address)
	if err != nil {
		return nil, cannotListen(address.String(), err)
	}
	if path == "" {
		return []net.Listener{tcp}, nil
	}
	unix, err := listenUnix(path)
	if err != nil {
		return nil, errors.Join(err, tcp.Close())
	}
	return []net.Listener{tcp, unix}, nil
}

// listenUnix opens a socket that only the user may use. One that a dead process
// left is replaced, and the listener removes its own when it is closed.
func listenUnix(path string) (net.Listener, error) {
	if err := removeStale(path); err != nil {
		return nil, err
	}
	// The mode must hold from the first moment, so it cannot be set afterwards.
	mask := syscall.Umask(0o177)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	syscall.Umask(mask)
	if err != nil {
		return nil, cannotListen(path, err)
	}
	return listener, nil
}

// removeStale removes the socket at path when nobody listens on it.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return cannotListen(path, err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return sessions.Errorf(sessions.CodeConflict, "There is a file at %s that is no socket; choose another path.", path)
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err == nil {
		return errors.Join(sessions.Errorf(sessions.CodeConflict, "Another process listens on %s; stop it or choose another path.", path), conn.Close())
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return cannotListen(path, err)
	}
	return os.Remove(path)
}

func cannotListen(where string, err error) error {
	refuse := func(code sessions.Code, why string) error {
		return sessions.Errorf(code, "The host cannot listen on %s: %s.", where, why).Because(err)
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return sessions.Errorf(sessions.CodeConflict, "Another process listens on %s; stop it or choose another place with --listen.", where).Because(err)
	case errors.Is(err, fs.ErrNotExist):
		return refuse(sessions.CodeInvalidRequest, "its folder does not exist; make it or choose another path")
	case errors.Is(err, fs.ErrPermission):
		return refuse(sessions.CodeInvalidRequest, "this user may not; choose another place")
	default:
		return refuse(sessions.CodeInternal, err.Error())
	}
}

func closeAll(listeners []net.Listener) error {
	var failed []error
	for _, listener := range listeners {
		failed = append(failed, listener.Close())
	}
	return errors.Join(failed...)
}

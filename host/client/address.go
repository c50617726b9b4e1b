package client

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// parseAddress reads the address of a host, as Dial takes it.
func parseAddress(address string) (*url.URL, error) {
	full := address
	if !strings.Contains(address, "://") {
		full = "http://" + address
	}
	_, rest, _ := strings.Cut(full, "://")
	if authority, _, _ := strings.Cut(rest, "/"); strings.Contains(authority, "@") {
		// What stands before the @ may be a secret and is not repeated.
		return nil, errors.New("the address of the host has a user name in it; leave it out, since hosts know their callers by keys")
	}
	base, err := url.Parse(full)
	if err != nil {
		return nil, fmt.Errorf("the address %q of the host is malformed; use one such as http://127.0.0.1:7777", address)
	}
	if base.Scheme == "unix" && base.Host == "" && base.Path != "" {
		return base, nil
	}
	if base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, fmt.Errorf("the address of a host begins with http://, https:// or unix:///; this is %q", address)
	}
	if port := base.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, fmt.Errorf("the port of the address %q is none; a port is a number from 1 to 65535", address)
		}
	} else if full != address || strings.HasSuffix(base.Host, ":") {
		return nil, fmt.Errorf("the address %q of the host has no port; use one such as 127.0.0.1:7777", address)
	}
	return base, nil
}

package mcp

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agenthost/tools"
)

// catalogue is what is mounted of one server. It is for one goroutine.
type catalogue struct {
	server  *server
	mounts  Mounts
	mounted map[string]*tool // by path
}

func newCatalogue(s *server, mounts Mounts) *catalogue {
	return &catalogue{server: s, mounts: mounts, mounted: map[string]*tool{}}
}

// update mounts what is new in the list and unmounts what is gone from it. What
// has not changed stays as it is, so that calls and caches stay good. What cannot
// be mounted is logged and left out.
func (c *catalogue) update(listed []*sdk.Tool) {
	wanted := c.wanted(listed)
	for _, path := range slices.Sorted(maps.Keys(c.mounted)) {
		if now := wanted[path]; now != nil && now.like(c.mounted[path]) {
			delete(wanted, path)
			continue
		}
		c.mounts.Unmount(path)
		delete(c.mounted, path)
	}
	for _, path := range slices.Sorted(maps.Keys(wanted)) {
		if err := c.mounts.Mount(path, wanted[path]); err != nil {
			c.leaveOut(wanted[path].name, err)
			continue
		}
		c.mounted[path] = wanted[path]
	}
}

// wanted returns the listed tools by path, of several for one the first.
func (c *catalogue) wanted(listed []*sdk.Tool) map[string]*tool {
	wanted := map[string]*tool{}
	for _, t := range listed {
		path, err := pathOf(c.server.about.Mount, t.Name)
		if err != nil {
			c.leaveOut(t.Name, err)
			continue
		}
		made, err := newTool(c.server, t)
		if err != nil {
			c.leaveOut(t.Name, err)
			continue
		}
		if other := wanted[path]; other != nil {
			c.server.log.Warn("two tools of the MCP server would have one path; the later is left out",
				"tool", t.Name, "other", other.name, "path", path)
			continue
		}
		wanted[path] = made
	}
	return wanted
}

func (c *catalogue) leaveOut(name string, err error) {
	c.server.log.Warn("a tool of the MCP server is left out", "tool", name, "error", err)
}

// pathOf returns the path of the tool that a server calls name. A slash in the
// name makes segments; what paths do not allow becomes an underscore.
func pathOf(mount, name string) (string, error) {
	path := mount
	for segment := range strings.SplitSeq(name, "/") {
		path += "/" + segmentOf(segment)
	}
	return tools.ParsePath(path)
}

func segmentOf(text string) string {
	segment := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || strings.ContainsRune(`\%{}`, r) {
			return '_'
		}
		return r
	}, strings.TrimSpace(text))
	if strings.Trim(segment, ".") == "" {
		return "_"
	}
	return segment
}

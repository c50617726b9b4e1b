package agentsv1

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	defaultLimit = 20
	maxLimit     = 100
)

// pageQuery is what a list is asked for.
type pageQuery struct {
	after     string // id of the last object of the page before, "" for the first page
	limit     int
	ascending bool
}

// list is one page of objects.
type list struct {
	Object  string  `json:"object"`
	Data    []any   `json:"data"`
	HasMore bool    `json:"has_more"`
	FirstID *string `json:"first_id"`
	LastID  *string `json:"last_id"`
}

// listOf returns a page of objects, each with an id.
func listOf[T interface{ id() string }](objects []T, hasMore bool) list {
	page := list{Object: "list", Data: []any{}, HasMore: hasMore}
	for _, o := range objects {
		page.Data = append(page.Data, o)
	}
	if len(objects) > 0 {
		page.FirstID, page.LastID = new(objects[0].id()), new(objects[len(objects)-1].id())
	}
	return page
}

// pageBytes is how much of clients' texts a page takes before it ends, whatever its
// limit, so that a list of large objects is not larger than what they came in by.
func (v *visit) pageBytes() int64 { return v.config.Limits.EnvelopeBytes }

// The parameters of lists. What ends in brackets takes a key in them.
var (
	paging  = []string{"after", "limit", "order"}
	filters = append([]string{"agent_id", "metadata[]"}, paging...)
)

// queryOf returns the parameters of a URL, each given once and one of those allowed.
func queryOf(u *url.URL, allowed []string) (url.Values, error) {
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, invalid("", "The query of the URL is malformed.")
	}
	for name, given := range values {
		if !slices.Contains(allowed, keyless(name)) {
			return nil, invalid(name, "There is no such query parameter here.")
		}
		if len(given) > 1 {
			return nil, invalid(name, "A query parameter is given once.")
		}
	}
	return values, nil
}

// page returns what a list is asked for.
func (v *visit) page() (q pageQuery, err error) {
	q = pageQuery{after: v.query.Get("after"), limit: defaultLimit}
	if v.query.Has("limit") {
		if q.limit, err = strconv.Atoi(v.query.Get("limit")); err != nil || q.limit < 1 || q.limit > maxLimit {
			return q, invalid("limit", "The limit is a number from 1 to %d.", maxLimit)
		}
	}
	switch order := v.query.Get("order"); {
	case order == "asc":
		q.ascending = true
	case order != "desc" && v.query.Has("order"):
		return q, invalid("order", "The order is asc or desc.")
	}
	return q, nil
}

// behind returns the page that q asks for of objects that are all at hand, oldest
// first.
func behind[T interface{ id() string }](q pageQuery, all []T) (list, error) {
	if !q.ascending {
		all = slices.Clone(all)
		slices.Reverse(all)
	}
	if q.after != "" {
		i := slices.IndexFunc(all, func(o T) bool { return o.id() == q.after })
		if i < 0 {
			return list{}, unknownAfter()
		}
		all = all[i+1:]
	}
	return listOf(all[:min(q.limit, len(all))], len(all) > q.limit), nil
}

func unknownAfter() *problem {
	return invalid("after", "There is no such object in this list; start again without after.")
}

// keyless returns the name of a parameter without the key in its brackets.
func keyless(name string) string {
	if open := strings.IndexByte(name, '['); open > 0 && strings.HasSuffix(name, "]") {
		return name[:open] + "[]"
	}
	return name
}

package anthropic

import (
	sdk "github.com/anthropics/anthropic-sdk-go/v2"
)

// lookback is within how many blocks before a breakpoint the provider finds a
// prefix that an earlier request has left in its cache.
const lookback = 18

// keepWarm marks where the provider's cache is to end prefixes: after the tools
// and the system's text, which many sessions share, and after the whole request,
// which the session's next one begins with. The mark of the whole stands outside
// the messages, so that a message's bytes stay the same when others follow it.
//
// A step of many calls puts more blocks between two requests than the provider
// looks back over; then the end of the last request is marked too.
func keepWarm(p *sdk.MessageNewParams, turns []*turn) {
	mark := sdk.NewCacheControlEphemeralParam()
	p.CacheControl = mark
	switch {
	case len(p.System) > 0:
		p.System[len(p.System)-1].CacheControl = mark
	case len(p.Tools) > 0:
		p.Tools[len(p.Tools)-1].OfTool.CacheControl = mark
	}
	n := len(turns)
	if n < 3 || len(turns[n-1].blocks)+len(turns[n-2].blocks) <= lookback {
		return
	}
	before := turns[n-3].blocks
	*before[len(before)-1].GetCacheControl() = mark
}

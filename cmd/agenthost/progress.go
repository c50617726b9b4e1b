package main

import (
	"fmt"
	"sync"
	"time"
)

// progress is a line on a terminal that says that work goes on.
type progress struct {
	done    chan struct{}
	showing sync.WaitGroup
}

// showProgress shows the name of the work and the seconds it has taken, until
// end. It shows nothing where stderr is no terminal.
func (a *app) showProgress(work string) *progress {
	p := &progress{done: make(chan struct{})}
	if isTerminal(a.stderr) {
		p.showing.Go(func() { p.show(a, work) })
	}
	return p
}

func (p *progress) show(a *app, work string) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	begin, shown := time.Now(), false
	for {
		select {
		case <-tick.C:
			shown = true
			_, _ = fmt.Fprintf(a.stderr, "\r%s… %d s", work, int(time.Since(begin).Seconds()))
		case <-p.done:
			if shown {
				a.complain("")
			}
			return
		}
	}
}

// end stops the showing.
func (p *progress) end() {
	close(p.done)
	p.showing.Wait()
}

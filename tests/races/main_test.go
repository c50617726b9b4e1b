package races

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

var rounds = flag.Int("rounds", 200, "how often TestVolumeRaces runs each race in each order")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

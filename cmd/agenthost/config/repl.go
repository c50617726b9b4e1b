package config

import "fmt"

const (
	minMemoryBytes = 4 << 20
	maxMemoryBytes = 2 << 30
)

// checkMemory refuses a memory in which no engine would start, and one that no
// engine could have.
func checkMemory(value any) string {
	if n := value.(int64); n < minMemoryBytes || n > maxMemoryBytes {
		return fmt.Sprintf("must be from %d to %d", minMemoryBytes, int64(maxMemoryBytes))
	}
	return ""
}

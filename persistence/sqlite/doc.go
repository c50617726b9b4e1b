// Package sqlite keeps sessions in one SQLite file: an implementation of
// sessions.Store on a driver without cgo.
//
// It owns the file and its side files, those of frames among them if frames are
// to be kept so, the schema, and the rules of what is atomic and durable. It
// does not own the meaning of what it stores: states move by the tables in
// package sessions, and nothing here starts a turn.
//
// Concurrency: one goroutine, the writer, owns the only connection that writes
// and is the only place where rows change. Jobs reach it through a bounded
// queue and are committed in batches. Readers use a second pool of read-only
// connections; each read sees every write that was acknowledged before it
// began. Every exported method may be called from any goroutine.
//
// Where to look: open.go, connect.go, migrate.go, lock.go and place.go take the
// file; writer.go, batch.go and tx.go are the writer, which remembers in
// recent.go what it has just written; reader.go are the readers. Each command of
// the port has a file, create.go to clear.go, with accept.go and commit.go for
// turns, and claim.go and tombstone.go for what is remembered of requests.
// What a fork copies is in transcript.go. Questions are in read.go, list.go,
// turns.go and retirable.go. How rows are written and read is in codec.go and the
// files that end in row.go. What goes away goes by remove.go and sweep.go, and its
// last bytes by compact.go. frames.go reads frames wherever framekeeper.go says
// that they are kept: in the table by tableframes.go; in files by fileframes.go,
// with filebatch.go for writing, fileread.go and fileremove.go, on files of the
// form of framefile.go and frameline.go.
package sqlite

package host

import (
	"context"
	"crypto/rand"
	"encoding/base64"

	"github.com/google/uuid"

	"agenthost/host/api"
	"agenthost/sessions"
)

// keyPrefix begins every secret, so that one can be recognised where it should not be.
const keyPrefix = "ahk_"

// Admit says who has a key, by its secret, and counts a request of it. Once there
// has ever been a key, each request needs one: UNAUTHENTICATED for a secret that is
// no key's or a revoked one's, OVERLOADED beyond the key's rate. Before, everyone is
// the owner sessions.LocalOwner and an admin. It writes nothing.
func (h *Host) Admit(secret string) (api.Caller, error) { return h.keys.admit(secret) }

// Readmit counts further requests of a caller who was admitted, with errors as
// Admit. With none it only says whether the caller would be.
func (h *Host) Readmit(caller api.Caller, requests int) error {
	return h.keys.readmit(caller, requests)
}

// DemandsKeys reports whether requests need a key.
func (h *Host) DemandsKeys() bool {
	h.keys.mu.RLock()
	defer h.keys.mu.RUnlock()
	return h.keys.demanded
}

// OnKeys has f called after each change after which Readmit may refuse whom it did
// not refuse before. It replaces the f of an earlier call.
func (h *Host) OnKeys(f func()) {
	h.keys.mu.Lock()
	defer h.keys.mu.Unlock()
	h.keys.changed = f
}

// KeyCreate makes a key for an owner. From the first on the host demands keys.
func (a *Access) KeyCreate(ctx context.Context, args *api.KeyCreateArgs) (*api.KeyCreateResult, error) {
	if err := a.check(args); err != nil {
		return nil, err
	}
	h := a.host
	random := make([]byte, 32)
	rand.Read(random) // never fails
	secret := keyPrefix + base64.RawURLEncoding.EncodeToString(random)
	perSecond, burst := args.Rate()
	key := sessions.StoredKey{AccessKey: sessions.AccessKey{
		ID: sessions.KeyID(uuid.Must(uuid.NewV7()).String()), Owner: args.Owner, Role: args.RoleOrUser(), Name: args.Name,
		PerSecond: perSecond, Burst: burst, CreatedAt: a.now(),
	}, Hash: h.store.KeyHash(secret)}
	// A caller who leaves must not leave a key that the host does not know of.
	if err := h.store.CreateKey(context.WithoutCancel(ctx), key); err != nil {
		return nil, err
	}
	h.keys.hold(key)
	h.keys.tell()
	h.config.Logger.Info("key created", "key", key.ID, "owner", key.Owner, "role", key.Role)
	return &api.KeyCreateResult{Key: h.keys.info(key.AccessKey), Secret: secret}, nil
}

// KeyList lists all keys there ever were, oldest first.
func (a *Access) KeyList(ctx context.Context, args *api.KeyListArgs) (*api.KeyListResult, error) {
	if err := a.check(args); err != nil {
		return nil, err
	}
	stored, err := a.host.store.Keys(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]api.KeyInfo, len(stored))
	for i, k := range stored {
		list[i] = a.host.keys.info(k.AccessKey)
	}
	return &api.KeyListResult{Keys: list}, nil
}

// KeyRevoke ends a key, at once. One that is revoked already stays as it is.
func (a *Access) KeyRevoke(ctx context.Context, args *api.KeyRevokeArgs) (*api.KeyRevokeResult, error) {
	if err := a.check(args); err != nil {
		return nil, err
	}
	h := a.host
	revoked, err := h.store.RevokeKey(context.WithoutCancel(ctx), args.KeyID, a.now())
	if err != nil {
		return nil, err
	}
	h.keys.revoke(revoked)
	h.keys.tell()
	h.config.Logger.Info("key revoked", "key", revoked.ID, "owner", revoked.Owner)
	return &api.KeyRevokeResult{Key: h.keys.info(revoked)}, nil
}

package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/easeml/easeml/server/store"
	"github.com/google/uuid"
)

// User is a row of the store.
type User = store.User

// Roles of users.
const (
	RoleUser  = "user"
	RoleAdmin = "admin"
)

// ErrToken says that a token is no (longer a) token of this server. Any other
// error of Authenticate means that it couldn't be found out.
var ErrToken = errors.New("this token is not valid here: it is mistyped, revoked, or another server's")

// Authenticator finds out who the bearer of a token is.
type Authenticator interface {
	// Authenticate returns the token's user, or an error that is ErrToken.
	Authenticate(ctx context.Context, token string) (User, error)
}

// Accounts are the users and tokens of a store. Its methods may be called from
// any goroutine.
type Accounts struct{ store *store.Store }

var _ Authenticator = (*Accounts)(nil)

// New returns the accounts of a store.
func New(s *store.Store) *Accounts { return &Accounts{store: s} }

// Ensure returns the user of this name, made if missing, with this role; an
// empty role leaves a user as they are and makes a new one a user.
func (a *Accounts) Ensure(ctx context.Context, name, role string) (User, error) {
	if err := CheckName(name); err != nil {
		return User{}, err
	}
	if role != "" && role != RoleUser && role != RoleAdmin {
		return User{}, fmt.Errorf("there is no role %q: it is user or admin", role)
	}
	var u User
	find := func(r *store.Reader) (err error) {
		u, err = r.UserByName(name)
		return err
	}
	// Most of the time there is nothing to write.
	err := a.store.Read(ctx, find)
	if err == nil && (role == "" || role == u.Role) {
		return u, nil
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return User{}, err
	}
	_, err = a.store.Write(ctx, func(tx *store.Tx) error {
		err := find(&tx.Reader)
		switch {
		case errors.Is(err, store.ErrNotFound):
			id, err := uuid.NewV7()
			if err != nil {
				return err
			}
			u = User{ID: id.String(), Name: name, Role: role, Created: tx.Now()}
			if role == "" {
				u.Role = RoleUser
			}
			return tx.InsertUser(u)
		case err != nil:
			return err
		case role != "" && role != u.Role:
			u.Role = role
			return tx.SetUserRole(u.ID, role)
		}
		return nil
	})
	if err != nil {
		return User{}, err
	}
	return u, nil
}

// Find returns the user of this name, or store.ErrNotFound.
func (a *Accounts) Find(ctx context.Context, name string) (u User, err error) {
	err = a.store.Read(ctx, func(r *store.Reader) (err error) {
		u, err = r.UserByName(name)
		return err
	})
	return u, err
}

const (
	tokenPrefix = "eml_"
	tokenBytes  = 32
)

// NewToken makes a token for a user and returns it, the only time it can be
// seen: eml_ and 256 random bits. The label is for people.
func (a *Accounts) NewToken(ctx context.Context, user User, label string) (token string, err error) {
	var secret [tokenBytes]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	token = tokenPrefix + base64.RawURLEncoding.EncodeToString(secret[:])
	_, err = a.store.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.UserByID(user.ID); err != nil {
			return err
		}
		return tx.InsertToken(store.Token{Hash: hash(token), UserID: user.ID, Label: label})
	})
	if err != nil {
		return "", err
	}
	return token, nil
}

// Authenticate finds the user of a token.
func (a *Accounts) Authenticate(ctx context.Context, token string) (User, error) {
	if !wellFormed(token) {
		return User{}, ErrToken
	}
	h := hash(token)
	var u User
	err := a.store.Read(ctx, func(r *store.Reader) error {
		t, err := r.TokenByHash(h)
		if err != nil {
			return err
		}
		// The lookup is by hash, so its timing tells nothing that leads to a
		// token; the row is compared all the same.
		if subtle.ConstantTimeCompare(t.Hash, h) != 1 || t.Revoked != nil {
			return store.ErrNotFound
		}
		u, err = r.UserByID(t.UserID)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return User{}, ErrToken
	}
	return u, err
}

// Revoke ends a token for ever. One that isn't a token here is ErrToken.
func (a *Accounts) Revoke(ctx context.Context, token string) error {
	if !wellFormed(token) {
		return ErrToken
	}
	_, err := a.store.Write(ctx, func(tx *store.Tx) error { return tx.RevokeToken(hash(token)) })
	if errors.Is(err, store.ErrNotFound) {
		return ErrToken
	}
	return err
}

// RevokeLabel ends all tokens of a user that have this label, for whoever has
// lost the token itself, and returns how many there were.
func (a *Accounts) RevokeLabel(ctx context.Context, user User, label string) (revoked int, err error) {
	_, err = a.store.Write(ctx, func(tx *store.Tx) error {
		revoked = 0
		tokens, err := tx.Tokens(user.ID)
		if err != nil {
			return err
		}
		for _, t := range tokens {
			if t.Label != label || t.Revoked != nil {
				continue
			}
			if err := tx.RevokeToken(t.Hash); err != nil {
				return err
			}
			revoked++
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return revoked, nil
}

func wellFormed(token string) bool {
	rest, ok := strings.CutPrefix(token, tokenPrefix)
	return ok && len(rest) == base64.RawURLEncoding.EncodedLen(tokenBytes)
}

func hash(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

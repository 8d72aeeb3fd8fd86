package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/easeml/easeml/server/account"
	"github.com/easeml/easeml/server/store"
)

// NewToken makes a token for a user, whom it makes if missing, in the state of
// a server that may be running.
func NewToken(ctx context.Context, state, user, label string, admin bool, log *slog.Logger) (token string, err error) {
	err = withAccounts(ctx, state, log, func(a *account.Accounts) error {
		role := ""
		if admin {
			role = account.RoleAdmin
		}
		u, err := a.Ensure(ctx, user, role)
		if err != nil {
			return err
		}
		token, err = a.NewToken(ctx, u, label)
		return err
	})
	return token, err
}

// RevokeTokens ends the tokens of a user that have this label.
func RevokeTokens(ctx context.Context, state, user, label string, log *slog.Logger) (revoked int, err error) {
	err = withAccounts(ctx, state, log, func(a *account.Accounts) error {
		u, err := a.Find(ctx, user)
		if errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("there is no user %s", user)
		}
		if err != nil {
			return err
		}
		revoked, err = a.RevokeLabel(ctx, u, label)
		return err
	})
	return revoked, err
}

func withAccounts(ctx context.Context, state string, log *slog.Logger, f func(*account.Accounts) error) error {
	db, err := store.OpenBeside(ctx, filepath.Join(state, databaseFile), log)
	if err != nil {
		return err
	}
	return errors.Join(f(account.New(db)), db.Close())
}

package store

const userColumns = `id, name, role, created`

func scanUser(s scanner) (u User, err error) {
	err = s.Scan(&u.ID, &u.Name, &u.Role, intoTime{&u.Created})
	return u, err
}

// UserByName looks a user up by name.
func (r *Reader) UserByName(name string) (User, error) {
	return one(r, scanUser, "user "+name, `SELECT `+userColumns+` FROM users WHERE name = ?`, name)
}

// UserByID looks a user up by id.
func (r *Reader) UserByID(id string) (User, error) {
	return one(r, scanUser, "user "+id, `SELECT `+userColumns+` FROM users WHERE id = ?`, id)
}

// Users lists all users by name.
func (r *Reader) Users() ([]User, error) {
	return all(r, scanUser, "users", `SELECT `+userColumns+` FROM users ORDER BY name`)
}

// InsertUser adds a user; a name that is taken is ErrExists. An empty role
// is "user".
func (tx *Tx) InsertUser(u User) error {
	if u.Role == "" {
		u.Role = "user"
	}
	_, err := tx.exec("user "+u.Name, `INSERT INTO users (`+userColumns+`) VALUES (?, ?, ?, ?)`,
		u.ID, u.Name, u.Role, tx.microsOr(u.Created))
	return err
}

// SetUserRole makes a user a "user" or an "admin".
func (tx *Tx) SetUserRole(userID, role string) error {
	return tx.must("user "+userID, `UPDATE users SET role = ? WHERE id = ?`, role, userID)
}

-- +goose Up
CREATE TABLE shares (                  -- what a search had of the devices, and what an equal share would have given it
  search_id TEXT PRIMARY KEY REFERENCES searches(id),
  owed      REAL NOT NULL,             -- device seconds until at
  had       REAL NOT NULL,
  owed_rate REAL NOT NULL,             -- devices, since at
  had_rate  REAL NOT NULL,
  at        INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE priors (                  -- what was fitted from finished trials; AUTOINCREMENT: no version is used twice
  version  INTEGER PRIMARY KEY AUTOINCREMENT,
  template TEXT NOT NULL,
  target   TEXT NOT NULL,              -- classes | numbers
  id       TEXT NOT NULL,              -- hash of the body, which every decision names
  trials   INTEGER NOT NULL,           -- finished trials that the store had then
  body     TEXT NOT NULL,              -- JSON
  created  INTEGER NOT NULL
);
CREATE INDEX priors_kind ON priors (template, target, version);
CREATE INDEX trials_ended ON trials (state) WHERE ended IS NOT NULL;  -- counted after every trial, without its large columns

-- +goose Down
DROP INDEX trials_ended; DROP TABLE priors; DROP TABLE shares;

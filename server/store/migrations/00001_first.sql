-- +goose Up
CREATE TABLE users (
  id      TEXT PRIMARY KEY,            -- UUIDv7
  name    TEXT NOT NULL UNIQUE,
  role    TEXT NOT NULL DEFAULT 'user' CHECK (role IN ('user','admin')),
  created INTEGER NOT NULL             -- every time is in Unix microseconds
);
CREATE TABLE tokens (
  hash    BLOB PRIMARY KEY,            -- SHA-256 of the token; the token itself is nowhere
  user_id TEXT NOT NULL REFERENCES users(id),
  label   TEXT NOT NULL DEFAULT '',
  created INTEGER NOT NULL,
  revoked INTEGER
);
CREATE INDEX tokens_user ON tokens (user_id);

CREATE TABLE blobs (
  sha256  TEXT PRIMARY KEY,
  size    INTEGER NOT NULL,
  created INTEGER NOT NULL
);
CREATE TABLE blob_owners (             -- only the owner's blobs are found by hash
  sha256  TEXT NOT NULL REFERENCES blobs(sha256),
  user_id TEXT NOT NULL REFERENCES users(id),
  PRIMARY KEY (sha256, user_id)
) WITHOUT ROWID;
CREATE TABLE uploads (
  id       TEXT PRIMARY KEY,
  user_id  TEXT NOT NULL REFERENCES users(id),
  name     TEXT NOT NULL,
  size     INTEGER NOT NULL,
  sha256   TEXT NOT NULL DEFAULT '',   -- claimed at first, computed once complete
  complete INTEGER NOT NULL DEFAULT 0,
  created  INTEGER NOT NULL
);
CREATE INDEX uploads_unfinished ON uploads (created) WHERE complete = 0;

CREATE TABLE searches (
  id              TEXT PRIMARY KEY,
  dataset_version TEXT NOT NULL,       -- hash: canonical program, target, sorted (example hash, part) that are on
  metric          TEXT NOT NULL,
  protocol        TEXT NOT NULL,       -- JSON {"kind","k"}
  salt            TEXT NOT NULL,       -- the user's id unless a class shares
  program         TEXT NOT NULL,       -- canonical text
  template        TEXT NOT NULL,
  target          TEXT NOT NULL,       -- JSON {"kind","labels"}
  profile         TEXT NOT NULL,       -- JSON of the trainer's profile
  data_path       TEXT NOT NULL,
  rows            INTEGER NOT NULL,
  parts           TEXT NOT NULL,       -- JSON {"train","validation","test"}
  seed            INTEGER NOT NULL DEFAULT 0,
  inherits        TEXT REFERENCES searches(id),
  state           TEXT NOT NULL CHECK (state IN ('open','settled')),
  reason          TEXT NOT NULL DEFAULT '',
  created         INTEGER NOT NULL,
  settled         INTEGER,
  UNIQUE (dataset_version, metric, protocol, salt)
);
CREATE TABLE candidates (
  search_id TEXT NOT NULL REFERENCES searches(id),
  id        TEXT NOT NULL,
  version   INTEGER NOT NULL,
  ordinal   INTEGER NOT NULL,
  object    TEXT NOT NULL,             -- the trainer's JSON, settings opaque
  removed   INTEGER,
  PRIMARY KEY (search_id, id, version)
) WITHOUT ROWID;

CREATE TABLE tasks (
  id           TEXT PRIMARY KEY,
  user_id      TEXT NOT NULL REFERENCES users(id),
  name         TEXT NOT NULL,
  program      TEXT NOT NULL,
  template     TEXT NOT NULL,
  options      TEXT NOT NULL DEFAULT '{}',
  state        TEXT NOT NULL CHECK (state IN ('declared','searching','settled','dropped')),
  reason       TEXT NOT NULL DEFAULT '',
  stopped      INTEGER NOT NULL DEFAULT 0,
  target       TEXT NOT NULL DEFAULT '',  -- frozen by the first feed
  profile      TEXT NOT NULL DEFAULT '',  -- of the newest version
  version      INTEGER NOT NULL DEFAULT 0,
  search_id    TEXT REFERENCES searches(id),
  served       TEXT NOT NULL DEFAULT '',  -- JSON: the model that answers, with its figures on this version
  next_example INTEGER NOT NULL DEFAULT 1,
  next_trial   INTEGER NOT NULL DEFAULT 1,
  next_feed    INTEGER NOT NULL DEFAULT 1,
  created      INTEGER NOT NULL,
  changed      INTEGER NOT NULL,
  settled      INTEGER,
  dropped      INTEGER
);
CREATE UNIQUE INDEX tasks_name ON tasks (user_id, name) WHERE dropped IS NULL;
CREATE INDEX tasks_search ON tasks (search_id);

CREATE TABLE feeds (
  id        TEXT PRIMARY KEY,
  task_id   TEXT NOT NULL REFERENCES tasks(id),
  number    INTEGER NOT NULL,
  key       TEXT NOT NULL,             -- hash of everything that was sent: the same content is the same feed
  state     TEXT NOT NULL CHECK (state IN ('running','ended','failed')),
  request   TEXT NOT NULL,             -- JSON: sources (name, sha256), output, using, options, hidden
  folder    TEXT NOT NULL,
  read      INTEGER NOT NULL DEFAULT 0,
  accepted  INTEGER NOT NULL DEFAULT 0,
  known     INTEGER NOT NULL DEFAULT 0,
  rejected  INTEGER NOT NULL DEFAULT 0,
  profile   TEXT NOT NULL DEFAULT '',
  version   INTEGER NOT NULL DEFAULT 0,
  seconds   REAL NOT NULL DEFAULT 0,
  error     TEXT NOT NULL DEFAULT '',  -- JSON problem
  created   INTEGER NOT NULL,
  ended     INTEGER,
  UNIQUE (task_id, number)
);
-- the same content is one feed of a task; one that failed may be fed again
CREATE UNIQUE INDEX feeds_key ON feeds (task_id, key) WHERE state <> 'failed';
CREATE INDEX feeds_running ON feeds (created) WHERE state = 'running';
CREATE TABLE rejects (
  feed_id TEXT NOT NULL REFERENCES feeds(id),
  n       INTEGER NOT NULL,
  source  TEXT NOT NULL,
  row     INTEGER NOT NULL,
  line    INTEGER,
  column_ TEXT NOT NULL DEFAULT '',
  value   TEXT NOT NULL DEFAULT '',
  reason  TEXT NOT NULL,
  remedy  TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (feed_id, n)
) WITHOUT ROWID;
CREATE TABLE examples (
  task_id      TEXT NOT NULL REFERENCES tasks(id),
  number       INTEGER NOT NULL,       -- the task's next integer, for ever
  example_hash TEXT NOT NULL,
  input_hash   TEXT NOT NULL,
  group_hash   TEXT NOT NULL DEFAULT '',  -- of what keeps rows in one part (the option group); empty: nothing does
  label        TEXT NOT NULL DEFAULT '',
  part         TEXT NOT NULL CHECK (part IN ('train','validation','test')),
  feed         INTEGER NOT NULL,
  version      INTEGER NOT NULL,       -- the first version that has it
  source       TEXT NOT NULL,
  row          INTEGER NOT NULL,
  is_on        INTEGER NOT NULL DEFAULT 1,
  PRIMARY KEY (task_id, number)
) WITHOUT ROWID;
CREATE TABLE versions (
  task_id    TEXT NOT NULL REFERENCES tasks(id),
  number     INTEGER NOT NULL,
  hash       TEXT NOT NULL,
  is_on      INTEGER NOT NULL,
  is_off     INTEGER NOT NULL,
  parts      TEXT NOT NULL,
  cause      TEXT NOT NULL,            -- feed | refine
  feed       INTEGER,
  search_id  TEXT NOT NULL REFERENCES searches(id),
  created    INTEGER NOT NULL,
  PRIMARY KEY (task_id, number)
) WITHOUT ROWID;

CREATE TABLE trials (
  id                TEXT PRIMARY KEY,
  search_id         TEXT NOT NULL REFERENCES searches(id),
  candidate         TEXT NOT NULL,
  candidate_version INTEGER NOT NULL,
  seed              INTEGER NOT NULL,
  state             TEXT NOT NULL CHECK (state IN ('queued','running','paused','ok','stopped','failed')),
  kind              TEXT NOT NULL DEFAULT '',
  message           TEXT NOT NULL DEFAULT '',
  quality           REAL,
  result            TEXT NOT NULL DEFAULT '', -- JSON: quality, interval, n, metrics, test, steps, curve, seconds by phase
  held_out          BLOB,                     -- loss of each held-out example, float32, in order of its number: paired tests
  seconds           REAL NOT NULL DEFAULT 0,  -- summed over attempts
  charge            REAL NOT NULL DEFAULT 0,
  device_class      TEXT NOT NULL DEFAULT '',
  model             TEXT NOT NULL DEFAULT '', -- folder of the kept model, empty once dropped
  reason            TEXT NOT NULL,            -- JSON: the decision that started it
  created           INTEGER NOT NULL,
  ended             INTEGER,
  UNIQUE (search_id, candidate, candidate_version, seed)
);
CREATE INDEX trials_search ON trials (search_id, ended);
CREATE INDEX trials_active ON trials (created) WHERE state IN ('queued','running','paused');
CREATE TABLE attempts (
  trial_id     TEXT NOT NULL REFERENCES trials(id),
  number       INTEGER NOT NULL,
  device       TEXT NOT NULL,
  device_class TEXT NOT NULL,
  engine       TEXT NOT NULL,
  folder       TEXT NOT NULL,
  outcome      TEXT NOT NULL DEFAULT '',      -- empty while it runs
  kind         TEXT NOT NULL DEFAULT '',
  message      TEXT NOT NULL DEFAULT '',
  seconds      REAL NOT NULL DEFAULT 0,
  charge       REAL NOT NULL DEFAULT 0,
  peak_bytes   INTEGER NOT NULL DEFAULT 0,
  requeued     INTEGER NOT NULL DEFAULT 0,
  started      INTEGER NOT NULL,
  ended        INTEGER,
  PRIMARY KEY (trial_id, number)
) WITHOUT ROWID;
CREATE INDEX attempts_running ON attempts (started) WHERE outcome = '';
CREATE TABLE task_trials (
  task_id  TEXT NOT NULL REFERENCES tasks(id),
  number   INTEGER NOT NULL,
  trial_id TEXT NOT NULL REFERENCES trials(id),
  PRIMARY KEY (task_id, number),
  UNIQUE (task_id, trial_id)
) WITHOUT ROWID;
CREATE INDEX task_trials_trial ON task_trials (trial_id);

CREATE TABLE events (
  seq   INTEGER PRIMARY KEY AUTOINCREMENT,
  time  INTEGER NOT NULL,
  topic TEXT NOT NULL,
  type  TEXT NOT NULL,
  data  TEXT NOT NULL
);
CREATE INDEX events_topic ON events (topic, seq);
CREATE TABLE idempotency (
  user_id TEXT NOT NULL REFERENCES users(id),
  key     TEXT NOT NULL,
  request TEXT NOT NULL,               -- hash of method, path, body
  status  INTEGER NOT NULL,
  body    TEXT NOT NULL,
  created INTEGER NOT NULL,
  PRIMARY KEY (user_id, key)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE idempotency; DROP TABLE events; DROP TABLE task_trials; DROP TABLE attempts; DROP TABLE trials;
DROP TABLE versions; DROP TABLE examples; DROP TABLE rejects; DROP TABLE feeds; DROP TABLE tasks;
DROP TABLE candidates; DROP TABLE searches; DROP TABLE uploads; DROP TABLE blob_owners; DROP TABLE blobs;
DROP TABLE tokens; DROP TABLE users;

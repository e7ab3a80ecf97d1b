BEGIN TRANSACTION;
CREATE TABLE entry (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    content TEXT NOT NULL,
    begun TEXT NOT NULL,
    finished TEXT,
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    columns TEXT NOT NULL,
    setting TEXT NOT NULL
);
INSERT INTO "entry" VALUES(1,'109f97dc4de9edce93103e2dc50cd5cee4c1b4c1af5892f75096175af5a33b5d','2026-11-16T10:31:52+00:00','2026-11-16T10:31:52+00:00','in.csv','/home/user/mahalanobis.csv','["m"]','{"mechanism": "mahalanobis", "epsilon": 2.0, "lam": 0.5, "dims": 3, "vectors": "2571f9cbe77105e4bc80af56dfbce65f94e807fc4aff9f2326f55bf05fa4d060", "worst_case_exponent": 4.116390569017009, "unsafe": []}');
INSERT INTO "entry" VALUES(2,'109f97dc4de9edce93103e2dc50cd5cee4c1b4c1af5892f75096175af5a33b5d','2026-11-16T10:31:52+00:00','2026-11-16T10:31:52+00:00','in.csv','/home/user/laplace.csv','["m"]','{"mechanism": "laplace", "epsilon": 3.0, "lam": 0.0, "dims": 3, "vectors": "2571f9cbe77105e4bc80af56dfbce65f94e807fc4aff9f2326f55bf05fa4d060", "worst_case_exponent": 6.782998517447645, "unsafe": []}');
CREATE TABLE secret (key BLOB NOT NULL);
INSERT INTO "secret" VALUES(X'A4804D741DC8E957C677FFE0E0AE08F4A6F29EE0975D38E371A0D04341F347CC');
CREATE INDEX entry_content ON entry (content);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('entry',2);
COMMIT;

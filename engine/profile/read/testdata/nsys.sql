-- What nsys export of two steps of a server looks like: sqlite3 nsys.sqlite < nsys.sql
PRAGMA page_size = 512;
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO StringIds VALUES (1, 'void marlin_moe_wna16::Marlin<128, 1, 8>(int4 const*)'), (2, 'Marlin'), (3, 'void rms_norm_kernel<float>(float*)'), (4, 'rms_norm_kernel'),
  (5, 'cudaLaunchKernel_v7000'), (6, 'cudaGraphLaunch_v10000'), (7, '[Executor] _forward_step 4: 0 ctx reqs, 2 gen reqs'), (8, 'Worker'), (9, 'tokenizer.encode'),
  (10, 'void long_gemm<' || replace(hex(zeroblob(1000)), '0', 'x::y, ') || '8>(int)');
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1795342178000000000, '', '');
CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
INSERT INTO PROCESSES VALUES (930 << 24, 930, '/usr/bin/python3');
CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);
INSERT INTO ThreadNames VALUES (8, 0, 930 << 24 | 931);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (
  start INTEGER NOT NULL,   -- Event start timestamp (ns).
  end INTEGER NOT NULL,     /* Event end, (ns) */
  deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, graphNodeId INTEGER, CONSTRAINT c CHECK (end >= start OR 1)
);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
  (100000, 140500, 0, 1, 7, 1, 930 << 24, 1, 2, 5), (150000, 160000, 0, 1, 7, 1, 930 << 24, 3, 4, 6),
  (200000, 240500, 0, 1, 7, 2, 930 << 24, 1, 2, 5), (250000, 260000, 0, 1, 7, 2, 930 << 24, 3, 4, 6), (270000, 280000, 0, 1, 7, 2, 930 << 24, 10, 10, 7);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (155000, 165000, 0, 8, 3, 930 << 24, 64, 2);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
  (90000, 95000, 0, 930 << 24 | 931, 1, 6), (96000, 97000, 0, 930 << 24 | 931, 3, 5), (180000, 190000, 0, 930 << 24 | 931, 2, 6);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT, globalTid INTEGER, textId INTEGER);
INSERT INTO NVTX_EVENTS VALUES
  (80000, 110000, 59, NULL, 930 << 24 | 931, 7), (170000, 210000, 59, '[Executor] _forward_step 5: 0 ctx reqs, 2 gen reqs', 930 << 24 | 931, NULL),
  (166000, 169000, 59, NULL, 930 << 24 | 931, 9), (5, NULL, 34, 'a point', 930 << 24 | 931, NULL);

-- Kernels hidden in graphs, as nsys records unless told otherwise: sqlite3 graphs.sqlite < graphs.sql
PRAGMA page_size = 512;
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO StringIds VALUES (6, 'cudaGraphLaunch_v10000');
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, graphId INTEGER NOT NULL, streamId INTEGER, correlationId INTEGER, globalPid INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (100000, 140500, 0, 1, 7, 1, 930 << 24), (200000, 240500, 0, 1, 7, 2, 930 << 24);

-- up
SELECT 1 FROM pg_extension WHERE extname = 'citus';
-- down
SELECT 1 FROM pg_extension WHERE extname = 'citus';

/** Removes all records of changes, as if they were old. */
export const PRUNE_ALL = `DO $$ BEGIN
  UPDATE plant_changes SET time = now() - interval '2 days';
  PERFORM prune_plant_changes(now() - interval '1 day', 10000);
END $$`;

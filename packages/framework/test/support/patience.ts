/** How long a test waits for what should happen at once, in milliseconds: long enough for a busy machine. */
export const PATIENCE = 60_000;

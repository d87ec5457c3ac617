/* The public interface for migrations. What they call never changes: a database that applies it later is like all others. */

export { createChanges, dropChanges } from './frozen/create-changes.js';
export type { ChangeTables } from './frozen/create-changes.js';
export { createHistory, dropHistory } from './frozen/history-1.js';
export { downgradeHistory, upgradeHistory } from './frozen/history-2.js';
export { addIncarnations, removeIncarnations } from './frozen/history-3.js';

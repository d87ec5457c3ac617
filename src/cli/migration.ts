import '../config/node-version.js';

// An old Node.js version cannot load the rest, so the version check runs before.
await import('./migration-command.js');

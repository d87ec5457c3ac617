import './config/node-version.js';

// Stack traces name the files and lines of `src`.
process.setSourceMapsEnabled(true);
// An old Node.js version cannot load the rest, so the version check runs before.
await import('./start.js');

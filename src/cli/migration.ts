import '../node-version.js';

// What an old Node.js cannot load comes after the check.
await import('./migration-command.js');

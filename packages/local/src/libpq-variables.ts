/**
 * Removes the variables of libpq, such as `PGOPTIONS` and `PGSSLMODE`, from the environment of this process. The driver reads
 * them at each connection, and has no option that says otherwise. They are meant for another database than the embedded one,
 * and a process that uses the embedded one has no other.
 */
export function forgetLibpqVariables(): void {
  for (const name of Object.keys(process.env)) {
    if (/^PG[A-Z]/.test(name)) delete process.env[name];
  }
}

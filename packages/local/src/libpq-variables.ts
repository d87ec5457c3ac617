/**
 * Removes the variables of libpq, such as `PGOPTIONS` and `PGSSLMODE`, from the environment of this process: the driver always
 * reads them, but they are meant for another database than the embedded one.
 */
export function forgetLibpqVariables(): void {
  for (const name of Object.keys(process.env)) {
    if (/^PG[A-Z]/.test(name)) delete process.env[name];
  }
}

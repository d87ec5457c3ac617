/** The numbers of failures that the code of every client uses. The generator replaces this file by the numbers of a service. */
export const ERRORS = {
  noSuchPath: 40400,
  databaseUnavailable: 50300,
} as const;

/** The numbers of the failures that this code knows. The generator writes those of a service in their place. */
export const ERRORS = {
  noSuchPath: 40400,
  databaseUnavailable: 50300,
} as const;

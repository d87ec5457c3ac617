// @ts-check

/** Why a source is not changed, in one line. */
export class SourceError extends Error {}

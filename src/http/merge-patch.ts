/** JSON Merge Patch (RFC 7396). */
export const MERGE_PATCH = 'application/merge-patch+json';

/** The media types of the body of every PATCH, for `@BodyTypes()` and for OPTIONS. */
export const PATCH_TYPES = [MERGE_PATCH, 'application/json'] as const;

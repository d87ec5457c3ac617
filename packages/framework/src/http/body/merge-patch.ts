/** The media types of the body of every PATCH, for `@BodyTypes()` and for OPTIONS: JSON Merge Patch (RFC 7396). */
export const PATCH_TYPES = ['application/merge-patch+json', 'application/json'] as const;

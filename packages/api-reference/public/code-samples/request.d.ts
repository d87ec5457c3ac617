/** The address of the service and the token in code samples, until the page puts in the real values. */
export const EXAMPLES: { readonly base: 'http://localhost:3000'; readonly token: 'YOUR_TOKEN' };

/** Where they are. */
export const PLACEHOLDERS: { readonly base: string; readonly token: string };

/** Whether a body of this media type is one value of JSON. */
export function isJson(type: string): boolean;

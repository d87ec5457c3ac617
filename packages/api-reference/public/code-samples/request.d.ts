/** The address of the service and the token in code samples; the page puts in the real values. */
export const PLACEHOLDERS: { readonly base: 'http://localhost:3000'; readonly token: 'YOUR_TOKEN' };

/** Whether a body of this media type is one value of JSON. */
export function isJson(type: string): boolean;

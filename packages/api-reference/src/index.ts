/* The public interface. What is not here may change in any release. */

export { apiReference } from './api-reference.js';
export type { ReferenceFile } from './api-reference.js';
export type { ApiError, ReferenceOptions } from './options.js';
export type { Client } from '../public/code-samples/code-samples.js';
export { signInPage } from './sign-in-page.js';
export type { SignIn } from './sign-in-page.js';

import { ApiExtension } from '@nestjs/swagger';

/** Marks a POST that can be repeated, for the introduction of the OpenAPI document; the published document lacks the mark. */
export const REPEATABLE = 'x-repeatable';

/** What the POST does. */
export type Repeatable = 'create' | 'change';

/** Documents that a POST which is sent again changes nothing. */
export const ApiRepeatable = (is: Repeatable = 'create'): MethodDecorator =>
  ApiExtension(REPEATABLE, is);

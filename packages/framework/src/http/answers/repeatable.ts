import { ApiExtension } from '@nestjs/swagger';

/** Marks a POST that can be repeated without more. The introduction of the OpenAPI document says so; the document lacks the mark. */
export const REPEATABLE = 'x-repeatable';

/** Documents that a POST which is sent again changes nothing. */
export const ApiRepeatable = (): MethodDecorator => ApiExtension(REPEATABLE, true);

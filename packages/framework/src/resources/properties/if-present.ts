import { ValidateIf } from 'class-validator';

/** The options of the decorators of a property of a DTO. */
export interface Member<Example> {
  readonly description: string;
  readonly example?: Example;
  readonly isOptional?: boolean;
}

/** Skips the validation of an absent property. Not `@IsOptional()`, which also lets null pass. */
export function IfPresent(): PropertyDecorator {
  return ValidateIf((_, value) => value !== undefined);
}

import { ValidateIf } from 'class-validator';

/** What a DTO says of a member, besides its type. */
export interface Member<Example> {
  readonly description: string;
  readonly example?: Example;
  /** The member may be absent. */
  readonly isOptional?: boolean;
}

/** The rules of a member apply unless it is absent. Not `@IsOptional()`, which would let null pass as well. */
export function IfPresent(): PropertyDecorator {
  return ValidateIf((_, value) => value !== undefined);
}

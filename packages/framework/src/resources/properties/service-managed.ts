import { Declares } from './kind.js';

/**
 * Declares that only the service sets a property: `NewOf`, `ReplacementOf` and `PatchOf` lack it, a PUT keeps it, and the service passes
 * it to `create` and `patch`. Its type is {@link Managed}.
 *
 * @example
 * @ServiceManaged()
 * @EnumField(STATUSES, { description: 'What has become of it.' })
 * readonly status!: Managed<Status>;
 */
export function ServiceManaged(): PropertyDecorator {
  return Declares({ isManaged: true });
}

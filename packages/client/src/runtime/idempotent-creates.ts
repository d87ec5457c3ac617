/** The resources whose ids the service makes, so that a create needs a key. The generator replaces this file by the resources of a service. */
export const IDEMPOTENT_CREATES: readonly string[] = [];

/** The resources whose ids the service makes, so that a create needs a key. The generator writes those of a service in their place. */
export const IDEMPOTENT_CREATES: readonly string[] = [];

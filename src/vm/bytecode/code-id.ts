let next = 0;

/** Returns a new `Code.id`: deterministic within a process. */
export const nextCodeId = (): number => next++;

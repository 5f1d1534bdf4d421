/** Whether the value is a function that was written with `async`. */
export const isAsync = (given: unknown): boolean =>
  (given as { readonly [Symbol.toStringTag]?: string } | null)?.[Symbol.toStringTag] ===
  'AsyncFunction';

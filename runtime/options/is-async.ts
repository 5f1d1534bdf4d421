/** Whether the value is a function that was written with `async`. */
export const isAsync = (value: unknown): boolean =>
  (value as { readonly [Symbol.toStringTag]?: string } | null)?.[Symbol.toStringTag] ===
  'AsyncFunction';

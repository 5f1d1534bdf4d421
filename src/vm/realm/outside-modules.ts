/** Modules that a realm's runtime gets from the main realm. They provide only strings and numbers. */
export const outsideModules = [
  'machine-text',
  'function-text',
  'packed-code',
  'call-site-text',
  'liveness',
  'resume-pcs',
] as const;

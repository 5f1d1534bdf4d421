/** Modules that a realm's runtime takes from the host: they provide texts and numbers only. */
export const outsideModules = [
  'machine-text',
  'function-text',
  'packed-code',
  'call-site-text',
  'liveness',
  'resume-pcs',
] as const;

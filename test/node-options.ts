/** Options of Node whose names or defaults depend on its version. */

/** Whether this engine has relaxed SIMD without an option: V8 since Node 22. */
export const hasRelaxedSimd = Number.parseInt(process.versions.v8, 10) >= 12;

/** Node's options for a process that has relaxed SIMD. */
export const withRelaxedSimd: readonly string[] = hasRelaxedSimd
  ? []
  : ['--experimental-wasm-relaxed-simd'];

export const permission = process.allowedNodeEnvironmentFlags.has('--permission')
  ? '--permission'
  : '--experimental-permission';

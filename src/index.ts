/** tostatic: the runtime, and the compiler that makes programs out of functions. */

export * from '../runtime/index.ts';
export { type FunctionScope, scopeOf, type UnknownScope } from './1-capture/scope-of.ts';
export type { ToStaticOptions } from './captured-function.ts';
export { type AppliedCounts, appliedTo } from './explain/applied.ts';
export { FullGraphError } from './full-graph/full-graph-error.ts';
export { refcounted } from './lab/eager-refcount.ts';
export {
  type MemoryChoice,
  type MemoryOptions,
  type MemoryPreset,
  memoryPresets,
} from './programs/memory-options.ts';
export { save } from './save/save.ts';
export type { BreakGroup, CapturedStats, FallbackRecord } from './stats.ts';
export {
  type StaticFunction,
  type StaticModule,
  type StaticReports,
  toStatic,
} from './to-static.ts';
export type { BreakReason, BreakRecord } from './traces/graph-break.ts';
export {
  breakGraph,
  enableToStatic,
  ignoreModule,
  keepLoop,
  notToStatic,
} from './traces/policy.ts';

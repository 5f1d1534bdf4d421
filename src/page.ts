/**
 * tostatic for pages: the runtime and the compiler that makes programs out of functions. On Node, `index.ts` adds the
 * inspector.
 */

export type { KernelThis } from '../runtime/device/user-kernel.ts';
export * from '../runtime/index.ts';
export type {
  BinaryFn,
  CompareFn,
  DoubleFn,
  Expr,
  UnaryFn,
} from '../runtime/ops/expr/expr.ts';
export {
  type Backend,
  type CompiledProgram,
  type RunningSteps,
  registerBackend,
} from '../runtime/program/backend.ts';
export { type FunctionScope, scopeOf, type UnknownScope } from './1-capture/scope-of.ts';
export type { AnyFunction, CaptureOptions, CaptureRoute } from './1-capture/script/route.ts';
export type { PassName } from './5-optimize/passes.ts';
export type { ToStaticOptions } from './dispatch/captured-function.ts';
export { type AppliedCounts, appliedTo } from './explain/applied.ts';
export type { ExplainOptions } from './explain/explain-options.ts';
export { FullGraphError } from './full-graph/full-graph-error.ts';
export type { Dynamic } from './guards/number-history.ts';
export { refcounted } from './lab/eager-refcount.ts';
export type { PassSwitches } from './options/static-options.ts';
export type { CompiledPart } from './programs/compiled-part.ts';
export {
  type MemoryChoice,
  type MemoryOptions,
  type MemoryPreset,
  type MemorySwitches,
  memoryPresets,
  type SavedDType,
} from './programs/memory-options.ts';
export { save } from './save/save.ts';
export type { BreakGroup, CapturedStats, FallbackRecord, PerLengthRecord } from './stats.ts';
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
export type { TraceResult } from './traces/trace-result.ts';
export { type GpuKernelOptions, gpuKernel, type KernelOperand } from './user-kernels/gpu-kernel.ts';

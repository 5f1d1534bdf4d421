/**
 * The runtime for pages that download little: ops are functions such as `add(x, 1)`, and tensors lack the methods
 * of the same names, all of which would be downloaded. Everything else is as in `runtime/index.ts`.
 */

import './base-setup.ts';

export { checkpoint } from './autograd/checkpoint.ts';
export {
  enableGrad,
  gradEnabled,
  gradEnabled as isGradEnabled,
  noGrad,
  noGrad as inferenceMode,
} from './autograd/grad-mode.ts';
export { type BackwardOptions, backward, backwardAsync } from './backward/backward.ts';
export {
  type CustomFunction,
  customFunction,
  type FunctionContext,
} from './backward/custom-function.ts';
export { type GradOptions, grad } from './backward/grad.ts';
export type { HookHandle } from './backward/hooks.ts';
export { type Condition, cond, map, scan, whileLoop } from './control-flow/index.ts';
export * as data from './data/index.ts';
export { currentDevice, deviceGuard, deviceNamed, setDevice } from './device/current.ts';
export type { Device, DeviceKind } from './device/device.ts';
export * as memory from './device/memory.ts';
export { withMetaReads } from './device/meta/meta-device.ts';
export type { TensorMeta } from './device/tensor-meta.ts';
export { tick } from './device/tick.ts';
export type { ErrorFacts } from './errors/errors.ts';
export {
  ArgumentError,
  AutogradError,
  CaptureError,
  CheckError,
  DataError,
  DeviceError,
  DisposedError,
  DTypeError,
  OutOfMemoryError,
  ShapeError,
  TostaticError,
} from './errors/errors.ts';
export { InvariantError } from './errors/invariant.ts';
export type { UserPosition } from './errors/position.ts';
export * from './functional/index.ts';
export { type InitOptions, init, shutdown } from './init.ts';
export {
  type Dim,
  type DimSpec,
  type InputSpec,
  OptionalSpec,
  optionalSpec,
  TensorSpec,
  tensorSpec,
} from './input-spec/spec.ts';
export type { MemoryEvent } from './memory/events.ts';
export type { MemoryStats } from './memory/stats.ts';
export * as nn from './nn/index.ts';
export type { Numerics } from './numerics/math.ts';
export {
  asTensor,
  isTensor,
  type NestedArray,
  type TensorData,
  type TensorOptions,
  tensor,
} from './ops/core/create.ts';
export * from './ops/index.ts';
export * as optim from './optim/index.ts';
export * as profiler from './profiler/profiler.ts';
export type { PeakLimit, Plan, PredictedMemory, Step } from './program/plan.ts';
export { type PrintOptions, printProgram } from './program/print.ts';
export type { Program, ProgramOp, ValueId, ValueTable } from './program/program.ts';
export {
  type RandomState,
  randomState,
  seed,
  seed as manualSeed,
  setRandomState,
} from './random/seed.ts';
export { load, loadProgram } from './save/load.ts';
export type { FileSource, LoadFileOptions } from './save/load-file.ts';
export type { LoadedProgram } from './save/loaded-program.ts';
export type { Primitive } from './save/primitive.ts';
export { save } from './save/save.ts';
export type { Savable } from './save/value-format.ts';
export { type Curves, type PlotOptions, plot, plotPage } from './seeing/plot.ts';
export {
  Progress,
  type ProgressOptions,
  type ProgressTarget,
  progress,
} from './seeing/progress.ts';
export { Summary, type SummaryRow, summary } from './seeing/summary.ts';
export type { DType, DTypeOf, TypedArray, TypedArrayOf } from './spec/dtype.ts';
export type { Promoted } from './spec/dtype-types.ts';
export type { Shape } from './spec/shape.ts';
export type { GradHook } from './tensor/grad-node.ts';
export { keep, tidy } from './tensor/lifetime.ts';
export { Tensor } from './tensor/tensor.ts';
export type { JsonNested, Nested, TensorSummary } from './tensor-methods/nested.ts';
export type { TransferTarget } from './tensor-methods/transfer.ts';
export type { TraceModule } from './trace-log/stream.ts';
export { type TraceLogOptions, traceLog } from './trace-log/trace-log.ts';

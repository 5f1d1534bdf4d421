/** The runtime: tensors, autograd, modules and planned programs, without the compiler. */

import './device/cpu/cpu-device.ts';
import './device/meta/meta-device.ts';
import './tensor/methods.ts';
import './tensor/operators.ts';

export { type BackwardOptions, backward } from './autograd/backward.ts';
export { checkpoint } from './autograd/checkpoint.ts';
export {
  type CustomFunction,
  customFunction,
  type FunctionContext,
} from './autograd/custom-function.ts';
export { type GradOptions, grad } from './autograd/grad.ts';
export { enableGrad, gradEnabled, noGrad } from './autograd/grad-mode.ts';
export type { HookHandle } from './autograd/hooks.ts';
export type { GradHook } from './autograd/node.ts';
export * as data from './data/index.ts';
export { currentDevice, deviceGuard, deviceNamed, setDevice } from './device/current.ts';
export type { Device, DeviceKind } from './device/device.ts';
export { type InitOptions, init, shutdown } from './device/init.ts';
export {
  ArgumentError,
  AutogradError,
  CaptureError,
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
export type { MemoryEvent } from './memory/events.ts';
export * as memory from './memory/memory.ts';
export type { MemoryStats } from './memory/stats.ts';
export * as nn from './nn/index.ts';
export { expand } from './ops/broadcast.ts';
export { cast } from './ops/cast.ts';
export { type Conv2dOptions, conv2d, maxPool2d, type Pool2dOptions } from './ops/conv.ts';
export { type CreateOptions, full, ones, rand, randn, zeros } from './ops/create.ts';
export { crossEntropy, logSoftmax, mseLoss, nllLoss, softmax } from './ops/loss.ts';
export { linear, matmul } from './ops/matmul.ts';
export {
  contiguous,
  flatten,
  narrow,
  permute,
  reshape,
  select,
  squeeze,
  transpose,
  unsqueeze,
} from './ops/movement.ts';
export {
  abs,
  add,
  div,
  eq,
  exp,
  ge,
  gt,
  le,
  log,
  lt,
  maximum,
  mul,
  ne,
  neg,
  pow,
  relu,
  sigmoid,
  sign,
  sqrt,
  sub,
  tanh,
  where,
} from './ops/pointwise.ts';
export { argmax, max, mean, type ReduceOptions, sum } from './ops/reduce.ts';
export * as optim from './optim/index.ts';
export { printProgram } from './program/print.ts';
export type { Program } from './program/program.ts';
export { type RandomState, randomState, seed, setRandomState } from './random/seed.ts';
export { type NestedArray, type TensorOptions, tensor } from './tensor/create.ts';
export type { DType, TypedArray } from './tensor/dtype.ts';
export { keep, tidy } from './tensor/lifetime.ts';
export { Tensor } from './tensor/tensor.ts';

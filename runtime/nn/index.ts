export * as utils from './clip-grad.ts';
export { Identity, ModuleDict, ModuleList } from './containers.ts';
export {
  Conv2d,
  type Conv2dLayerOptions,
  Flatten,
  type Layer,
  Linear,
  type LinearOptions,
  MaxPool2d,
  ReLU,
  Sequential,
} from './layers.ts';
export { Module } from './module.ts';
export type { BackwardHook, ForwardHook, ForwardPreHook } from './module-hooks.ts';
export type { LoadOptions, LoadResult, StateDict } from './module-state.ts';
export {
  type BufferOptions,
  buffer,
  kaimingUniform,
  type Parameter,
  parameter,
} from './parameter.ts';

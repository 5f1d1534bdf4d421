export * as utils from './clip-grad.ts';
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
export { kaimingUniform, type Parameter, parameter } from './parameter.ts';

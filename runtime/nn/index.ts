export {
  ELU,
  GELU,
  Hardsigmoid,
  Hardswish,
  Hardtanh,
  LeakyReLU,
  LogSigmoid,
  LogSoftmax,
  Mish,
  PReLU,
  ReLU6,
  SELU,
  Sigmoid,
  SiLU,
  Softmax,
  Softplus,
  Softsign,
  Tanh,
} from './activations.ts';
export * as utils from './clip-grad.ts';
export { Identity, ModuleDict, ModuleList } from './containers.ts';
export * as init from './init.ts';
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
export { CrossEntropyLoss, MSELoss, NLLLoss } from './losses.ts';
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
export { GRU, LSTM, type RecurrentOptions, RNN } from './recurrent.ts';
export {
  type CellOptions,
  GRUCell,
  LSTMCell,
  RNNCell,
  type RNNCellOptions,
} from './recurrent-cells.ts';

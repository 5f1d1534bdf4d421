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
  ReLU,
  ReLU6,
  SELU,
  Sigmoid,
  SiLU,
  Softmax,
  Softmax2d,
  Softmin,
  Softplus,
  Softsign,
  Tanh,
} from './activations.ts';
export {
  type AttentionCall,
  MultiheadAttention,
  type MultiheadAttentionOptions,
} from './attention.ts';
export * as utils from './clip-grad.ts';
export {
  type Layer,
  ModuleDict,
  ModuleList,
  ParameterDict,
  ParameterList,
  Sequential,
} from './containers.ts';
export { Conv2d, type Conv2dLayerOptions } from './conv.ts';
export { AlphaDropout, Dropout, Dropout1d, Dropout2d, Dropout3d } from './dropout.ts';
export { Embedding, type EmbeddingLayerOptions } from './embedding.ts';
export * as init from './init.ts';
export { Bilinear, Linear, type LinearOptions } from './linear.ts';
export { CrossEntropyLoss, MSELoss, NLLLoss } from './losses.ts';
export { Module } from './module.ts';
export type { BackwardHook, ForwardHook, ForwardPreHook } from './module-hooks.ts';
export type { LoadOptions, LoadResult, StateDict } from './module-state.ts';
export {
  CircularPad1d,
  CircularPad2d,
  ConstantPad1d,
  ConstantPad2d,
  ConstantPad3d,
  type PadAmounts,
  ReflectionPad1d,
  ReflectionPad2d,
  ReplicationPad1d,
  ReplicationPad2d,
  ZeroPad1d,
  ZeroPad2d,
} from './padding.ts';
export {
  type BufferOptions,
  buffer,
  kaimingUniform,
  type Parameter,
  parameter,
} from './parameter.ts';
export { MaxPool2d } from './pooling.ts';
export { GRU, LSTM, type RecurrentOptions, RNN } from './recurrent.ts';
export {
  type CellOptions,
  GRUCell,
  LSTMCell,
  RNNCell,
  type RNNCellOptions,
} from './recurrent-cells.ts';
export {
  ChannelShuffle,
  Flatten,
  Identity,
  PixelShuffle,
  PixelUnshuffle,
  Unflatten,
} from './shaping.ts';

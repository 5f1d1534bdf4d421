/** Layer modules, and functions on them. */

import '../base-setup.ts';

export type { LPPoolOptions } from '../functional/lp-pooling.ts';
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
  type AdaptiveLogSoftmaxOptions,
  type AdaptiveLogSoftmaxResult,
  AdaptiveLogSoftmaxWithLoss,
} from './adaptive-softmax.ts';
export {
  type AttentionCall,
  MultiheadAttention,
  type MultiheadAttentionOptions,
} from './attention.ts';
export {
  type Layer,
  ModuleDict,
  ModuleList,
  ParameterDict,
  ParameterList,
  Sequential,
} from './containers.ts';
export {
  Conv1d,
  type Conv1dLayerOptions,
  Conv2d,
  type Conv2dLayerOptions,
  Conv3d,
  type Conv3dLayerOptions,
  ConvTranspose1d,
  type ConvTranspose1dLayerOptions,
  ConvTranspose2d,
  type ConvTranspose2dLayerOptions,
  ConvTranspose3d,
  type ConvTranspose3dLayerOptions,
} from './conv.ts';
export { CTCLoss } from './ctc-loss.ts';
export { CosineSimilarity, PairwiseDistance } from './distances.ts';
export {
  AlphaDropout,
  Dropout,
  Dropout1d,
  Dropout2d,
  Dropout3d,
  FeatureAlphaDropout,
} from './dropout.ts';
export { Embedding, type EmbeddingLayerOptions } from './embedding.ts';
export type { BagCall } from './embedding-bag.ts';
export { EmbeddingBag, type EmbeddingBagLayerOptions } from './embedding-bag.ts';
export * as init from './init.ts';
export { Bilinear, Linear, type LinearOptions } from './linear.ts';
export {
  BCELoss,
  BCEWithLogitsLoss,
  CosineEmbeddingLoss,
  CrossEntropyLoss,
  GaussianNLLLoss,
  HingeEmbeddingLoss,
  HuberLoss,
  KLDivLoss,
  L1Loss,
  MarginRankingLoss,
  MSELoss,
  MultiLabelMarginLoss,
  MultiLabelSoftMarginLoss,
  MultiMarginLoss,
  NLLLoss,
  PoissonNLLLoss,
  SmoothL1Loss,
  SoftMarginLoss,
  TripletMarginLoss,
  TripletMarginWithDistanceLoss,
} from './losses.ts';
export { functionalCall } from './module/functional-call.ts';
export { Module } from './module/module.ts';
export type { BackwardHook, ForwardHook, ForwardPreHook } from './module/module-hooks.ts';
export type { LoadOptions, LoadResult, StateDict, StateNames } from './module/module-state.ts';
export {
  type BufferOptions,
  buffer,
  kaimingUniform,
  type Parameter,
  parameter,
} from './module/parameter.ts';
export {
  BatchNorm1d,
  BatchNorm2d,
  BatchNorm3d,
  GroupNorm,
  type GroupNormOptions,
  InstanceNorm1d,
  InstanceNorm2d,
  InstanceNorm3d,
  LayerNorm,
  type LayerNormOptions,
  LocalResponseNorm,
  RMSNorm,
  type RMSNormOptions,
  type RunningNormOptions,
} from './normalization.ts';
export {
  CircularPad1d,
  CircularPad2d,
  CircularPad3d,
  ConstantPad1d,
  ConstantPad2d,
  ConstantPad3d,
  type PadAmounts,
  ReflectionPad1d,
  ReflectionPad2d,
  ReflectionPad3d,
  ReplicationPad1d,
  ReplicationPad2d,
  ReplicationPad3d,
  ZeroPad1d,
  ZeroPad2d,
  ZeroPad3d,
} from './padding.ts';
export {
  AdaptiveAvgPool1d,
  AdaptiveAvgPool2d,
  AdaptiveAvgPool3d,
  AdaptiveMaxPool1d,
  AdaptiveMaxPool2d,
  AdaptiveMaxPool3d,
  AvgPool1d,
  AvgPool2d,
  AvgPool3d,
  LPPool1d,
  LPPool2d,
  LPPool3d,
  MaxPool1d,
  MaxPool2d,
  MaxPool3d,
  MaxUnpool1d,
  MaxUnpool2d,
  MaxUnpool3d,
} from './pooling.ts';
export type { MemoryCell, RecurrentCell, StepWeights } from './recurrent/cells.ts';
export {
  type CellOptions,
  type CellState,
  GRUCell,
  LSTMCell,
  RNNCell,
  type RNNCellOptions,
} from './recurrent/cells.ts';
export { GRU, LSTM, type LSTMOptions, type RecurrentOptions, RNN } from './recurrent/recurrent.ts';
export {
  Fold,
  Unfold,
  Upsample,
  UpsamplingBilinear2d,
  UpsamplingNearest2d,
} from './resampling.ts';
export {
  ChannelShuffle,
  Flatten,
  Identity,
  PixelShuffle,
  PixelUnshuffle,
  Unflatten,
} from './shaping.ts';
export {
  CELU,
  GLU,
  Hardshrink,
  RReLU,
  Softshrink,
  Tanhshrink,
  Threshold,
} from './thresholds.ts';
export {
  type DecoderMasks,
  type SelfMasks,
  Transformer,
  TransformerDecoder,
  TransformerDecoderLayer,
  TransformerEncoder,
  TransformerEncoderLayer,
  type TransformerLayerOptions,
  type TransformerOptions,
} from './transformer.ts';
export * as utils from './utils/index.ts';

export { Adagrad, type AdagradOptions } from './adagrad.ts';
export { Adam, type AdamOptions, AdamW } from './adam.ts';
export {
  Optimizer,
  type ParameterGroup,
  type ParameterGroupOptions,
  type Update,
} from './optimizer.ts';
export type { OptimizerState } from './optimizer-state.ts';
export { RMSprop, type RMSpropOptions } from './rmsprop.ts';
export { LRScheduler, type SchedulerState } from './scheduler.ts';
export {
  CosineAnnealingLR,
  CosineAnnealingWarmRestarts,
  ExponentialLR,
  LambdaLR,
  LinearLR,
  type LinearLROptions,
  MultiStepLR,
  OneCycleLR,
  type OneCycleLROptions,
  StepLR,
} from './schedules.ts';
export { SGD, type SGDOptions } from './sgd.ts';

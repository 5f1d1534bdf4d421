export { Adam, type AdamOptions, AdamW } from './adam.ts';
export { Optimizer } from './optimizer.ts';
export { SGD, type SGDOptions } from './sgd.ts';

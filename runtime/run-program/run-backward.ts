import { BackwardVariants } from './backward/backward-variants.ts';
import { continuedTargets } from './backward/gradient-accumulators.ts';
import { RecordedBackwards } from './backward/higher-order-gradients.ts';
import { RunProgramNode } from './grad-node.ts';

/** The parts of a subgraph with a backward. */
export const runBackward = {
  BackwardVariants,
  RecordedBackwards,
  RunProgramNode,
  continuedTargets,
};

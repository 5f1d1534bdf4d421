import type { Attributes } from '../format/attributes.ts';
import type { Operand, Value } from '../values/host.ts';

/** The facts about its node that an operator knows besides the operands. */
export interface NodeFacts {
  readonly opType: string;
  readonly opset: number;
  readonly attributes: Attributes;
  readonly outputs: number;
}

/** Runs a node: results in their order. `attributes` are read once, when the model is imported. */
export type Runner = (operands: readonly Operand[]) => Value | readonly Value[];

/** An operator: what it does with a node's attributes. Throws ArgumentError for what it has not. */
export type Operator = (node: NodeFacts) => Runner;

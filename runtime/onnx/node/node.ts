import type { Attributes } from '../format/attributes.ts';
import type { Operand, Value } from '../values/host.ts';

/** The facts about a node that its operator receives besides the operands. */
export interface NodeFacts {
  readonly opType: string;
  readonly opset: number;
  readonly attributes: Attributes;
  readonly outputs: number;
}

/** Runs a node and returns its results in order. Attributes are read once, on import. */
export type Runner = (operands: readonly Operand[]) => Value | readonly Value[];

/** An operator: compiles a node. Throws ArgumentError for unsupported settings. */
export type Operator = (node: NodeFacts) => Runner;

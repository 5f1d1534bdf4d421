import { scalarFunctions } from '../ops/numbers/scalar-functions.ts';
import {
  isSymbolic,
  type ScalarId,
  type ScalarNode,
  type ScalarTable,
} from '../ops/numbers/symbolic-number.ts';
import type { PlannedSubgraph } from './plan.ts';
import type { ProgramOp } from './program.ts';

/** Returns the table that the symbolic attributes of a program's ops refer to; undefined if there are none. */
export function scalarTableOf(ops: Iterable<ProgramOp>): ScalarTable | undefined {
  for (const { attrs } of ops) {
    for (const value of Object.values(attrs)) {
      const symbol =
        typeof value === 'object' && !isSymbolic(value) ? value.find(isSymbolic) : value;
      if (isSymbolic(symbol)) return symbol.table;
    }
  }
  return undefined;
}

/** Returns the table for all ops of a subgraph, including branch and loop bodies. */
export function scalarTableIn(planned: PlannedSubgraph): ScalarTable | undefined {
  return scalarTableOf(opsOf(planned, new Set()));
}

/** Yields every op once; a region shared by several ops is visited at its first use. */
function* opsOf(planned: PlannedSubgraph, seen: Set<PlannedSubgraph>): Generator<ProgramOp> {
  if (seen.has(planned)) return;
  seen.add(planned);
  const { forward, backward } = planned;
  for (const steps of [forward.steps, backward?.plan.steps ?? []]) {
    for (const { op, regions = [] } of steps) {
      yield op;
      for (const region of regions) yield* opsOf(region, seen);
    }
  }
}

/** Returns a run's scalar inputs, read back from `values`, the table that it computed from them. */
export function scalarInputs(table: ScalarTable | undefined, values: Float64Array): number[] {
  const inputs: number[] = [];
  table?.nodes.forEach((node, id) => {
    if (node.kind === 'input' && id < values.length) inputs[node.index] = values[id]!;
  });
  return inputs;
}

type Evaluate = (inputs: readonly number[], values: Float64Array) => void;

/** A program's scalar arithmetic, compiled once; evaluating it allocates nothing. */
export class ScalarProgram {
  /** The number of slots a run needs. */
  readonly size: number;
  readonly #steps: readonly Evaluate[];

  constructor(table: ScalarTable | undefined) {
    const nodes = table?.nodes ?? [];
    this.size = nodes.length;
    this.#steps = nodes.map((node, id) => compileNode(node, id as ScalarId));
  }

  /** Computes `values`, by id, from the program's scalar inputs. */
  run(inputs: readonly number[], values: Float64Array): void {
    const steps = this.#steps;
    for (let i = 0; i < steps.length; i++) steps[i]!(inputs, values);
  }
}

function compileNode(node: ScalarNode, id: ScalarId): Evaluate {
  switch (node.kind) {
    case 'input': {
      const { index } = node;
      return (inputs, values) => {
        values[id] = inputs[index]!;
      };
    }
    case 'constant': {
      const { value } = node;
      return (_inputs, values) => {
        values[id] = value;
      };
    }
    case 'apply':
      return compileCall(node, id);
  }
}

function compileCall({ fn, args }: ScalarNode & { kind: 'apply' }, id: ScalarId): Evaluate {
  const apply = scalarFunctions.get(fn) as (...args: number[]) => number;
  const [x, y] = args as readonly [ScalarId, ScalarId];
  if (args.length === 1) {
    return (_inputs, values) => {
      values[id] = apply(values[x]!);
    };
  }
  if (args.length === 2) {
    return (_inputs, values) => {
      values[id] = apply(values[x]!, values[y]!);
    };
  }
  const operands = new Array<number>(args.length);
  return (_inputs, values) => {
    for (let i = 0; i < args.length; i++) operands[i] = values[args[i]!]!;
    values[id] = apply(...operands);
  };
}

/** `summary(model, input)`: the outputs, parameters and cost of each layer. */

import { noGrad } from '../autograd/grad-mode.ts';
import { type Attrs, operandUse } from '../device/kernel-op.ts';
import { Module } from '../nn/module/module.ts';
import { addHook } from '../nn/module/module-hooks.ts';
import type { Parameter } from '../nn/module/parameter.ts';
import { withInterceptor } from '../ops/core/bind.ts';
import { executeEagerly } from '../ops/core/eager.ts';
import type { OpRecord } from '../ops/record/define-op.ts';
import { expectArguments } from '../options/expect-options.ts';
import { that } from '../options/option-kinds.ts';
import { formatShape, type Shape, sizeOf } from '../spec/shape.ts';
import { tensorsIn, tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { textTable } from './text-table.ts';

/** One module of a model. */
export interface SummaryRow {
  /** The module's path, '' for the model itself. */
  readonly name: string;
  readonly type: string;
  /** The shapes of its outputs in the last call; empty if it was not called. */
  readonly outputs: readonly Shape[];
  /** The number of elements of its own parameters, excluding submodules. */
  readonly parameters: number;
  /** The bytes of its own parameters and buffers. */
  readonly stateBytes: number;
  /** The bytes of its outputs. */
  readonly outputBytes: number;
  /** Arithmetic operations of its own forward pass; a multiply-add counts as two. */
  readonly flops: number;
  readonly calls: number;
}

/** Prints as a table with `console.log(summary(model, x))` and `String(summary(model, x))`. */
export class Summary {
  readonly rows: readonly SummaryRow[];

  constructor(rows: readonly SummaryRow[]) {
    this.rows = rows;
  }

  get parameters(): number {
    return this.#total('parameters');
  }

  get stateBytes(): number {
    return this.#total('stateBytes');
  }

  get flops(): number {
    return this.#total('flops');
  }

  #total(key: 'parameters' | 'stateBytes' | 'flops'): number {
    return this.rows.reduce((sum, row) => sum + row[key], 0);
  }

  toString(): string {
    const head = ['layer', 'type', 'output', 'parameters', 'bytes', 'output bytes', 'FLOPs'];
    const table = textTable(head, this.rows.map(cells));
    return (
      `${table}\n${whole(this.parameters)} parameters in ${bytesText(this.stateBytes)}, ` +
      `${whole(this.flops)} FLOPs per forward`
    );
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }
}

const whole = (value: number): string => value.toLocaleString('en');

function bytesText(bytes: number): string {
  if (bytes >= 2 ** 20) return `${(bytes / 2 ** 20).toFixed(2)} MiB`;
  return bytes >= 2 ** 10 ? `${(bytes / 2 ** 10).toFixed(1)} KiB` : `${bytes} B`;
}

function cells(row: SummaryRow): string[] {
  const depth = row.name === '' ? 0 : row.name.split('.').length;
  const label = row.name === '' ? '(model)' : row.name.slice(row.name.lastIndexOf('.') + 1);
  const some = (value: number, text = whole(value)): string => (value > 0 ? text : '–');
  return [
    `${'  '.repeat(depth)}${label}`,
    row.calls > 1 ? `${row.type} ×${row.calls}` : row.type,
    row.outputs.map(formatShape).join(' ') || '–',
    some(row.parameters),
    some(row.stateBytes, bytesText(row.stateBytes)),
    some(row.outputBytes, bytesText(row.outputBytes)),
    some(row.flops),
  ];
}

type Counts = { -readonly [K in 'flops' | 'calls' | 'outputBytes']: number } & { outputs: Shape[] };

const modelKinds = { model: that('a module', (model) => model instanceof Module) };

/**
 * Runs `forward` once, without gradients and in evaluation mode, and lists every module with its output shapes,
 * parameters, bytes and FLOPs. The model is unchanged.
 */
export function summary<I extends unknown[]>(
  model: Module & { forward(...inputs: I): unknown },
  ...inputs: I
): Summary {
  expectArguments('summary', { model }, modelKinds);
  const counts = new Map<Module, Counts>();
  const named = [...model.namedModules()];
  for (const [, module] of named) {
    counts.set(module, { flops: 0, calls: 0, outputBytes: 0, outputs: [] });
  }
  const running: Module[] = [];
  const modes = named.map(([, module]) => module.training);
  const hooks = named.flatMap(([, module]) => [
    addHook(module, 'before', () => void running.push(module)),
    addHook(module, 'after', (_module, _inputs, output) => {
      running.pop();
      noteOutput(counts.get(module)!, output);
      return undefined;
    }),
  ]);
  try {
    model.eval();
    tidy(() => {
      noGrad(() =>
        counting(
          (flops) => addFlops(counts, running, flops),
          () => model.forward(...inputs),
        ),
      );
      return null;
    });
  } finally {
    for (const hook of hooks.reverse()) hook.remove();
    named.forEach(([, module], i) => {
      module.training = modes[i]!;
    });
  }
  return new Summary(rowsOf(model, named, counts));
}

function addFlops(counts: Map<Module, Counts>, running: readonly Module[], flops: number): void {
  const innermost = running.at(-1);
  if (innermost) counts.get(innermost)!.flops += flops;
}

function noteOutput(counts: Counts, output: unknown): void {
  const tensors = [...tensorsIn(output)];
  counts.calls++;
  counts.outputs = tensors.map(({ shape }) => shape);
  counts.outputBytes = tensors.reduce((sum, { nbytes }) => sum + nbytes, 0);
}

/** Runs `body` eagerly and reports the work of every op. */
function counting<T>(tell: (flops: number) => void, body: () => T): T {
  const execute = (
    op: OpRecord,
    inputs: readonly Tensor[],
    attrs: Attrs,
    device: Tensor['device'],
  ) => {
    const outputs = executeEagerly(op, inputs, attrs, device);
    tell(workOf(op, inputs, outputs, attrs));
    return outputs;
  };
  return withInterceptor(
    {
      execute: (op, inputs, attrs, device) => execute(op, inputs, attrs, device),
      recordWrite: (op, inputs, attrs) => execute(op, inputs, attrs, inputs[0]!.device)[0]!,
    },
    body,
  );
}

/** Returns the planner's estimate of an op's arithmetic: by its formula, or one operation per element; 0 for views. */
function workOf(
  op: OpRecord,
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
  attrs: Attrs,
): number {
  if (op.kernel.kind === 'view') return 0;
  if (op.work) return op.work(inputs, outputs, attrs);
  const read = inputs.filter((_, i) => operandUse(op, i) === 'data');
  return Math.max(...[...read, ...outputs].map(({ shape }) => sizeOf(shape)), 0);
}

function rowsOf(
  model: Module,
  named: readonly (readonly [string, Module])[],
  counts: ReadonlyMap<Module, Counts>,
): SummaryRow[] {
  const parameters = [...model.namedParameters()];
  const buffers = [...model.namedBuffers()];
  const ownerOf = (path: string): string =>
    named
      .map(([name]) => name)
      .filter((name) => name === '' || path.startsWith(`${name}.`))
      .reduce((longest, name) => (name.length > longest.length ? name : longest), '');
  return named.map(([name, module]) => {
    const { flops, calls, outputBytes, outputs } = counts.get(module)!;
    const ownTensors = (list: readonly (readonly [string, Parameter | Tensor])[]) =>
      list.filter(([path]) => ownerOf(path) === name).map(([, tensor]) => tensor);
    const state = [...ownTensors(parameters), ...ownTensors(buffers)];
    return {
      name,
      type: module.constructor.name,
      outputs,
      parameters: ownTensors(parameters).reduce((sum, tensor) => sum + tensor.numel(), 0),
      stateBytes: state.reduce((sum, tensor) => sum + tensor.nbytes, 0),
      outputBytes,
      flops,
      calls,
    };
  });
}

/** Calls of ops with our kernels' results, and programs of them, for tests of other engines. */

import { contiguousMeta, type TensorMeta } from '../../runtime/device/tensor-meta.ts';
import { noGrad, type Tensor } from '../../runtime/index.ts';
import { bind } from '../../runtime/ops/core/bind.ts';
import { opNamed, opTable } from '../../runtime/ops/op-table.ts';
import type { OpRecord } from '../../runtime/ops/record/define-op.ts';
import type { Program, ValueId } from '../../runtime/program/program.ts';
import { numbersOf } from '../../runtime/spec/stored-numbers.ts';
import type { PortableProgram } from '../../src/export/lowering/portable-program.ts';
import { forwardCases } from '../ops/cases/forward-cases.ts';
import {
  type ForwardCase,
  inDtype,
  tensorOf,
  valuesOf,
  variants,
} from '../ops/cases/forward-dtypes.ts';

export interface OpSample {
  readonly key: string;
  readonly name: string;
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly Tensor[];
  readonly attrs: ForwardCase['attrs'];
  readonly tolerance: number;
}

/** One program of all these ops, side by side. */
export function programOf(
  samples: readonly Omit<OpSample, 'key' | 'tolerance'>[],
): PortableProgram {
  const values: TensorMeta[] = [];
  const add = ({ dtype, shape, device }: Tensor) =>
    (values.push(contiguousMeta({ dtype, shape }, device)) - 1) as ValueId;
  const ops = samples.map(({ name, inputs, outputs, attrs = {} }) => ({
    op: opNamed(name),
    inputs: inputs.map(add),
    outputs: opNamed(name).inPlace ? [] : outputs.map(add),
    attrs,
    recordsGrad: false,
    at: undefined,
  }));
  const inputs = ops.flatMap((op) => op.inputs);
  const outputs = ops.flatMap((op) => (op.op.inPlace ? op.inputs.slice(0, 1) : op.outputs));
  const program: Program = { values, inputs, ops, outputs };
  const portable: PortableProgram = {
    name: 'ops',
    inputSpec: null,
    state: [],
    program,
    backwardParts: new Map(),
    scalars: undefined,
    sizes: null,
    entry: {
      gradMode: false,
      guards: [],
      inputs: inputs.map((_, index) => ({
        place: { kind: 'argument', index, path: [] },
        requiresGrad: false,
      })),
      numbers: [],
      graph: 0,
      makes: [{ kind: 'array', elements: outputs.map((_, index) => ({ kind: 'output', index })) }],
      effects: [],
      result: { kind: 'made', index: 0 },
      reads: [],
      optional: [],
      spent: [],
      randomNumbers: 0,
      same: [],
    },
    dispose: () => {},
  };
  return portable;
}

/** Draws that begin anywhere in a block of four words, of a stream whose seed and place need more than 32 bits. */
const draws: readonly Pick<ForwardCase, 'inputs' | 'attrs'>[] = ['float32', 'float64'].flatMap(
  (dtype) =>
    [0, 3, 2 ** 33 + 5].map((offset) => ({
      inputs: [],
      attrs: { shape: [3, 3], dtype, seed: 2 ** 40 + 7 * offset, offset },
    })),
);

/** The first case in float32 of the ops that an engine has; with INTEROP all of them, in float64 too. */
export function opSamples(isMapped: (op: OpRecord) => boolean): readonly OpSample[] {
  const mapped = [...opTable.values()].filter(isMapped);
  const ops = mapped.filter(({ name }) => forwardCases[name]).map(({ name }) => name);
  const isWhole = process.env.INTEROP !== undefined;
  const dtypes = isWhole ? ['float32', 'float64'] : ['float32'];
  const samples: OpSample[] = [];
  for (const variant of variants.filter(({ to }) => dtypes.includes(to))) {
    for (const name of ops) {
      for (const [i, example] of forwardCases[name]!.entries()) {
        const own = inDtype(name, example, variant);
        if (!own || (i > 0 && !isWhole)) continue;
        samples.push({
          key: `${name} ${variant.to} ${i}`,
          ...sampleOf(name, own),
          tolerance: variant.to === 'float64' ? 1e-9 : 2e-5,
        });
      }
    }
  }
  for (const name of ['uniform', 'normal']) {
    draws.forEach((example, i) => {
      const tolerance = example.attrs!.dtype === 'float64' ? 1e-14 : 1e-7;
      samples.push({ key: `${name} ${i}`, ...sampleOf(name, example), tolerance });
    });
  }
  return samples;
}

/** A call of an op with its results. */
export function sampleOf(
  name: string,
  example: Pick<ForwardCase, 'inputs' | 'attrs'>,
): Omit<OpSample, 'key' | 'tolerance'> {
  const given = example.inputs.map((input, k) => tensorOf(input, valuesOf(input, k)));
  const inputs = given.map((each) => each.clone());
  const outputs = noGrad(() => bind(opNamed(name), given, example.attrs ?? {}));
  return { name, inputs, outputs, attrs: example.attrs };
}

/** What differs between an engine's numbers and ours; empty where they agree. */
export function difference(
  { key, outputs, tolerance }: OpSample,
  theirs: readonly ArrayLike<number>[],
): string {
  for (const [i, output] of outputs.entries()) {
    const values = numbersOf(output.dataSync(), output.dtype);
    const own = theirs[i]!;
    if (own.length !== values.length) return `${key} output ${i}: ${own.length} elements`;
    for (let k = 0; k < values.length; k++) {
      const [a, b] = [values[k]!, own[k]!];
      const isSame = Object.is(a, b) || a === b || Math.abs(a - b) <= tolerance * (1 + Math.abs(a));
      if (!isSame) return `${key} output ${i}[${k}]: ${a}, there ${b}`;
    }
  }
  return '';
}

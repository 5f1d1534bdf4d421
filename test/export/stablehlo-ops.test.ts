/** Every op of the table has a form in StableHLO that XLA computes as our kernels do, or is refused by its name. */

import { beforeAll, describe, expect, it } from 'vitest';
import { ArgumentError, noGrad, type Tensor } from '../../runtime/index.ts';
import { bind } from '../../runtime/ops/bind.ts';
import { opNamed, opTable } from '../../runtime/ops/define-op.ts';
import type { Program, ValueId } from '../../runtime/program/program.ts';
import { contiguousMeta, type TensorMeta } from '../../runtime/tensor/meta.ts';
import { numbersOf } from '../../runtime/tensor/stored-numbers.ts';
import type { PortableProgram } from '../../src/export/portable-program.ts';
import { exportProgram } from '../../src/export/stablehlo/export-program.ts';
import { isMapped } from '../../src/export/stablehlo/mapping.ts';
import { forwardCases } from '../ops/forward-cases.ts';
import { type ForwardCase, inDtype, tensorOf, valuesOf, variants } from '../ops/forward-dtypes.ts';
import { runInXla, xlaPython } from './xla.ts';

/** Ops without a form: factorizations, sorting, recurrences along a dimension and what is made of them. */
const refused = [
  ...['nuclearNorm', 'polygamma', 'cumprod', 'cumprodGrad', 'sort', 'topk', 'unfoldGrad'],
  ...['inverse', 'solve', 'solveTriangular', 'cholesky', 'cofactors', 'det', 'logAbsDet'],
  ...['cummax', 'cummin', 'logcumsumexp', 'logcumsumexpGrad', 'scatterReduce'],
  ...['adaptiveMaxPool2d', 'resample', 'resampleGrad'],
];

interface OpSample {
  readonly key: string;
  readonly name: string;
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly Tensor[];
  readonly attrs: ForwardCase['attrs'];
  readonly tolerance: number;
}

/** One program of all these ops, side by side. */
function programOf(samples: readonly Omit<OpSample, 'key' | 'tolerance'>[]) {
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
    state: [],
    program,
    scalars: undefined,
    entry: {
      gradMode: false,
      guards: [],
      inputs: inputs.map((_, index) => ({
        place: { kind: 'argument', index, path: [] },
        requiresGrad: false,
      })),
      numbers: [],
      graph: 0,
      makes: [{ kind: 'array', items: outputs.map((_, index) => ({ kind: 'output', index })) }],
      effects: [],
      result: { kind: 'made', index: 0 },
      reads: [],
      optional: [],
      spent: [],
      randomNumbers: 0,
    },
    dispose: () => {},
  };
  return exportProgram(portable);
}

const mapped = [...opTable.values()].filter(isMapped);
const ops = mapped.filter(({ name }) => forwardCases[name]).map(({ name }) => name);

/** The first case in float32; with INTEROP all of them, in float64 too. */
const isWhole = process.env.INTEROP !== undefined;
const dtypes = isWhole ? ['float32', 'float64'] : ['float32'];
const samples: OpSample[] = [];
for (const variant of variants.filter(({ to }) => dtypes.includes(to))) {
  for (const name of ops) {
    for (const [i, example] of forwardCases[name]!.entries()) {
      const own = inDtype(name, example, variant);
      if (!own || (i > 0 && !isWhole)) continue;
      const given = own.inputs.map((input, k) => tensorOf(input, valuesOf(input, k)));
      const inputs = given.map((each) => each.clone());
      const outputs = noGrad(() => bind(opNamed(name), given, own.attrs ?? {}));
      const tolerance = variant.to === 'float64' ? 1e-9 : 2e-5;
      samples.push({
        key: `${name} ${variant.to} ${i}`,
        name,
        inputs,
        outputs,
        attrs: own.attrs,
        tolerance,
      });
    }
  }
}

/** So many in one program that XLA compiles few of them. */
const perProgram = 60;
const programs = Array.from({ length: Math.ceil(samples.length / perProgram) }, (_, i) =>
  samples.slice(i * perProgram, (i + 1) * perProgram),
);

const python = xlaPython();
const found = new Map<OpSample, readonly ArrayLike<number>[]>();
beforeAll(async () => {
  if (!python) return;
  const jobs = programs.map((own, i) => {
    const { text, outputs } = programOf(own);
    const inputs = own.flatMap((sample) => sample.inputs);
    return [`ops-${i}`, { text, outputs, inputs, steps: 1, batches: [] }] as const;
  });
  const results = await runInXla(python, Object.fromEntries(jobs));
  for (const [i, own] of programs.entries()) {
    const result = results[`ops-${i}`]!;
    expect('error' in result ? result.error : '').toBe('');
    let next = 0;
    for (const sample of own) {
      const arrays = result as Record<string, ArrayLike<number>>;
      found.set(
        sample,
        sample.outputs.map(() => arrays[`o${next++}.0`]!),
      );
    }
  }
}, 300_000);

describe('ops in StableHLO', () => {
  it('all are mapped or refused by name', () => {
    const without = [...opTable.values()].filter((op) => !isMapped(op)).map(({ name }) => name);
    expect(without.sort()).toEqual([...refused].sort());
  });

  it('an op without a form is named', () => {
    const example = forwardCases['det']![0]!;
    const inputs = example.inputs.map((input, k) => tensorOf(input, valuesOf(input, k)));
    const { attrs } = example;
    const outputs = noGrad(() => bind(opNamed('det'), inputs, attrs ?? {}));
    const one = () => programOf([{ name: 'det', inputs, outputs, attrs }]);
    expect(one).toThrow(ArgumentError);
    expect(one).toThrow(/det has no form/);
  });

  it.runIf(python).each(ops)('%s is computed by XLA as by our kernels', (name) => {
    const own = samples.filter((sample) => sample.name === name);
    expect(own.length).toBeGreaterThan(0);
    for (const sample of own) {
      const { key, outputs, tolerance } = sample;
      for (const [i, output] of outputs.entries()) {
        const values = numbersOf(output.dataSync(), output.dtype);
        const theirs = found.get(sample)![i]!;
        expect(theirs.length).toBe(values.length);
        for (let k = 0; k < values.length; k++) {
          const [a, b] = [values[k]!, theirs[k]!];
          const isSame =
            Object.is(a, b) || a === b || Math.abs(a - b) <= tolerance * (1 + Math.abs(a));
          expect(isSame ? '' : `${key} output ${i}[${k}]: ${a}, in XLA ${b}`).toBe('');
        }
      }
    }
  });
});
